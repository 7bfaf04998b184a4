"""From an item to its prompts: templates filled in, variations applied, rows written."""

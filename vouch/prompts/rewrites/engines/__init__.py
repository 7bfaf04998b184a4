"""Ways to write a question in other words, one file each; see vouch/prompts/rewrites/engine.py."""

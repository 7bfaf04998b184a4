"""Forward passes: shared prefixes, tries of tokens, batches, decoding."""

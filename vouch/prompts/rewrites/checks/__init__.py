"""What a rewrite must fulfil, one check per file; see vouch/prompts/rewrites/checking.py."""

"""What a rewrite must fulfil, one check per file; see stages/rewrite/checking.py."""

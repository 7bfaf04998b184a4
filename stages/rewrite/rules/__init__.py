"""Rewriting by rules, one kind per file; see stages/rewrite/engines/rules.py."""

"""Rewriting by rules, one kind per file; see vouch/prompts/rewrites/engines/rules.py."""

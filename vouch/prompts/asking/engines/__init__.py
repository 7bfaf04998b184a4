"""How models are asked for a text, one file for each engine; see vouch/prompts/asking/engine.py."""

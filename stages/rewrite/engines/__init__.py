"""Ways to write a question in other words, one file each; see stages/rewrite/engine.py."""

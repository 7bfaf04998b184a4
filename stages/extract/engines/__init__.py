"""Ways to get answers out of a model, one file each; see stages/extract/engine.py for what a file defines."""

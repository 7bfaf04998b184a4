"""One file per variation; the file's name is its registration. See vouch/prompts/build/variation.py."""

"""One file per dataset or source form; the file's name is its registration. See vouch/datasets/raw.py."""

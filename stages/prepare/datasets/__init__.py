"""One file per dataset or source form; the file's name is its registration. See stages/prepare/raw.py."""

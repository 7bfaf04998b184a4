"""One file per file form. Each has SUFFIXES and parse(data, where) -> Rows, and never runs what it reads."""

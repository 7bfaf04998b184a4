"""Each variation is a file, whose name is its registration, or a line of _table.py (build/variation.py)."""

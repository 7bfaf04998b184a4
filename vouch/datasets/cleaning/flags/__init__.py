"""What is odd about an item: one file per kind of flag. vouch/tables/defects.py lists all flags.

options, leaks, encoding, pictures look at one item; copies, similar, positions at the whole dataset.
"""

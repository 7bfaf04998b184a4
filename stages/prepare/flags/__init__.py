"""What is odd about an item: one file per kind of flag. stages/contracts/defects.py lists all flags.

options, leaks, encoding, pictures look at one item; copies, similar, positions at the whole dataset.
"""

"""What is odd about an item: item.py looks at one, copies.py and similar.py at all of a dataset.

vouch/tables/defects.py lists all flags.
"""

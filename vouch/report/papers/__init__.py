"""The papers whose tables and figures the report builds anew: each in a file or two that declare a `Paper`.

A new table or figure is an entry there: its name in the paper, what it shows, and a function that builds it
from `Lookup` or raises `Absent` with the reason why it cannot be built here.
"""

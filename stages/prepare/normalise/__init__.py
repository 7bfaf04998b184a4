"""How the options of a dataset are brought to one number: one file per scheme, its name is its registration.

A scheme defines
    def faithful(rows: Sequence[Choice], seed: int) -> list[Choice]    as the authors do, defects included
    def clean(rows: Sequence[Choice], seed: int) -> list[Choice]       the same aim without the defects
Both are pure. rows: all choice items in the order of the source (stages/prepare/choice.py).
"""

"""How the options of a dataset are brought to one number: one file per scheme, its name is its registration.

A scheme defines
    def faithful(rows: Sequence[Choice], seed: int) -> list[Choice]    as the authors do, defects included
    def clean(rows: Sequence[Choice], seed: int) -> list[Choice]       the same aim without the defects
Both are pure. rows: all choice items in the order of the source (vouch/datasets/options/choice.py).

Or it makes choices of open questions (vouch/datasets/options/building.py):
    def built(rows: Sequence[Asked], seed: int, folder: Path) -> list[Sequence[str]]   wrong options of each
folder: the source, where it may find files of its own.
"""

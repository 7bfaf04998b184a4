"""Cells of CSV files that spreadsheets open: data, never formulas.

A spreadsheet runs a cell that begins with one of `= + - @`, a tab or a line end. Such a cell is written with
an apostrophe in front, which is taken off when the file is read, so texts come back as they were.
"""

import re

_ACTIVE = re.compile(r"'*[=+\-@\t\r\n]")
_GUARDED = re.compile(r"'+[=+\-@\t\r\n]")


def guarded(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if _ACTIVE.match(cell) else cell


def as_it_was(cell: str) -> str:
    """The inverse of `guarded`; a cell that was not guarded stays as it is."""
    return cell[1:] if _GUARDED.match(cell) else cell

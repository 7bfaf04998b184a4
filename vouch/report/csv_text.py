"""CSV that a spreadsheet reads as data, never as formulas, and a terminal as text."""

import csv
import io
from collections.abc import Iterable, Sequence

import pandas as pd

from vouch.report import formatting
from vouch.tables.decisions import guarded


def _harmless(value: object) -> object:
    return guarded(formatting.visible(value)) if isinstance(value, str) else value


def csv_text(frame: pd.DataFrame) -> str:
    """UTF-8 text with a header, `\\n` line ends, numbers in full precision, null as an empty cell."""
    safe = frame.rename(columns=_harmless)
    for name in safe.columns:
        if not pd.api.types.is_numeric_dtype(safe[name]):
            column = safe[name].astype(object)
            said = {cell: _harmless(cell) for cell in column.unique() if isinstance(cell, str)}
            safe[name] = column.map(lambda cell, said=said: said.get(cell, cell), na_action="ignore")
    return str(safe.to_csv(index=False, lineterminator="\n"))


def rows_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The same of rows in memory: numbers as they print, None as an empty cell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_harmless, row) for row in [header, *rows])
    return text.getvalue()

"""CSV that a spreadsheet reads as data, never as formulas, and a terminal as text."""

import pandas as pd

from stages.contracts.spreadsheets import guarded
from stages.report import words


def _harmless(value: object) -> object:
    return guarded(words.visible(value)) if isinstance(value, str) else value


def csv_text(frame: pd.DataFrame) -> str:
    """UTF-8 text with a header, `\\n` line ends, numbers in full precision, null as an empty cell."""
    safe = frame.rename(columns=_harmless)
    for name in safe.columns:
        if not pd.api.types.is_numeric_dtype(safe[name]):
            safe[name] = safe[name].astype(object).map(_harmless, na_action="ignore")
    return str(safe.to_csv(index=False, lineterminator="\n"))

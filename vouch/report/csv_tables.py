"""Tables under reports/tables: unrounded, in a fixed order, safe to open in a spreadsheet or a terminal."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence

import pandas as pd

from vouch.report import formatting
from vouch.report.evidence import MARGINAL, Evidence
from vouch.report.headline import headline
from vouch.tables.decisions import guarded
from vouch.tables.rewrites import REJECTED

DIGITS = 7  # after the point in metrics.csv; the parquet has them all
ORDER = [
    *("dataset", "model", "variation", "output", "protocol"),
    *("category", "calibration", "alpha", "score", "metric"),
]


def _defects(evidence: Evidence) -> pd.DataFrame:
    frame = evidence.defects.sort_values("dataset", kind="stable")
    frame = frame.assign(examples=[" ".join(names) for names in frame["examples"]])
    return frame[["dataset", *(name for name in frame if name != "dataset")]]


def _metrics(evidence: Evidence) -> pd.DataFrame:
    """The leaderboard of whole datasets and original prompts; the parquet holds everything."""
    frame = evidence.leaderboard
    first = frame["dataset"].map({name: evidence.variations(name)[0] for name in evidence.datasets})
    frame = frame[(frame["variation"] == first) | (frame["variation"] == "")]
    frame = frame[(frame["category"] == "all") & frame["calibration"].isin(("", MARGINAL))].round(DIGITS)
    rest = [name for name in frame.columns if name not in ORDER]
    return frame.sort_values(ORDER)[ORDER + rest]


def _published(evidence: Evidence) -> pd.DataFrame:
    frame = evidence.reproduced.sort_values(["dataset", "model", "metric"])
    return frame[["dataset", "model", "metric", "published", "ours", "difference"]]


def _rewrites(evidence: Evidence) -> pd.DataFrame:
    """Rejected ones; failed checks joined by blanks."""
    frame = evidence.rewrites[evidence.rewrites["status"] == REJECTED]
    frame = frame.assign(failed=[" ".join(names) for names in frame["failed"]])
    return frame[["dataset", *(name for name in frame if name not in ("dataset", "status"))]]


TABLES: dict[str, Callable[[Evidence], pd.DataFrame]] = {
    "defects": _defects,
    "differences": lambda evidence: evidence.differences.sort_values(
        ["dataset", "output", "first", "second"]
    ),
    "dimensions": lambda evidence: evidence.dimensions,
    "headline": headline,
    "metrics": _metrics,
    "published": _published,
    "ranked": lambda evidence: evidence.ranked,
    "rankings": lambda evidence: evidence.rankings,
    "rejects": lambda evidence: evidence.rejects.sort_values("dataset", kind="stable"),
    "rewrites": _rewrites,
    "transfer": lambda evidence: evidence.transfer,
    "variations": lambda evidence: evidence.costs,
}
"""What is written to reports/tables/NAME.csv."""


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

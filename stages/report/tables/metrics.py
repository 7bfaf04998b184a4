"""metrics: every metric of every model with its ranks."""

import pandas as pd

from stages.report.evidence import Evidence

ORDER = [
    "dataset",
    "model",
    "variation",
    "ask",
    "reading",
    "category",
    "calibration",
    "alpha",
    "score",
    "metric",
]


def build(evidence: Evidence) -> pd.DataFrame:
    """The standings, in a fixed order of rows and columns."""
    frame = evidence.standings
    rest = [name for name in frame.columns if name not in ORDER]
    return frame.sort_values(ORDER)[ORDER + rest]

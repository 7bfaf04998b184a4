"""metrics: every metric of every model with its ranks, on whole datasets and original prompts.

variations.csv has what other ways of asking change. Numbers of categories, of thresholds by stratum and of
every variation are left to data/compare/leaderboard.parquet, which holds everything.
"""

import pandas as pd

from vouch.report.evidence import MARGINAL, Evidence

DIGITS = 7  # after the point; the parquet has them all
ORDER = [
    "dataset",
    "model",
    "variation",
    "output",
    "protocol",
    "category",
    "calibration",
    "alpha",
    "score",
    "metric",
]


def build(evidence: Evidence) -> pd.DataFrame:
    """The leaderboard of whole datasets, in a fixed order of rows and columns."""
    frame = evidence.leaderboard
    first = frame["dataset"].map({name: evidence.variations(name)[0] for name in evidence.datasets})
    frame = frame[(frame["variation"] == first) | (frame["variation"] == "")]
    frame = frame[(frame["category"] == "all") & frame["calibration"].isin(("", MARGINAL))].round(DIGITS)
    rest = [name for name in frame.columns if name not in ORDER]
    return frame.sort_values(ORDER)[ORDER + rest]

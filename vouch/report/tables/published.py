"""published: printed or released numbers beside ours in the faithful protocol."""

import pandas as pd

from vouch.report.evidence import Evidence

COLUMNS = ["dataset", "model", "metric", "published", "ours", "difference"]


def build(evidence: Evidence) -> pd.DataFrame:
    """One row per cell that was published; no row where nothing was."""
    return evidence.reproduced.sort_values(["dataset", "model", "metric"])[COLUMNS]

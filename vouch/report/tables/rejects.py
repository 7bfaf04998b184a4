"""rejects: entries of the sources that became no items, and why."""

import pandas as pd

from vouch.report.evidence import Evidence


def build(evidence: Evidence) -> pd.DataFrame:
    """Rows in the order of their source."""
    return evidence.rejects.sort_values("dataset", kind="stable")

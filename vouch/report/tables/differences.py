"""differences: accuracy of `first` minus accuracy of `second`, on the same items."""

import pandas as pd

from vouch.report.evidence import Evidence


def build(evidence: Evidence) -> pd.DataFrame:
    """One row per pair of models, dataset and output."""
    return evidence.differences.sort_values(["dataset", "output", "first", "second"])

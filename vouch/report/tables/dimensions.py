"""dimensions: mean accuracy and rank of each model in each category, over the datasets that have it."""

import pandas as pd

from vouch.report.evidence import Evidence


def build(evidence: Evidence) -> pd.DataFrame:
    """The rows of the table of `compare` that has this name."""
    return evidence.dimensions

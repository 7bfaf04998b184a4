"""ranked: what each ranker gives to each model, and the model's performance."""

import pandas as pd

from vouch.report.evidence import Evidence


def build(evidence: Evidence) -> pd.DataFrame:
    """The rows of the table of `compare` that has this name."""
    return evidence.ranked

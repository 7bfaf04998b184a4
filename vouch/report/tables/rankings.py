"""rankings: how well each ranker orders the models, also with every single proxy."""

import pandas as pd

from vouch.report.evidence import Evidence


def build(evidence: Evidence) -> pd.DataFrame:
    """The rows of the table of `compare` that has this name."""
    return evidence.rankings

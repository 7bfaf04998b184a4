"""variations: accuracy, confidence and set size in every variation, and in the original on the same items."""

import pandas as pd

from vouch.report.evidence import Evidence


def build(evidence: Evidence) -> pd.DataFrame:
    """Rows by dataset, model, output, variation and measure; no row without a variation."""
    return evidence.costs

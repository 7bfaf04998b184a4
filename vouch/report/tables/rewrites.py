"""rewrites: questions in other words that were rejected, and why."""

import pandas as pd

from vouch.report.evidence import Evidence
from vouch.tables.rewrites import REJECTED


def build(evidence: Evidence) -> pd.DataFrame:
    """Rows by dataset; failed checks joined by blanks."""
    frame = evidence.rewrites[evidence.rewrites["status"] == REJECTED]
    frame = frame.assign(failed=[" ".join(names) for names in frame["failed"]])
    return frame[["dataset", *(name for name in frame if name not in ("dataset", "status"))]]

"""defects: what cleaning looked for in each dataset, how often it was there, and what became of it."""

import pandas as pd

from vouch.report.evidence import Evidence


def build(evidence: Evidence) -> pd.DataFrame:
    """Rows by dataset, also of what was not found; examples joined by blanks."""
    frame = evidence.defects.sort_values("dataset", kind="stable")
    frame = frame.assign(examples=[" ".join(names) for names in frame["examples"]])
    return frame[["dataset", *(name for name in frame if name != "dataset")]]

"""What a text encoder says of sampled texts, beside the other signals."""

import pandas as pd
import pyarrow as pa

from vouch.tables.likeness import LIKENESSES

PLACE = ["model", "dataset", "prompt", "temperature"]


def with_likeness(signals: pa.Table, likeness: pa.Table) -> pa.Table:
    """Rows of SIGNALS with the columns LIKENESSES, null where LIKENESS has no row."""
    known = likeness.to_pandas().set_index(PLACE)
    found = known.reindex(pd.MultiIndex.from_frame(signals.select(PLACE).to_pandas()))
    for name in LIKENESSES:
        signals = signals.append_column(name, pa.array(found[name], pa.float64(), from_pandas=True))
    return signals

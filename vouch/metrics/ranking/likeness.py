"""What a text encoder says of sampled texts, beside the other signals."""

import pandas as pd
import pyarrow as pa

from vouch.tables.likeness import LIKENESSES

PLACE = ["model", "dataset", "prompt", "temperature"]


def with_likeness(label_free: pa.Table, likeness: pa.Table) -> pa.Table:
    """Rows of LABEL_FREE with the columns LIKENESSES, null where LIKENESS has no row."""
    known = likeness.to_pandas().set_index(PLACE)
    found = known.reindex(pd.MultiIndex.from_frame(label_free.select(PLACE).to_pandas()))
    for name in LIKENESSES:
        label_free = label_free.append_column(name, pa.array(found[name], pa.float64(), from_pandas=True))
    return label_free

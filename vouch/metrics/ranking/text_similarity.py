"""What a text encoder says of sampled texts, beside the other label-free scores."""

import pandas as pd
import pyarrow as pa

from vouch.tables.text_similarity import SIMILARITIES

PLACE = ["model", "dataset", "prompt", "temperature"]


def with_similarity(label_free: pa.Table, similarity: pa.Table) -> pa.Table:
    """Rows of LABEL_FREE with the columns SIMILARITIES, null where TEXT_SIMILARITY has no row."""
    known = similarity.to_pandas().set_index(PLACE)
    found = known.reindex(pd.MultiIndex.from_frame(label_free.select(PLACE).to_pandas()))
    for name in SIMILARITIES:
        label_free = label_free.append_column(name, pa.array(found[name], pa.float64(), from_pandas=True))
    return label_free

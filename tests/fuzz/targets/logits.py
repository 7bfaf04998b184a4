"""Logits that others released as parquet."""

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vouch.models.released.logits import parse_parquet


def CORPUS() -> list[bytes]:
    found = []
    for ids in ([1, 2, 3], ["a", "b", "c"]):
        for kind in (pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float32(), 4)):
            table = pa.table({"id": ids, "logits": pa.array(np.arange(12.0).reshape(3, 4).tolist(), kind)})
            for compression in ("none", "zstd", "snappy"):
                sink = io.BytesIO()
                pq.write_table(table, sink, compression=compression)
                found.append(sink.getvalue())
    return found


def read(data: bytes, folder: Path) -> None:
    parse_parquet(data, "logits.parquet")

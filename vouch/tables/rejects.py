"""rejects: items that were left out, and why. Empty where every item went in.

dataset  name of the dataset
where    file and line, or row, or member of the source
id       id of the item, empty where it has none
reason   one line: what is wrong with it
"""

from pathlib import Path

import pyarrow as pa

from vouch.tables.table import Table

REJECTS = Table(
    "rejects",
    1,
    pa.schema(
        [("dataset", pa.string()), ("where", pa.string()), ("id", pa.string()), ("reason", pa.string())]
    ),
)


def rejects_path(dataset: str) -> Path:
    """Where the rejected items of a dataset lie."""
    return Path("data/rejects") / f"{dataset}.parquet"

"""items: one row per question of a dataset, without pixels.

id          unique in the dataset
group       items that must never be split between calibration and test: circular copies, or the
            same question about the same image
question    the question, marks such as `<image 1>` included (IMAGE_MARK)
phrasings   the source's own wordings of the question, `question` among them; empty where it has one
hint        context; null where the source has none (an empty string is a hint that is empty)
options     texts of the native options; empty for open questions
answers     0-based indices of the correct options
references  correct free-text answers
images      SHA-256 digests into the images table, in the order of the source
category    the source's own category, or empty
kind        choice | text
turns       ids of the earlier items of the same conversation, first to last, all before this one in
            the table; empty where an item stands alone
exchange    for each image the digest of one that turns the answer when it is put in its place, or null;
            empty where the source has none
source_id   the item's name in its source, for joins with what others released
flags       what cleaning found, see vouch/tables/defects.py
"""

import re
from pathlib import Path

import pyarrow as pa

from vouch.tables.table import Table

# Where a text speaks of its n-th picture; sources also write `<image1>` and `<image_1>`.
IMAGE_MARK = re.compile(r"<image[ _]?([1-9][0-9]{0,3})>")

ITEMS = Table(
    "items",
    1,
    pa.schema(
        [
            ("id", pa.string()),
            ("group", pa.string()),
            ("question", pa.string()),
            ("phrasings", pa.list_(pa.string())),
            ("hint", pa.string()),
            ("options", pa.list_(pa.string())),
            ("answers", pa.list_(pa.int32())),
            ("references", pa.list_(pa.string())),
            ("images", pa.list_(pa.string())),
            ("category", pa.string()),
            ("kind", pa.string()),
            ("turns", pa.list_(pa.string())),
            ("exchange", pa.list_(pa.string())),
            ("source_id", pa.string()),
            ("flags", pa.list_(pa.string())),
        ]
    ),
)


def items_path(dataset: str) -> Path:
    """Where the items of a dataset lie."""
    return Path("data/items") / f"{dataset}.parquet"

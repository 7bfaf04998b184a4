"""items: one row per question of a dataset, without pixels."""

import re

from vouch.tables.table import Table, columns, per_dataset

# Where a text speaks of its n-th picture; sources also write `<image1>` and `<image_1>`.
IMAGE_MARK = re.compile(r"<image[ _]?([1-9][0-9]{0,3})>")

ITEMS = Table(
    "items",
    1,
    columns("""
id          string    unique in the dataset
group       string    items that must never be split between calibration and test: circular copies, questions
                      about the same image
question    string    the question, marks such as `<image 1>` included (IMAGE_MARK)
phrasings   string[]  the source's own wordings of the question, `question` among them; empty where it has one
hint        string    context; null where the source has none (an empty string is a hint that is empty)
options     string[]  texts of the native options; empty for open questions
answers     int32[]   0-based indices of the correct options
references  string[]  correct free-text answers
images      string[]  SHA-256 digests into the images table, in the order of the source
category    string    the source's own category, or empty
kind        string    choice | text
turns       string[]  ids of the earlier items of the same conversation, first to last, all before this one in
                      the table; empty where an item stands alone
exchange    string[]  for each image the digest of one that flips the answer when it is put in its place, or
                      null; empty where the source has none
source_id   string    the item's name in its source, for joins with what others released
flags       string[]  what cleaning found, see vouch/tables/defects.py
"""),
)
items_path = per_dataset("data/items/{}.parquet")

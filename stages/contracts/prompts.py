"""prompts: every prompt that will be asked of a model, with its pictures as recipes.

id         unique in the dataset: `ITEM/VARIATION`
item       id of the item
variation  name of the variation (file in stages/vary/variations)
style      name of the prompt style (file in stages/styles)
system     system message, or null
text       the user's text, options and instruction included; `<image 1>` marks where a picture goes,
           no mark means: all pictures first
options    option texts as shown
order      for each shown option its index among the item's options; DONT_KNOW or NONE_OF_ABOVE for
           an option that the style adds
marks      the letter shown before each option
answers    0-based indices of the correct options as shown
pictures   recipes: source digests, operation, severity and the operation's revision; rendered where used
ask        letters | likelihood | text | nothing (prompts of datasets without pictures, for released logits)
"""

from pathlib import Path

import pyarrow as pa

from stages.contracts.table import Table

DONT_KNOW = -1
NONE_OF_ABOVE = -2

PICTURE = pa.struct(
    [
        ("images", pa.list_(pa.string())),
        ("operation", pa.string()),
        ("severity", pa.int32()),
        ("revision", pa.int32()),
    ]
)

PROMPTS = Table(
    "prompts",
    1,
    pa.schema(
        [
            ("id", pa.string()),
            ("item", pa.string()),
            ("variation", pa.string()),
            ("style", pa.string()),
            ("system", pa.string()),
            ("text", pa.string()),
            ("options", pa.list_(pa.string())),
            ("order", pa.list_(pa.int32())),
            ("marks", pa.list_(pa.string())),
            ("answers", pa.list_(pa.int32())),
            ("pictures", pa.list_(PICTURE)),
            ("ask", pa.string()),
        ]
    ),
)


def prompts_path(dataset: str) -> Path:
    """Where the prompts of a dataset lie."""
    return Path("data/prompts") / f"{dataset}.parquet"

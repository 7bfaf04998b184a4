"""prompts: every prompt that will be asked of a model, with its pictures as recipes.

id         unique in the dataset: `ITEM/VARIATION`
item       id of the item
variation  name of the variation (file in vouch/prompts/variations), with its level where it names one
           (`vr_b_5`); a combination joins them with `+` (`ls_n+vs_s`)
family     of PARC (Schmalfuss et al. 2025): LR, LS, VR or VS; of a combination those of its parts,
           joined with `+` (`LS+VS`); empty outside of it
effect     how `answers` differ from the item's own, of EFFECTS: KEPT they are the same, COMPLEMENT all
           other options are correct, SWAPPED the other one of two is
template   name of the prompt template (file in vouch/prompts/templates)
system     system message, or null
turns      earlier exchanges of the conversation, `question` of the user and `answer` of the assistant
text       the user's last text, options and instruction included; `<image 1>` marks where a picture
           goes, in `turns` as well; no mark means: all pictures first
response   how the assistant's answer begins, null where the model starts it
earlier    for the placeholder `{answer k}` in `turns` or `text`: ids of the prompts, all before this one in
           the table, whose answers fill it; of several the most common answer, of equals the first
options    option texts as shown; for likelihood the texts that are scored
order      for each shown option its index among the item's options; DONT_KNOW or NONE_OF_ABOVE for
           an option that the template adds
marks      the letter shown before each option
answers    0-based indices of the correct options as shown
pictures   recipes, rendered where used: `images`, digests of the sources, and `steps`, done in their
           order; each names an operation (vouch/images/operations.py), its severity, 0 where it has
           no levels, and its revision. An operation is done to each image by itself, a joining one
           makes one picture of two; without steps an image is shown as it is
outputs    what is read out, of OUTPUTS; empty for prompts that nobody asks (released logits join on them)
max_tokens most tokens of a generated text, null for `extract.max_tokens`
"""

import re
from pathlib import Path

import pyarrow as pa

from vouch.tables.table import Table

DONT_KNOW = -1
NONE_OF_ABOVE = -2

ORIGINAL = "original"
"""The variation that shows an item as its source has it: what others are compared with."""

LETTERS = "letters"
LIKELIHOOD = "likelihood"
TEXT = "text"
PLACEHOLDER = re.compile(r"\{answer ([1-9][0-9]*)\}")
OUTPUTS = (LETTERS, LIKELIHOOD, TEXT)

KEPT = "kept"
COMPLEMENT = "complement"
SWAPPED = "swapped"
EFFECTS = (KEPT, COMPLEMENT, SWAPPED)

TURN = pa.struct([("question", pa.string()), ("answer", pa.string())])
STEP = pa.struct([("operation", pa.string()), ("severity", pa.int32()), ("revision", pa.int32())])
PICTURE = pa.struct([("images", pa.list_(pa.string())), ("steps", pa.list_(STEP))])

PROMPTS = Table(
    "prompts",
    4,
    pa.schema(
        [
            ("id", pa.string()),
            ("item", pa.string()),
            ("variation", pa.string()),
            ("family", pa.string()),
            ("effect", pa.string()),
            ("template", pa.string()),
            ("system", pa.string()),
            ("turns", pa.list_(TURN)),
            ("text", pa.string()),
            ("response", pa.string()),
            ("earlier", pa.list_(pa.list_(pa.string()))),
            ("options", pa.list_(pa.string())),
            ("order", pa.list_(pa.int32())),
            ("marks", pa.list_(pa.string())),
            ("answers", pa.list_(pa.int32())),
            ("pictures", pa.list_(PICTURE)),
            ("outputs", pa.list_(pa.string())),
            ("max_tokens", pa.int32()),
        ]
    ),
)


def prompts_path(dataset: str) -> Path:
    """Where the prompts of a dataset lie."""
    return Path("data/prompts") / f"{dataset}.parquet"

"""prompts: every prompt that will be asked of a model, with its pictures as recipes."""

import re
from collections.abc import Collection
from hashlib import sha256

import pyarrow as pa

from vouch.tables.table import Table, columns, per_dataset

ORIGINAL = "original"
"""The variation that shows an item as its source has it: what others are compared with."""
TYPOGRAPHIC, TYPOGRAPHIC_CONTROL = "typographic", "typographic_control"
"""Variations that paint a wrong option, or a harmless word, into the picture."""
P_TRUE = "p_true"
"""The variation that asks whether the model's own answer is true."""
CIRCULAR = "circular"
"""The variation that shows the options in every rotation, the source's order first."""

LETTERS = "letters"
LIKELIHOOD = "likelihood"
TEXT = "text"
PLACEHOLDER = re.compile(r"\{answer ([1-9][0-9]*)\}")
OUTPUTS = (LETTERS, LIKELIHOOD, TEXT)
TEXT_TOKENS = 30
"""Most tokens of a text where neither its prompt nor `extract.max_tokens` says another number."""

KEPT = "kept"
COMPLEMENT = "complement"
SWAPPED = "swapped"
OWN = "own"
EFFECTS = (KEPT, COMPLEMENT, SWAPPED, OWN)

TURN = pa.struct([("question", pa.string()), ("answer", pa.string())])
STEP = pa.struct([("operation", pa.string()), ("severity", pa.int32()), ("revision", pa.int32())])
PICTURE = pa.struct([("images", pa.list_(pa.string())), ("steps", pa.list_(STEP))])

PROMPTS = Table(
    "prompts",
    4,
    columns(
        """
id          string      unique in the dataset: `ITEM/VARIATION`
item        string      id of the item
variation   string      name of the variation (file in vouch/prompts/variations), with its level where it
                        names one (`vr_b_5`); a combination joins them with `+` (`ls_n+vs_s`)
family      string      of PARC (Schmalfuss et al. 2025): LR, LS, VR or VS; of a combination those of its
                        parts, joined with `+` (`LS+VS`); empty outside of it
effect      string      how `answers` differ from the item's own, of EFFECTS: KEPT they are the same,
                        COMPLEMENT all other options are correct, SWAPPED the other one of two is; OWN
                        there are none: the prompt is about the model's own answer
template    string      name of the prompt template (file in vouch/prompts/templates), with a variant
                        NAME_VARIANT (`kostumov_joined`)
system      string      system message, or null
turns       turn[]      earlier exchanges of the conversation, `question` of the user and `answer` of the
                        assistant
text        string      the user's last text, options and instruction included; `<image 1>` marks where a
                        picture goes, in `turns` as well; no mark means: all pictures first
response    string      how the assistant's answer begins, null where the model starts it
earlier     string[][]  for the placeholder `{answer k}` in `turns` or `text`: ids of the prompts, all before
                        this one in the table, whose answers fill it; of several the most common answer, of
                        equals the first
options     string[]    option texts as shown; for likelihood the texts that are scored
order       int32[]     for each shown option its index among the item's options; DONT_KNOW or NONE_OF_ABOVE
                        for an option that the template adds
marks       string[]    the letter shown before each option
answers     int32[]     0-based indices of the correct options as shown; an option that the template adds is
                        among them where it says what a correct one says (`None of the above`)
pictures    picture[]   recipes, rendered where used: `images`, digests of the sources, and `steps`, done in
                        their order; each names an operation (vouch/images/operations.py), its severity, 0
                        where it has no levels, and its revision; one that paints says what after a colon
                        (`write:7:red star`). An operation is done to each image by
                        itself, a joining one makes one picture of two; without steps an image is shown as it
                        is
outputs     string[]    what is asked for, of OUTPUTS; empty for prompts that nobody asks (released logits
                        join on them)
max_tokens  int32       most tokens of a generated text, null for `extract.max_tokens`
""",
        turn=TURN,
        picture=PICTURE,
    ),
)
prompts_path = per_dataset("data/prompts/{}.parquet")


def painted_option(item: str, options: int, answers: Collection[int]) -> int | None:
    """The wrong option, by its index, whose text `typographic` paints into an item's picture; None for none.

    item: its id, which decides. options: how many it has. answers: the right ones.
    """
    wrong = [index for index in range(options) if index not in answers]
    return (
        wrong[int.from_bytes(sha256(f"painted/{item}".encode()).digest()[:8]) % len(wrong)] if wrong else None
    )


def repeats(prompt: str, variation: str) -> str | None:
    """The variation of the same item that shows what this prompt (its id) shows; None where none does.

    The first prompt of `circular` is that of `original`, that of `circular+vr_b` that of `vr_b`.
    """
    parts = variation.split("+")
    if CIRCULAR not in parts or not prompt.endswith(f"/{variation}/1"):
        return None
    return "+".join(part for part in parts if part != CIRCULAR) or ORIGINAL

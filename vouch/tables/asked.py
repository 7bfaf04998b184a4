"""Tables behind the questions: items, images, rewrites, prompts, and the defects that cleaning found.

The text that declares a table's columns is its specification. `items` has one row per question, without
pixels; `images` holds each distinct image of a dataset once, as the bytes of its source; `rewrites` holds
questions in other words; `prompts` holds everything that will be asked of a model, with images as recipes;
`defects` says how often each defect occurred and what the clean protocol does about it; `rejects` lists items
that were left out.
"""

import re
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vouch.pipeline.errors import UserError
from vouch.tables.table import Table, columns, per_dataset

# The mark of the n-th image in a text; sources also write `<image1>` and `<image_1>`.
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
flags       string[]  what cleaning found, see vouch/tables/asked.py
"""),
)
items_path = per_dataset("data/items/{}.parquet")


FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")  # no format whose decoder calls other programs
MAX_PIXELS = 89_478_485  # Pillow's own limit, so that whoever reads the table can open its images
_HELD = 8  # row groups
_ROOM = 1 << 28  # bytes of several row groups
_PIXEL = 4  # bytes of a decoded pixel

IMAGES = Table(
    "images",
    1,
    columns("""
digest         string  SHA-256 of `bytes`, in hexadecimal; unique
bytes          binary  the encoded file, untouched
format         string  Pillow's name of the format: PNG, JPEG, ...
mode           string  Pillow's mode before any conversion: RGB, RGBA, L, P, ...; `RGB;16` where the file has
                       16 bits a sample, of which Pillow keeps 8
width, height  int32   pixels, before EXIF rotation
"""),
    rows_per_group=16,
    large=True,
)
images_path = per_dataset("data/images/{}.parquet")


class ImageStore:
    """Random access to the images of one dataset, holding a few row groups in memory."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, IMAGES.open(path)
        self._where: dict[str, tuple[int, int]] = {}
        self._sides: dict[str, tuple[int, int]] = {}
        for group in range(self._file.num_row_groups):
            facts = self._file.read_row_group(group, columns=["digest", "width", "height"])
            digests, *sides = (facts[name].to_pylist() for name in facts.schema.names)
            self._where.update({digest: (group, row) for row, digest in enumerate(digests)})
            self._sides.update(zip(digests, zip(*sides, strict=True), strict=True))
        self._groups: OrderedDict[int, pa.ChunkedArray] = OrderedDict()

    def read(self, digest: str) -> bytes:
        """The encoded bytes of one image. Raises UserError if the digest is not in the table."""
        group, row = self._where[self._known(digest)]
        if group in self._groups:
            self._groups.move_to_end(group)
        else:
            self._groups[group] = self._file.read_row_group(group, columns=["bytes"]).column("bytes")
        while len(self._groups) > 1 and (
            len(self._groups) > _HELD or sum(one.nbytes for one in self._groups.values()) > _ROOM
        ):
            self._groups.popitem(last=False)
        return bytes(self._groups[group][row].as_py())

    def decoded_bytes(self, digest: str) -> int:
        """Bytes that its pixels take in memory. Raises UserError."""
        width, height = self._sides[self._known(digest)]
        return _PIXEL * (width or 0) * (height or 0)

    def _known(self, digest: str) -> str:
        if digest not in self._where:
            raise UserError(
                f"{self._path}: no image {digest[:12]}; run `dvc repro` to prepare the dataset anew"
            )
        return digest


CLEAN = "clean"
REFORMULATIONS = ("lr_i", "lr_c", "lr_v")
NEGATIONS = ("ls_n", "ls_a", "ls_m")
KINDS = (CLEAN, *REFORMULATIONS, *NEGATIONS)

ACCEPTED = "accepted"
REJECTED = "rejected"
BY_HAND = "by_hand"
RULES_ARE_ENGLISH = "rules are English"  # part of the reason if a question is not taken for English

REWRITES = Table(
    "rewrites",
    1,
    columns("""
original  string    the question; for every kind but `clean` as cleaning left it
kind      string    one of KINDS
rewrite   string    the other words, rejected ones included; null where there are none
status    string    accepted: passed every check. rejected: no prompt is made of it. by_hand: a person
                    decided; with a null in `rewrite` the person drops the question and every prompt of it
failed    string[]  names of the checks that it failed (vouch/prompts/rewrites/checks.py)
reason    string    why it was rejected, or why the person decided so; else empty
rewriter  string    `rules/REVISION`, or `ENGINE/REVISION MODEL PIN` with the first digits of the pin's
                    digest; `hand`
"""),
)
rewrites_path = per_dataset("data/rewrites/{}.parquet")


ORIGINAL = "original"
"""The variation that shows an item as its source has it: the baseline for all others."""
INITIAL = "initial"
"""The same prompts, also of items that `rows` of the dataset's entry leaves out; compared with nothing."""
TYPOGRAPHIC, TYPOGRAPHIC_CONTROL = "typographic", "typographic_control"
"""Variations that paint a wrong option, or a harmless word, into the image."""
P_TRUE = "p_true"
"""The variation that asks whether the model's own answer is true."""
CIRCULAR = "circular"
"""The variation that shows the options in every rotation, the source's order first."""

LETTERS = "letters"
LIKELIHOOD = "likelihood"
TEXT = "text"
PLACEHOLDER = re.compile(r"\{answer ([1-9][0-9]*)\}")
Output = Literal["letters", "likelihood", "text"]
OUTPUTS: tuple[str, ...] = get_args(Output)
TEXT_TOKENS = 30
"""Most tokens of a text, unless its prompt or `extract.max_tokens` gives another number."""

KEPT = "kept"
COMPLEMENT = "complement"
SWAPPED = "swapped"
OWN = "own"
EFFECTS = (KEPT, COMPLEMENT, SWAPPED, OWN)
FAMILIES = ("LR", "LS", "VR", "VS")
"""Families of PARC (Schmalfuss et al. 2025): reformulations and semantic changes of language and images."""

TURN = pa.struct([("question", pa.string()), ("answer", pa.string())])
IMAGE_REVISIONS: dict[str, int] = {}
"""Revisions of the image operations (vouch/images/operations.py) whose pixels have changed since
revision 1. Raised by hand. Recipes name it, so prompts are then made again and asked again."""
STEP = pa.struct([("operation", pa.string()), ("severity", pa.int32()), ("revision", pa.int32())])
RECIPE = pa.struct([("images", pa.list_(pa.string())), ("steps", pa.list_(STEP))])

PROMPTS = Table(
    "prompts",
    5,
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
text        string      the user's last text, options and instruction included; `<image 1>` marks where an
                        image goes, in `turns` as well; no mark means: all images first
response    string      how the assistant's answer begins, null where the model starts it
earlier     string[][]  for the placeholder `{answer k}` in `turns` or `text`: ids of the prompts, all before
                        this one in the table, whose answers fill it; of several the most common answer, of
                        equals the first
options     string[]    option texts as shown; for likelihood the texts that are scored
order       int32[]     for each shown option its index among the item's options; DONT_KNOW or NONE_OF_ABOVE
                        for an option that the template adds
labels      string[]    the letter shown before each option
answers     int32[]     0-based indices of the correct options as shown; an option that the template adds is
                        among them where it says what a correct one says (`None of the above`)
images      recipe[]    recipes, rendered where used: `images`, digests of the sources, and `steps`, done in
                        their order; each names an operation (vouch/images/operations.py), its severity, 0
                        where it has no levels, and its revision; one that paints says what after a colon
                        (`write:7:red star`). An operation is done to each image by
                        itself, a joining one makes one image of two; without steps an image is shown as it
                        is
outputs     string[]    what is asked for, of OUTPUTS; empty for an item with neither an image nor a question,
                        or if only released answers join on the prompt: then no model is asked
max_tokens  int32       most tokens of a generated text, null for `extract.max_tokens`
""",
        turn=TURN,
        recipe=RECIPE,
    ),
)
prompts_path = per_dataset("data/prompts/{}.parquet")
EARLIER_OPTIONS = pa.field("earlier_options", pa.list_(pa.list_(pa.string())))
"""A further column of PROMPTS: for each placeholder `{answer k}` the options of its turn as the placeholder
repeats them, in the item's own order; an empty list if it repeats answers word by word. Only in tables with a
variation that repeats options."""

WORDING = ("template", "system", "turns", "text", "response")
"""The columns of PROMPTS that a model's own prompt may have otherwise."""
MODEL_PROMPTS = pa.field(
    "model_prompts",
    pa.list_(
        pa.struct([("models", pa.list_(pa.string())), *(PROMPTS.schema.field(name) for name in WORDING)])
    ),
)
"""A further column of PROMPTS: for each variant of the template that only some `models` are asked with, the
columns WORDING. Only in tables of datasets with `variants`."""


def prompts_schema(repeats_options: bool, model_prompts: bool = False) -> pa.Schema:
    """Columns of PROMPTS. repeats_options: whether a variation repeats the options that the model chose.
    model_prompts: whether some models are asked with their own prompts."""
    further = {EARLIER_OPTIONS: repeats_options, MODEL_PROMPTS: model_prompts}
    return pa.schema([*PROMPTS.schema, *(column for column, has in further.items() if has)])


def prompt_for(model: str, prompt: Mapping[str, Any]) -> dict[str, Any]:
    """A row of PROMPTS, or some columns of it, as a model is asked it."""
    asked = dict(prompt)
    for own in asked.pop(MODEL_PROMPTS.name, None) or ():
        if model in own["models"]:
            asked |= {column: own[column] for column in WORDING if column in asked}
    return asked


VERBALISED, STATED_LIKELIHOODS = "verbalised", "likelihoods"


def read_as(template: str | None) -> str:
    """How texts to a template are read, by its name and variant: VERBALISED, for how sure the model says that
    it is; STATED_LIKELIHOODS, for how likely it calls each option; empty, for neither."""
    names = (VERBALISED, STATED_LIKELIHOODS)
    return next((name for name in names if f"_{template}".endswith(f"_{name}")), "")


def image_revision(operation: str) -> int:
    """The current revision of an operation, by its name with or without an argument (`write:7:red star`)."""
    return IMAGE_REVISIONS.get(operation.partition(":")[0], 1)


def painted_option(item: str, options: int, answers: Collection[int]) -> int | None:
    """The wrong option, by its index, whose text `typographic` paints into an item's image; None for none.

    item: its id, which decides. options: how many it has. answers: the correct ones.
    """
    wrong = [index for index in range(options) if index not in answers]
    return (
        wrong[int.from_bytes(sha256(f"painted/{item}".encode()).digest()[:8]) % len(wrong)] if wrong else None
    )


def repeats(prompt: str, variation: str) -> str | None:
    """The variation whose prompt for the same item is identical; None if there is none. prompt: its id.

    The first prompt of `circular` equals that of `original`; the first of `circular+vr_b`, that of `vr_b`.
    """
    parts = variation.split("+")
    if CIRCULAR not in parts or not prompt.endswith(f"/{variation}/1"):
        return None
    return "+".join(part for part in parts if part != CIRCULAR) or ORIGINAL


EXAMPLES = 5

Treatment = Literal["left out", "dropped", "repaired", "together", "kept"]
TREATMENTS: dict[Treatment, str] = {
    "left out": "became no item; see what was left out",
    "dropped": "the clean protocol drops the item",
    "repaired": "models get to see the repaired form, in both protocols",
    "together": "the clean protocol keeps such items on one side of every split",
    "kept": "kept as it is, in both protocols",
}


@dataclass(frozen=True)
class Defect:
    """One entry of KNOWN. meaning: what an item with it looks like. whole: the defect is the dataset's."""

    treatment: Treatment
    meaning: str
    whole: bool = False


KNOWN: dict[str, Defect] = {
    "added_option_twice": Defect("kept", "an option says what the prompt template adds, as `None of these`"),
    "animated": Defect("repaired", "an image has several frames; the first one counts"),
    "answer_in_question": Defect("kept", "the question holds the correct option's text, and no other's"),
    "answer_position_skew": Defect("kept", "answers stand at one letter more often than chance allows", True),
    "bidi_controls": Defect(
        "kept", "a text holds characters that do not show and turn the direction of what follows"
    ),
    "blank_image": Defect("kept", "all pixels of an image have one colour"),
    "broken_image": Defect("left out", "an image is not there, cannot be decoded, or is none", True),
    "circular_copy": Defect("together", "a copy of the item has its options in another order"),
    "conflicting_answer": Defect(
        "kept", "a copy, or the same question about a similar image, has another answer"
    ),
    "copies_apart": Defect("kept", "a copy of the item stands in another group, so a split can part them"),
    "damaged_text": Defect("kept", "a text was decoded with the wrong encoding"),
    "duplicate_options": Defect("dropped", "two options have the same text"),
    "empty_hint": Defect("kept", "the hint is there but holds no text"),
    "empty_option": Defect("dropped", "an option holds no text"),
    "exif_rotated": Defect("repaired", "EXIF says to rotate or mirror an image; that is done"),
    "lettered_options": Defect(
        "kept", "the options' own texts begin with letters or numbers, so prompts show them twice"
    ),
    "letters_only": Defect("kept", "no option has a text, so it is known by its letter alone"),
    "line_break_in_option": Defect(
        "kept", "an option has several lines, of which one may look like another option"
    ),
    "mark_dropped": Defect(
        "kept", "prompts leave out a mark like <image 1>; the images stand before the text"
    ),
    "mark_in_words": Defect("kept", "prompts say `image 1` where a mark like <image 1> stands"),
    "missing_option": Defect("dropped", "the source lacks an option text; the list ends before it"),
    "near_duplicate_image": Defect("kept", "an image looks like one of another group; the bytes differ"),
    "non_rgb": Defect("repaired", "an image's mode is not RGB; it is converted, on a white ground"),
    "option_names_options": Defect(
        "kept", "an option names others, as `Both A and B`; variations that move options leave the item out"
    ),
    "placeholder": Defect("kept", "a text holds a mark like [[name]], in whose place something is missing"),
    "repeated_answer_text": Defect("dropped", "a wrong option has the text of a correct one"),
    "repeated_item": Defect("kept", "another item has the same question, images, options and order"),
    "respelled_answer": Defect("kept", "a wrong option differs from a correct one only in its spelling"),
    "respelled_options": Defect("kept", "two options differ only in their spelling"),
    "several_images": Defect("kept", "the item has more than one image"),
    "shared_image": Defect("kept", "another group has the same image, so a split can part them"),
    "strip_image": Defect("kept", "one side of an image is more than 24 times the other"),
    "tiny_image": Defect("kept", "a side of an image is shorter than a patch of image encoders"),
    "unmarked_image": Defect("kept", "some images have a mark like <image 1> in the text, another has none"),
    "unmatched_mark": Defect("kept", "a mark like <image 2> names an image that the item does not have"),
    "unusable_entry": Defect("left out", "the entry lacks what every item needs", True),
}

DROPPED = tuple(name for name, defect in KNOWN.items() if defect.treatment == "dropped")
"""Flags of items whose prompts do not show what the question meant; the clean protocol drops them."""


def has_any(lists: pa.ChunkedArray, wanted: Collection[str]) -> NDArray[np.bool_]:
    """[n] whether a row's list of names holds one of those wanted."""
    sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    marked = pc.is_in(pc.list_flatten(lists), pa.array(sorted(wanted), pa.string())).to_numpy()
    return np.asarray(np.bincount(np.repeat(np.arange(len(lists)), sizes), marked, len(lists)) > 0)


def kept_items(items: pa.Table) -> pa.Table:
    """The rows that the clean protocol keeps. items: of ITEMS, with the column flags."""
    return items.filter(pa.array(~has_any(items["flags"], DROPPED)))


DEFECTS = Table(
    "defects",
    1,
    columns("""
defect     string    a name of KNOWN
items      int64     how many items have it; 0 where it was looked for and not found. Of `broken_image` and
                     `unusable_entry` these are entries of the source that became no item
share      float64   items / all items; for the two, / all entries
examples   string[]  ids of the first of them, at most EXAMPLES, or places in the source where there is no id
treatment  string    what the clean protocol does: see TREATMENTS
p_value    float64   of a test behind the defect, null where there is none
detail     string    what the numbers do not say, or empty
"""),
)
defects_path = per_dataset("data/defects/{}.parquet")


REJECTS = Table(
    "rejects",
    1,
    columns("""
dataset  string  name of the dataset
where    string  file and line, or row, or member of the source
id       string  id of the item, empty where it has none
reason   string  one line: what is wrong with it
"""),
)
rejects_path = per_dataset("data/rejects/{}.parquet")

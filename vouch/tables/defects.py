"""What cleaning looked for in a dataset, and which entries of its source it left out.

defects: how often each was there, and what the clean protocol does.
rejects: items that were left out, and why; empty where every item went in.
"""

from dataclasses import dataclass
from typing import Literal

from vouch.tables.table import Table, columns, per_dataset

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
    """One entry of KNOWN. meaning: what an item with it looks like. whole: of the dataset, no item's flag."""

    treatment: Treatment
    meaning: str
    whole: bool = False


KNOWN: dict[str, Defect] = {
    "added_option_twice": Defect("kept", "an option says what the prompt template adds, as `None of these`"),
    "animated": Defect("repaired", "a picture has several frames; the first one counts"),
    "answer_in_question": Defect("kept", "the question holds the correct option's text, and no other's"),
    "answer_position_skew": Defect("kept", "answers stand at one letter more often than chance allows", True),
    "bidi_controls": Defect(
        "kept", "a text holds characters that do not show and turn the direction of what follows"
    ),
    "blank_image": Defect("kept", "all pixels of a picture have one colour"),
    "broken_image": Defect("left out", "a picture is not there, cannot be decoded, or is none", True),
    "circular_copy": Defect("together", "a copy of the item has its options in another order"),
    "conflicting_answer": Defect(
        "kept", "a copy, or the same question about a like picture, has another answer"
    ),
    "copies_apart": Defect("kept", "a copy of the item stands in another group, so a split can part them"),
    "damaged_text": Defect("kept", "a text was decoded with the wrong encoding"),
    "duplicate_options": Defect("dropped", "two options have the same text"),
    "empty_hint": Defect("kept", "the hint is there but holds no text"),
    "empty_option": Defect("dropped", "an option holds no text"),
    "exif_rotated": Defect("repaired", "EXIF says to rotate or mirror a picture; that is done"),
    "lettered_options": Defect(
        "kept", "the options' own texts begin with letters or numbers, so prompts show them twice"
    ),
    "letters_only": Defect("kept", "no option has a text, so it is known by its letter alone"),
    "line_break_in_option": Defect(
        "kept", "an option has several lines, of which one may look like another option"
    ),
    "mark_dropped": Defect(
        "kept", "prompts leave out a mark like <image 1>; the pictures stand before the text"
    ),
    "mark_in_words": Defect("kept", "prompts say `image 1` where a mark like <image 1> stands"),
    "missing_option": Defect("dropped", "the source lacks an option text; the list ends before it"),
    "near_duplicate_image": Defect("kept", "a picture looks like one of another group; the bytes differ"),
    "non_rgb": Defect("repaired", "a picture's mode is not RGB; it is converted, on a white ground"),
    "option_names_options": Defect(
        "kept", "an option names others, as `Both A and B`; variations that move options leave the item out"
    ),
    "placeholder": Defect("kept", "a text holds a mark like [[name]], in whose place something is missing"),
    "repeated_answer_text": Defect("dropped", "a wrong option has the text of a correct one"),
    "repeated_item": Defect("kept", "another item has the same question, pictures, options and order"),
    "respelled_answer": Defect("kept", "a wrong option differs from a correct one only in its spelling"),
    "respelled_options": Defect("kept", "two options differ only in their spelling"),
    "several_images": Defect("kept", "the item has more than one picture"),
    "shared_image": Defect("kept", "another group has the same picture, so a split can part them"),
    "strip_image": Defect("kept", "one side of a picture is more than 24 times the other"),
    "tiny_image": Defect("kept", "a side of a picture is shorter than a patch of image encoders"),
    "unmarked_image": Defect(
        "kept", "some pictures have a mark like <image 1> in the text, another has none"
    ),
    "unmatched_mark": Defect("kept", "a text speaks of a picture that the item does not have"),
    "unusable_entry": Defect("left out", "the entry lacks what every item needs", True),
}

DROPPED = tuple(name for name, defect in KNOWN.items() if defect.treatment == "dropped")
"""Flags of items whose prompts do not show what the question meant; the clean protocol drops them."""

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

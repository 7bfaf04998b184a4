"""What is odd about one item: its texts (texts.py), its pictures, and whether the two fit.

tiny_image: a side below TINY pixels, the larger of the two patch sizes (14 and 28) of common image
encoders: not even one patch is filled. strip_image: one side is more than STRIP times the other; of 24 x 24
patches (336 pixels of 14), which show the picture as a whole, the shorter one fills not even one.
blank_image is exact: one colour and nothing else, on white ground; a picture of a white wall has noise.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from vouch.datasets.cleaning.cleaning import Picture, known_options
from vouch.datasets.cleaning.flags.texts import (
    damaged,
    has_bidi_controls,
    has_line_break,
    has_placeholder,
    leaks,
    lettered,
    option_flags,
)
from vouch.tables.items import IMAGE_MARK

TINY = 28
STRIP = 24


def item_flags(row: Mapping[str, Any], native: Sequence[str | None], shown: Sequence[Picture]) -> set[str]:
    """row: of the items table. native: its options as the source has them. shown: its pictures."""
    texts = [row["hint"] or "", row["question"], *row["options"]]
    marked = {int(number) for number in IMAGE_MARK.findall("\n".join(texts))}
    there = set(range(1, len(shown) + 1))
    found = {
        "animated": any(picture.animated for picture in shown),
        "answer_in_question": leaks(row["question"], row["options"], row["answers"]),
        "bidi_controls": any(map(has_bidi_controls, (*texts, *row["references"]))),
        "blank_image": any(picture.blank for picture in shown),
        "damaged_text": any(map(damaged, (*texts, *row["references"]))),
        "empty_hint": row["hint"] is not None and not row["hint"].strip(),
        "exif_rotated": any(picture.rotated for picture in shown),
        "lettered_options": lettered(row["options"]),
        "line_break_in_option": any(map(has_line_break, row["options"])),
        "missing_option": len(known_options(native)) < len(native),
        "non_rgb": any(picture.mode != "RGB" for picture in shown),
        "placeholder": any(map(has_placeholder, (*texts, *row["references"]))),
        "several_images": len(shown) > 1,
        "strip_image": any(
            max(picture.width, picture.height) > STRIP * min(picture.width, picture.height)
            for picture in shown
        ),
        "tiny_image": any(min(picture.width, picture.height) < TINY for picture in shown),
        "unmarked_image": bool(marked & there and there - marked),
        "unmatched_mark": bool(marked - there),
    }
    return {*(flag for flag, holds in found.items() if holds), *option_flags(row["options"], row["answers"])}

"""Facts of an item's pictures, and whether its text and its pictures fit.

tiny_image: a side below TINY pixels, the larger of the two patch sizes (14 and 28) of common image
encoders: not even one patch is filled. blank_image is exact: one colour and nothing else, on white
ground; a picture of a white wall has noise.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from vouch.tables.items import IMAGE_MARK

TINY = 28


class Facts(Protocol):
    """What is known of a picture. width, height: pixels."""

    @property
    def mode(self) -> str: ...
    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    @property
    def animated(self) -> bool: ...
    @property
    def turned(self) -> bool: ...
    @property
    def blank(self) -> bool: ...


_FACTS: Mapping[str, Callable[[Facts], bool]] = {
    "animated": lambda picture: picture.animated,
    "blank_image": lambda picture: picture.blank,
    "exif_rotated": lambda picture: picture.turned,
    "non_rgb": lambda picture: picture.mode != "RGB",
    "tiny_image": lambda picture: min(picture.width, picture.height) < TINY,
}


def flags(texts: Sequence[str], pictures: Sequence[Facts]) -> set[str]:
    """Flags of the pictures. texts: hint, question and options."""
    marked = {int(number) for number in IMAGE_MARK.findall("\n".join(texts))}
    there = set(range(1, len(pictures) + 1))
    found = {flag for picture in pictures for flag, holds in _FACTS.items() if holds(picture)}
    if len(pictures) > 1:
        found.add("several_images")
    if marked & there and there - marked:
        found.add("unmarked_image")
    if marked - there:
        found.add("unmatched_mark")
    return found

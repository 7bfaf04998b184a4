"""Facts of an item's pictures, and whether its text and its pictures fit.

tiny_image: a side below TINY pixels, the larger of the two patch sizes (14 and 28) of common image
encoders: not even one patch is filled. blank_image is exact: one colour and nothing else, on white
ground; a picture of a white wall has noise.
"""

from collections.abc import Sequence
from typing import Protocol

from stages.contracts.items import IMAGE_MARK

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


def flags(texts: Sequence[str], pictures: Sequence[Facts]) -> set[str]:
    """Flags of the pictures. texts: hint, question and options."""
    marked = {int(number) for number in IMAGE_MARK.findall("\n".join(texts))}
    there = set(range(1, len(pictures) + 1))
    found = {
        "animated": any(picture.animated for picture in pictures),
        "blank_image": any(picture.blank for picture in pictures),
        "exif_rotated": any(picture.turned for picture in pictures),
        "non_rgb": any(picture.mode != "RGB" for picture in pictures),
        "several_images": len(pictures) > 1,
        "tiny_image": any(min(picture.width, picture.height) < TINY for picture in pictures),
        "unmarked_image": bool(marked & there and there - marked),
        "unmatched_mark": bool(marked - there),
    }
    return {flag for flag, holds in found.items() if holds}

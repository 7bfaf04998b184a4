"""Boxes that a question speaks of: drawn as ReForm-Eval does (Li et al. 2023), or as text."""

import io
import re
from collections.abc import Sequence
from typing import Any

from PIL import ImageDraw

from vouch.datasets.cleaning.cleaning import examine
from vouch.datasets.raw import Unusable
from vouch.images.pictures import decode

# The colour goes by the number of the box; there are no more.
_COLOURS = ((255, 0, 0), (0, 128, 0), (0, 0, 255), (255, 215, 0))
_NAMES = ("red", "green", "blue", "yellow")
_MARK = re.compile(r"<box ([0-9]{1,3})>")
_FARTHEST = 100_000  # pixels; no picture is larger, and lines that are take Pillow for ever


def with_boxes(data: bytes, boxes: Sequence[Any], thickness: int, form: str) -> bytes:
    """The picture with its boxes drawn, as PNG. Raises Unusable.

    form: `corners` (x1, y1, x2, y2) or `size` (x, y, width, height), in pixels. Lines run along the middle
    of their thickness; corners are square, where OpenCV, which the authors used, rounds them.
    """
    if len(boxes) > len(_COLOURS):
        raise Unusable(f"has {len(boxes)} boxes, of which only {len(_COLOURS)} have colours")
    try:
        examine(data)  # its size as well, before all of it is in memory
    except Unusable as error:
        raise Unusable(f"has an image that {error}") from None
    image = decode(data)
    pen, out = ImageDraw.Draw(image), thickness // 2
    for box, colour in zip(boxes, _COLOURS, strict=False):
        x1, y1, x2, y2 = _corners(box, form)
        pen.rectangle((x1 - out, y1 - out, x2 + out, y2 + out), outline=colour, width=thickness)
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    return buffer.getvalue()


def spoken(text: str, boxes: Sequence[Any], drawn: bool) -> str:
    """A text with its marks `<box 1>` as words: `the red box` where it is drawn, else its corners in pixels.

    boxes: x1, y1, x2, y2 each. Raises Unusable for a mark without a box.
    """
    places = [_corners(box, "corners") for box in boxes]

    def words(mark: re.Match[str]) -> str:
        number = int(mark[1])
        if not 1 <= number <= (min(len(places), len(_NAMES)) if drawn else len(places)):
            raise Unusable(f"speaks of {mark[0]}, but has {len(places)} boxes")
        x1, y1, x2, y2 = places[number - 1]
        return f"the {_NAMES[number - 1]} box" if drawn else f"[{x1}, {y1}, {x2}, {y2}]"

    return _MARK.sub(words, text)


def _corners(box: Any, form: str) -> tuple[int, int, int, int]:
    if not isinstance(box, list | tuple) or len(box) != 4 or not all(map(_is_place, box)):
        raise Unusable(f"has the box {box!r:.60}, which is not four numbers of pixels")
    x, y, across, down = box
    x2, y2 = (across, down) if form == "corners" else (x + across, y + down)
    if x2 < x or y2 < y:
        raise Unusable(f"has the box {box!r:.60}, whose corners stand the other way round")
    return int(x), int(y), int(x2), int(y2)


def _is_place(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and -_FARTHEST <= value <= _FARTHEST

"""Options that name the two pictures of an item: left and right, first and second, image 1 and image 2."""

import re
from collections.abc import Sequence

_SIDES = (("left", "right"), ("first", "second"), ("image 1", "image 2"))
_WORD = re.compile(r"[a-z]+|[0-9]+")
_PICTURE = ("image", "picture", "photo", "photograph")
_IDLE = ("the", "in", "on", "one", "side", "hand")


def sides(options: Sequence[str]) -> tuple[int, ...] | None:
    """For each of two options the place, from 0, of the picture it names; None where they name no two."""
    named = [_side(option) for option in options]
    known = next((names for names in _SIDES if sorted(named) == sorted(names)), None)
    return None if known is None else tuple(known.index(name) for name in named)


def _side(option: str) -> str:
    """`The left picture.` is `left`, `<image 1>` is `image 1`, a number alone stays one."""
    words = [word for word in _WORD.findall(option.casefold()) if word not in _IDLE]
    words = ["image" if word in _PICTURE else word for word in words]
    return " ".join(words if words[-1:] in (["1"], ["2"]) else [word for word in words if word != "image"])

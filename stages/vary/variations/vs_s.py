"""vs_s: the two pictures swap places and the answer turns (VS-S of PARC, Schmalfuss et al. 2025).

For items with two pictures whose two options name them: left and right, first and second, image 1 and
image 2. Whether `left` means the picture or a direction within it, an item does not say: not for
datasets that ask for directions.
"""

import re
from dataclasses import replace

from stages.contracts.prompts import SWAPPED
from stages.vary.variation import PICTURES, Draft

CHANGES = (PICTURES,)
EFFECT = SWAPPED
FAMILY = "VS"

_SIDES = ({"left", "right"}, {"first", "second"}, {"image 1", "image 2"})
_WORD = re.compile(r"[a-z]+|[0-9]+")
_PICTURE = ("image", "picture", "photo", "photograph")
_IDLE = ("the", "in", "on", "one", "side", "hand")


def vary(draft: Draft) -> Draft | None:
    """None where the options do not name the two pictures."""
    sides = {_side(option) for option in draft.item.options}
    if len(draft.pictures) != 2 or len(draft.item.options) != 2 or sides not in _SIDES:
        return None
    return replace(draft, pictures=draft.pictures[::-1])


def _side(option: str) -> str:
    """`The left picture.` is `left`, `<image 1>` is `image 1`, a number alone stays one."""
    words = [word for word in _WORD.findall(option.casefold()) if word not in _IDLE]
    words = ["image" if word in _PICTURE else word for word in words]
    return " ".join(words if words[-1:] in (["1"], ["2"]) else [word for word in words if word != "image"])

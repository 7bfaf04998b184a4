"""Variations that exchange images or paint words into them.

The item's id decides what is painted or exchanged.
"""

import re
from collections.abc import Sequence
from hashlib import sha256

from vouch.prompts.draft import IMAGES, Draft, ShownImage, Step
from vouch.prompts.variations import variation
from vouch.tables.asked import SWAPPED, painted_option

CONTROL_WORD = "example"


@variation(
    "typographic",
    "wrong option painted into the image",
    does="the text of a wrong option is painted into every image",
    skips="items without an image or a wrong option, options with other letters than ASCII",
    changes=IMAGES,
    control=True,
)
def _wrong_option(draft: Draft) -> Draft | None:
    """A typographic attack (Goh et al. 2021)."""
    item = draft.item
    index = painted_option(item.id, len(item.options), item.answers)
    return None if index is None else _painted(draft, item.options[index])


@variation(
    "typographic_control",
    "harmless word painted into the image",
    does="a harmless word is painted in its place",
    skips="the same",
    changes=IMAGES,
    control=True,
)
def _harmless_word(draft: Draft) -> Draft | None:
    """The same items as in `typographic`, painted in the same way: only the words differ."""
    return None if _wrong_option(draft) is None else _painted(draft, CONTROL_WORD)


def _painted(draft: Draft, text: str) -> Draft | None:
    """None if there is no image or the font lacks a letter. The item's id decides how the words look."""
    if not draft.images or not text.strip() or not text.isascii() or not text.isprintable():
        return None
    look = int.from_bytes(sha256(f"look/{draft.item.id}".encode()).digest()[:4]) % 1000
    step = Step(f"write:{look}:{text}")
    return draft._replace(images=tuple([ShownImage(image, (*steps, step)) for image, steps in draft.images]))


@variation(
    "vs_s",
    "images swapped, which flips the answer",
    does="the two images swap places",
    skips="items without two images and two options that name them",
    changes=IMAGES,
    effect=SWAPPED,
    family="VS",
)
def _swapped(draft: Draft) -> Draft | None:
    """VS-S of PARC (Schmalfuss et al. 2025).

    An item does not say whether `left` means an image or a direction within it, so this is no variation for
    datasets that ask for directions.
    """
    if len(draft.images) != 2 or sides(draft.item.options) is None:
        return None
    return draft._replace(images=draft.images[::-1])


@variation(
    "vs_e",
    "image replaced, which flips the answer",
    does="one image is exchanged for one that makes the other side win",
    skips="items with other than two options, or without such an image",
    changes=IMAGES,
    effect=SWAPPED,
    family="VS",
)
def _exchanged(draft: Draft) -> Draft | None:
    """VS-E of PARC. `exchange` of the item names the image that can replace each; if both can be replaced,
    the item's id decides which one is, so that both sides come up."""
    spare = [(index, digest) for index, digest in enumerate(draft.item.exchange) if digest is not None]
    if not spare or len(draft.item.exchange) != len(draft.images):
        return None
    drawn = int.from_bytes(sha256(draft.item.id.encode()).digest()[:8])
    index, digest = spare[drawn % len(spare)]
    images = list(draft.images)
    images[index] = images[index]._replace(image=digest)
    return draft._replace(images=tuple(images))


_SIDES = (("left", "right"), ("first", "second"), ("image 1", "image 2"))
_WORD = re.compile(r"[a-z]+|[0-9]+")
_IMAGE = ("image", "picture", "photo", "photograph")
_IDLE = ("the", "in", "on", "one", "side", "hand")


def sides(options: Sequence[str]) -> tuple[int, ...] | None:
    """For each of two options the index of the image that it names; None if they do not name two images.

    They may name left and right, first and second, or image 1 and image 2.
    """
    named = [_side(option) for option in options]
    known = next((names for names in _SIDES if sorted(named) == sorted(names)), None)
    return None if known is None else tuple(known.index(name) for name in named)


def _side(option: str) -> str:
    """`left` for `The left picture.`, `image 1` for `<image 1>`; a bare number stays a number."""
    words = [word for word in _WORD.findall(option.casefold()) if word not in _IDLE]
    words = ["image" if word in _IMAGE else word for word in words]
    return " ".join(words if words[-1:] in (["1"], ["2"]) else [word for word in words if word != "image"])

"""What a variation file (stages/vary/variations/NAME.py) gives to `vary`.

A variation file defines
    def vary(item: Item, style: Style) -> Draft | Sequence[Draft] | None
It says what changes and leaves the rendering to stages/vary/prompt.py: other words are an `item` with
other texts (dataclasses.replace), another instruction is another `style`, another order of the options
is another `order`, a disturbed image is another recipe among `pictures`. None means that the variation
does not apply to this item. Several prompts of one item are numbered drafts, and a file that numbers its
drafts does so for every item, however many there are. It is a pure function: randomness comes from the
item's id.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from stages.vary.style import Style


@dataclass(frozen=True)
class Item:
    """What a prompt is made of: columns of the items table. images: digests. place: its row, from 0."""

    id: str
    group: str
    question: str
    hint: str | None
    options: tuple[str, ...]
    answers: tuple[int, ...]
    images: tuple[str, ...]
    kind: str
    phrasings: tuple[str, ...] = ()
    place: int = 0


@dataclass(frozen=True)
class Picture:
    """A recipe, rendered where it is used: an operation over source images. `original` shows one as it is."""

    images: tuple[str, ...]
    operation: str = "original"
    severity: int = 0
    revision: int = 1


@dataclass(frozen=True)
class Draft:
    """A prompt before rendering.

    order: indices of the item's options as they will be shown. number: 1, 2, ... where the variation
    makes several prompts of one item. turns: earlier exchanges, (question, answer), as they will be
    shown. earlier: for each hole `{answer k}` the ids (`prompt_id`) of the prompts that fill it, all before
    this one in the table and of items of the same group that stand together.
    """

    item: Item
    style: Style
    order: tuple[int, ...]
    pictures: tuple[Picture, ...]
    number: int | None = None
    turns: tuple[tuple[str, str], ...] = ()
    earlier: tuple[tuple[str, ...], ...] = ()


def prompt_id(item: str, variation: str, number: int | None = None) -> str:
    """The id of a prompt: `ITEM/VARIATION`, or `ITEM/VARIATION/NUMBER` for numbered drafts."""
    return f"{item}/{variation}" if number is None else f"{item}/{variation}/{number}"


def shown(images: tuple[str, ...], style: Style) -> tuple[Picture, ...]:
    """Recipes that show images untouched, as a style has it: two joined ones are one picture."""
    if style.pictures == "joined" and len(images) == 2:
        return (Picture(images, "side_by_side"),)
    return tuple(Picture((digest,)) for digest in images)


class Variation(Protocol):
    """The module of a variation."""

    def vary(self, item: Item, style: Style) -> Draft | Sequence[Draft] | None:
        """The draft of one prompt, numbered drafts of several, or None where it does not apply."""

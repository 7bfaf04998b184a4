"""A prompt before it is rendered: an item, what is shown of it, and the template that will show it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from vouch.prompts.template import Template, marked

WORDS = "words"  # texts of the item
PICTURES = "pictures"  # which images are shown, their order, and what is done to them
ORDER = "order"  # of the options
TURNS = "turns"  # earlier exchanges
TEMPLATE = "template"  # what the template puts around the texts
PARTS = (WORDS, PICTURES, ORDER, TURNS, TEMPLATE)
FAMILIES = ("LR", "LS", "VR", "VS", "")


@dataclass(frozen=True, eq=False)  # by identity: a rewritten item has the id of its source
class Item:
    """What a prompt is made of: columns of the items table.

    phrasings: all wordings of the question, or empty. place: of the item in the table, from 0.
    images: digests. exchange: for each image a digest or None, or empty. turns: the earlier items of
    the same conversation, first to last. goes_on: whether a later item names this one among its turns.
    kept: whether the item is asked itself; one that is left out can still be an earlier turn.
    rewrites: kind -> the question in other words (vouch/tables/asked.py), where these may be asked.
    """

    id: str
    group: str
    question: str
    hint: str | None
    options: tuple[str, ...]
    answers: tuple[int, ...]
    images: tuple[str, ...]
    kind: str
    references: tuple[str, ...] = ()
    exchange: tuple[str | None, ...] = ()
    turns: tuple["Item", ...] = ()
    goes_on: bool = False
    kept: bool = True
    rewrites: Mapping[str, str] = field(default_factory=dict)
    phrasings: tuple[str, ...] = ()
    place: int = 0

    @cached_property
    def marked(self) -> bool:
        """Whether a text of it may hold a mark of a picture."""
        return any(map(marked, (self.hint or "", self.question, *self.options)))


class Step(NamedTuple):
    """An operation of vouch/images/operations.py; severity 0 where it has no levels."""

    operation: str
    severity: int = 0
    revision: int = 1


class Picture(NamedTuple):
    """An image of the item, by its digest, and what is done to it."""

    image: str
    steps: tuple[Step, ...] = ()


class Draft(NamedTuple):
    """A prompt before rendering.

    variation: name of the whole variation, combination and level included.
    order: indices of the item's options as they will be shown.
    pictures: one for each image, in their order; the template joins them afterwards.
    asked: whether a model is asked at all; released logits join on prompts that nobody asks. So it is
        with items that have no image. A control that takes the pictures away leaves it as it is.
    turns: earlier exchanges, question and answer. A question is a text as it will be shown, or the draft
        of an earlier item, which is rendered like this one.
    earlier: for each placeholder `{answer k}` the ids (`prompt_id`) of the prompts that fill it, all before
        this one in the table and of items of the same group that stand together.
    """

    variation: str
    item: Item
    template: Template
    order: tuple[int, ...]
    pictures: tuple[Picture, ...]
    asked: bool
    turns: tuple[tuple["str | Draft", str], ...] = ()
    earlier: tuple[tuple[str, ...], ...] = ()


def start(item: Item, template: Template, variation: str) -> Draft:
    """The item as its source has it: what the first variation of a combination gets."""
    pictures = tuple(Picture(digest) for digest in item.images)
    return Draft(variation, item, template, tuple(range(len(item.options))), pictures, bool(item.images))


def prompt_id(item: str, variation: str, number: int | None = None) -> str:
    """The id of a prompt: `ITEM/VARIATION`, or `ITEM/VARIATION/NUMBER` for numbered drafts."""
    return f"{item}/{variation}" if number is None else f"{item}/{variation}/{number}"

"""A prompt before rendering: an item, the parts of it to be shown, and the template that will show them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from vouch.prompts.template import Template
from vouch.tables.marks import marked

WORDS = "words"  # texts of the item
IMAGES = "images"  # which images are shown, their order, and the operations on them
ORDER = "order"  # of the options
TURNS = "turns"  # earlier exchanges
TEMPLATE = "template"  # the words that the template puts around the texts
PARTS = (WORDS, IMAGES, ORDER, TURNS, TEMPLATE)


@dataclass(frozen=True, eq=False)  # by identity: a rewritten item has the id of its source
class Item:
    """The item that a prompt is made of: columns of the items table, and rewrites.

    phrasings: all wordings of the question, or empty. index: of the item in the table.
    images: digests. exchange: for each image the digest of another one or None, or empty. turns: the earlier
    items of the conversation, first to last. goes_on: whether a later item names this one among its turns.
    kept: whether the item itself is asked; one that is left out can still be an earlier turn. filtered: left
    out by `rows` of the dataset's entry alone, so the variation `initial` asks it nevertheless.
    rewrites: kind -> the reworded question (vouch/tables/asked.py), if it may be asked.
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
    filtered: bool = False
    rewrites: Mapping[str, str] = field(default_factory=dict)
    phrasings: tuple[str, ...] = ()
    index: int = 0

    @cached_property
    def marked(self) -> bool:
        """Whether any of its texts may hold the mark of an image."""
        return any(map(marked, (self.hint or "", self.question, *self.options)))


class Step(NamedTuple):
    """An operation of vouch/images/operations.py; severity 0 if it has no levels."""

    operation: str
    severity: int = 0


class ShownImage(NamedTuple):
    """An image by its digest, and the operations on it."""

    image: str
    steps: tuple[Step, ...] = ()


class Draft(NamedTuple):
    """A prompt before rendering.

    variation: name of the whole variation, combination and level included.
    order: indices of the item's options in the order that will be shown.
    images: in the order of the item; the template may join them afterwards.
    asked: whether a model is asked: an item with neither an image nor a question is not. Prompts.asked says
        it of the whole dataset.
    turns: earlier exchanges, question and answer. A question is a text as it will be shown, or the draft of
        an earlier item, which is rendered like this one.
    earlier: for each placeholder `{answer k}` the ids (`prompt_id`) of the prompts that fill it. These come
        before this one in the table, and are of adjacent items of the same group.
    earlier_options: empty, or for each placeholder the options of its turn as it repeats them, in the item's
        own order; none if the turn is an open question, whose answer is repeated word by word.
    """

    variation: str
    item: Item
    template: Template
    order: tuple[int, ...]
    images: tuple[ShownImage, ...]
    asked: bool
    turns: tuple[tuple["str | Draft", str], ...] = ()
    earlier: tuple[tuple[str, ...], ...] = ()
    earlier_options: tuple[tuple[str, ...], ...] = ()


def start(item: Item, template: Template, variation: str) -> Draft:
    """The item as its source has it, for the first variation of a combination to change."""
    images = tuple(ShownImage(digest) for digest in item.images)
    asked = bool(images or item.question.strip())
    return Draft(variation, item, template, tuple(range(len(item.options))), images, asked)


def prompt_id(item: str, variation: str, number: int | None = None) -> str:
    """The id of a prompt: `ITEM/VARIATION`, or `ITEM/VARIATION/NUMBER` for numbered drafts."""
    return f"{item}/{variation}" if number is None else f"{item}/{variation}/{number}"

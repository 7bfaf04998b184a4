"""What a variation file (vouch/prompts/variations/NAME.py, or a line of _table.py there) gives to `vary`.

A variation file defines
    CHANGES: what it touches, names of PARTS; of two variations in a combination none may be shared
    EFFECT:  what becomes of the correct answers, of EFFECTS (vouch/tables/prompts.py)
    FAMILY:  of PARC (Schmalfuss et al. 2025), of FAMILIES; empty outside of it
    def vary(draft: Draft) -> Draft | Sequence[Draft] | None
and, where it comes in several strengths, or for any number of tests, LEVELS, the highest, DEFAULT_LEVEL, and
    def vary(draft: Draft, level: int) -> Draft | Sequence[Draft] | None
`NAME_5` in params.yaml is then level 5, `NAME` the default one.

`vary` gets a prompt as it stands, at first the item as its source has it (`start`), and gives it back
changed (`draft._replace`): so variations are done one after the other, and `ls_n+vs_s` needs no file of
its own. It says what changes and leaves the rendering to vouch/prompts/build/prompt.py: other words are an
`item` with other texts, another instruction is another `template`, another order of the options is another
`order`, a disturbed image has another step in `pictures`. It touches what it names in CHANGES and keeps
the rest of the draft.

The answers are no matter of `vary`: it never touches `item.answers` or `item.options`. EFFECT says which
options are correct afterwards: KEPT the same ones, COMPLEMENT all others, SWAPPED the other one of two, OWN
none: the prompt is about what the model itself answered, and the variation changes all PARTS.
Two that flip the answer flip it back: the effect of `ls_n+vs_s` is KEPT. An item whose answers cannot be
flipped (an open question, no correct option, no other one, SWAPPED with more than two) gets no prompt.

None means that the variation does not apply to this item: no row, which is not the same as a zero.
Several prompts of one item are a sequence, numbered 1, 2, ... in its order, also where there is but one.
It is a pure function: randomness comes from the item's id. A template is changed with
`template.changed(marks="lower")`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from vouch.prompts.build.template import Template
from vouch.tables.asked import IMAGE_MARK

_FIRST = re.compile(rf"^(?:{IMAGE_MARK.pattern}[ \t]*)+")
_BEGIN = "<image"  # of every mark; looked for first, because most texts have none
_IN_WORDS = re.compile(r"(?<!<)\bimage [1-9][0-9]{0,3}\b")
_LAST = re.compile(rf"(?:{IMAGE_MARK.pattern}[ \t]*)+$")


def marked(text: str) -> bool:
    """Whether a text may hold a mark; a text that does not is shown as it is."""
    return _BEGIN in text


def in_words(text: str) -> str:
    """Every mark as words: `image 1`."""
    return IMAGE_MARK.sub(r"image \1", text) if marked(text) else text


def without_figure(text: str) -> str:
    """Marks at the ends of lines removed, with the line where nothing else is on it; others in words."""
    if not marked(text):
        return text
    lines = text.split("\n")
    kept = [bare for line in lines if (bare := _without_ends(line)) or not IMAGE_MARK.search(line)]
    return in_words("\n".join(kept)) if "".join(kept).strip() else in_words(text)


def _without_ends(line: str) -> str:
    head = line.lstrip(" \t")
    if _FIRST.match(head):
        line = _FIRST.sub("", head)
    last = _LAST.search(line)
    return line[: last.start()].rstrip(" \t") if last else line


def lost(before: str, after: str) -> tuple[bool, bool]:
    """Whether placing the marks of a text dropped any, and whether it put any into words."""
    marks, words = (
        len(pattern.findall(before)) - len(pattern.findall(after)) for pattern in (IMAGE_MARK, _IN_WORDS)
    )
    return marks + words > 0, words < 0


class Placing:
    """Places the marks of one prompt: give it the texts in the order in which they are read."""

    def __init__(self, pictures: int, mode: str) -> None:
        self._pictures, self._mode = pictures, mode
        self._placed: set[int] = set()

    def passage(self, text: str) -> str:
        """A hint or a question."""
        if self._mode == "first" and self._pictures == 1:
            return without_figure(text)
        return self.option(text)

    def option(self, text: str) -> str:
        """An option's text; a mark may be all that it holds, so it never just goes."""
        if not marked(text):
            return text
        return in_words(text) if self._mode != "marks" else IMAGE_MARK.sub(self._place, text)

    def _place(self, mark: re.Match[str]) -> str:
        number = int(mark[1])
        if number > self._pictures or number in self._placed:
            return f"image {number}"
        self._placed.add(number)
        return f"<image {number}>"

    def front(self) -> str:
        """What goes before the text: marks of the pictures left over, where some have a mark."""
        if not self._placed:
            return ""
        left = (number for number in range(1, self._pictures + 1) if number not in self._placed)
        return "".join(f"<image {number}>\n" for number in left)


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


class Kind(NamedTuple):
    """What the file of a variation says. levels, default_level: 0 without; `vary` then gets a draft alone."""

    changes: tuple[str, ...]
    effect: str
    family: str
    vary: Callable[..., Draft | Sequence[Draft] | None]
    levels: int = 0
    default_level: int = 0


def start(item: Item, template: Template, variation: str) -> Draft:
    """The item as its source has it: what the first variation of a combination gets."""
    pictures = tuple(Picture(digest) for digest in item.images)
    return Draft(variation, item, template, tuple(range(len(item.options))), pictures, bool(item.images))


def prompt_id(item: str, variation: str, number: int | None = None) -> str:
    """The id of a prompt: `ITEM/VARIATION`, or `ITEM/VARIATION/NUMBER` for numbered drafts."""
    return f"{item}/{variation}" if number is None else f"{item}/{variation}/{number}"

"""The interface between loaders (vouch/datasets/loaders/NAME.py) and `prepare`.

A loader defines
    class Settings(LoaderSettings)      its options, under `settings:` in params.yaml
    def read(source: Source, name: str, settings: Settings) -> Iterator[RawItem | Rejected]
    def count(source: Source, name: str, settings: Settings) -> int    items at most, before cleaning; cheap
if the source has published numbers,
    def published(source: Source, name: str, settings: Settings) -> Iterator[dict]   rows of PUBLISHED
if the size of the source is known (first_pass.py lists the names of counts),
    def expected(source: Source, settings: Settings) -> Expected | None     None: not known for this split
if its questions need no options,
    def kinds(settings: Settings) -> Collection[str]     the values of `RawItem.kind` that its items can have
and, if no program can fetch the source,
    PLACE = "what to get from where, and how to lay it out"
`source` (vouch/datasets/read/files.py) has a path and the files that `origin` chose. `name` is the dataset's
key in params.yaml. `read` yields items in the order of the source, one at a time, so that memory stays flat;
it yields Rejected for an entry that cannot become an item, and raises UserError if the whole source cannot
be read.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

Expected = Mapping[str, Collection[int]]  # name of a count -> its accepted values


def counted(what: str, keys: Iterable[object], *numbers: int) -> dict[str, Collection[int]]:
    """Expected counts `what KEY`, such as `answer A`, one for each key."""
    return {f"{what} {key}": {number} for key, number in zip(keys, numbers, strict=True)}


class LoaderSettings(BaseModel):
    """Options that every loader has.

    on_error: `stop` at the first bad item, or `skip` and list it. expect: counts to expect instead of those
    that the loader knows; null accepts any (for a part of a dataset).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    on_error: Literal["stop", "skip"] = "stop"
    expect: dict[str, int] | None = {}


def open_questions(_: LoaderSettings) -> Collection[str]:
    """`kinds` of a loader whose questions have no options."""
    return ("text",)


def both_kinds(_: LoaderSettings) -> Collection[str]:
    """`kinds` of a loader whose questions may have options."""
    return ("choice", "text")


@dataclass(frozen=True)
class RawItem:
    """One question as its source has it.

    where: file and line (or row) for error messages. options: None for a missing option text.
    answers: 0-based indices. references: correct answers of an open question.
    images: encoded bytes, or paths inside `root`. root: the folder that image paths may not leave.
    group: if None, prepare groups by images; a question without images is then a group by itself.
    turns: ids of the earlier items of the dialogue. exchange: for each image one that changes the answer when
    it replaces that image, or None; empty if the source has none. phrasings: all wordings of the question,
    `question` included; empty if there is only one.
    """

    id: str
    where: str
    question: str
    options: Sequence[str | None] = ()
    answers: Sequence[int] = ()
    references: Sequence[str] = ()
    hint: str | None = None
    images: Sequence[bytes | str] = ()
    root: Path | None = None
    category: str = ""
    kind: Literal["choice", "text"] = "choice"
    source_id: str = ""
    group: str | None = None
    turns: Sequence[str] = ()
    exchange: Sequence[bytes | str | None] = ()
    phrasings: Sequence[str] = ()


def known_options(options: Sequence[str | None]) -> list[str]:
    """The options before the first missing one, as Kostumov et al. (2024) read them.

    If all are missing, only their number is known: the result is as many blank options.
    """
    if all(option is None for option in options):
        return [""] * len(options)
    missing = options.index(None) if None in options else len(options)
    return [option for option in options[:missing] if option is not None]


@dataclass(frozen=True)
class Rejected:
    """An entry of the source that cannot become an item. where: file and line. id: may be empty."""

    where: str
    id: str
    reason: str


class Unusable(ValueError):
    """An entry cannot become an item; the message follows the entry's position: `line 3: ...`."""


class BrokenImage(Unusable):
    """An entry cannot become an item because of an image."""


Entry = RawItem | Rejected


def checked_dialogues(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The entries in order; an entry whose turns are not earlier entries of its dialogue is rejected.

    An entry without turns may open a dialogue, to which the next entries belong as long as they have turns.
    If they name a group, they must name the same; if not, `prepare` puts them into the group of the first.
    """
    dialogue: dict[str, Entry] = {}
    for entry in entries:
        if isinstance(entry, RawItem):
            dialogue = dialogue if entry.turns else {}
            if reason := next(filter(None, (_misplaced(entry, turn, dialogue) for turn in entry.turns)), ""):
                entry = Rejected(entry.where, entry.id, reason)
        dialogue[entry.id] = entry
        yield entry


def _misplaced(item: RawItem, turn: str, before: Mapping[str, Entry]) -> str:
    earlier = before.get(turn)
    if earlier is None:
        return f"turn {turn!r:.80} is not an earlier entry of its dialogue; put its entries in order"
    if isinstance(earlier, RawItem) and earlier.group != item.group:
        return f"is in another group than its turn {turn!r:.80}; give both the same"
    return ""

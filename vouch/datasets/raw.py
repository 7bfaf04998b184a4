"""What a dataset file (vouch/datasets/loaders/NAME.py) gives to `prepare`.

A dataset file defines
    class Settings(LoaderSettings)      its options, under `settings:` in params.yaml
    def read(source: Source, name: str, settings: Settings) -> Iterator[RawItem | Rejected]
    def count(source: Source, name: str, settings: Settings) -> int    items at most, before cleaning; cheap
where the source carries published numbers,
    def published(source: Source, name: str, settings: Settings) -> Iterator[dict]   rows of PUBLISHED
where it is known what a source holds (cleaning/expected.py lists the names that are counted),
    def expected(source: Source, settings: Settings) -> Expected | None     null: not known for this split
where its questions need no options,
    def kinds(settings: Settings) -> Collection[str]     of `RawItem.kind` those that its items can have
and, where no program can fetch the source,
    PLACE = "what to get from where, and how to lay it out"
`source` (vouch/datasets/read/files.py) has a path and the files that `origin` chose. `name` is the
dataset's key in params.yaml. `read` yields items in the order of the source, one at a time, so that memory
stays flat; it yields Rejected for an entry that cannot become an item, and raises UserError where the source
as a whole cannot be read.

Conversations in a source whose lines name the earlier ones they follow.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

Expected = Mapping[str, Collection[int]]  # name of what is counted -> the counts that are right


class LoaderSettings(BaseModel):
    """Options that every loader has.

    on_error: `stop` at the first bad item, or `skip` and list it. expect: counts that must come out, for
    those that the loader knows; null: any (a part of a dataset).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    on_error: Literal["stop", "skip"] = "stop"
    expect: dict[str, int] | None = {}


def open_questions(_: LoaderSettings) -> Collection[str]:
    """`kinds` of a loader whose questions have no options."""
    return ("text",)


@dataclass(frozen=True)
class RawItem:
    """One question as its source has it.

    where: file and line (or row) for error messages. options: None marks a missing option text.
    answers: 0-based indices. images: encoded bytes, or paths inside `root`. root: the folder that
    image paths may not leave. group: None lets prepare group by images, or by question without any.
    turns: ids of the earlier items of the conversation. exchange: for each image one that turns the
    answer when it is put in its place, or None; empty where the source has none. phrasings: all wordings
    of the question, `question` among them; empty where it has one.
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


@dataclass(frozen=True)
class Rejected:
    """An entry of the source that cannot become an item: where it stands, its id if any, and why."""

    where: str
    id: str
    reason: str


class Unusable(ValueError):
    """Why one entry cannot become an item, in words that fit after its place: `line 3: ...`."""


class BrokenImage(Unusable):
    """The same where a picture is at fault."""


Entry = RawItem | Rejected


def together(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The entries in their order; turns that are no entries of the same conversation are rejected.

    An entry without turns may open a conversation, and those right after it belong to it as long as they have
    turns. A group of their own must be the same; without one `prepare` gives all of them that of the first.
    """
    talk: dict[str, Entry] = {}
    for entry in entries:
        if isinstance(entry, RawItem) and not entry.turns:
            talk = {}
        said = _following(entry, talk) if isinstance(entry, RawItem) else entry
        talk[said.id] = said
        yield said


def _following(item: RawItem, before: Mapping[str, Entry]) -> Entry:
    for turn in item.turns:
        earlier = before.get(turn)
        reason = ""
        if earlier is None:
            reason = f"turn {turn!r:.80} is no entry of a conversation right before; put its entries in a row"
        elif isinstance(earlier, RawItem) and earlier.group != item.group:
            reason = f"is in another group than its turn {turn!r:.80}; give both the same"
        if reason:
            return Rejected(item.where, item.id, reason)
    return item

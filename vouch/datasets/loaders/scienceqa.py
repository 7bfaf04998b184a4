"""scienceqa: ScienceQA (Lu et al. 2022), its questions with an image.

    origin: {hub: derek-thomas/ScienceQA, revision: "...", split: test}
    origin: {hub: lmms-lab/ScienceQA, revision: "...", config: ScienceQA-IMG, split: test}     the same rows

Kostumov et al. (2024) take `split: validation+test` and `tasks: [closed choice]`. The hint is the source's,
an empty text where a question has none.
"""

from collections.abc import Iterator

from pydantic import Field

from vouch.datasets.raw import Expected, LoaderSettings, RawItem, Rejected
from vouch.datasets.read.files import Row, Source, items
from vouch.datasets.read.forms import count_each, rows

_NEEDED = ("image", "question", "choices", "answer")
_OPTIONAL = ("hint", "task", "subject")
_TEST: Expected = {
    "items": {2017},
    **{f"answer {letter}": {n} for letter, n in zip("ABCDE", (713, 726, 375, 195, 8), strict=True)},
    **{f"options {k}": {n} for k, n in ((2, 677), (3, 532), (4, 770), (5, 38))},
}


class Settings(LoaderSettings):
    """tasks: keep only questions of these (`closed choice`, `yes or no`, `true-or false`); empty: all.

    images: leave out questions without one.
    """

    tasks: list[str] = Field(default=[])
    images: bool = True


count = count_each


def expected(source: Source, settings: Settings) -> Expected | None:
    """Counts of the splits and filters that the papers use."""
    if not settings.images:
        return {"items": {4241}} if source.split in ("validation", "test") and not settings.tasks else None
    if settings.tasks:
        closed = settings.tasks == ["closed choice"] and source.split == "validation+test"
        return {"items": {3953, 3954}} if closed else None
    known: dict[str, Expected] = {"test": _TEST, "validation": {"items": {2097}}}
    return known.get(source.split, {"items": {4114}} if source.split == "validation+test" else None)


def read(source: Source, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    """One item per row that is kept; ids are the rows' numbers in the source, from 0."""
    yield from items(rows(source, _NEEDED, _OPTIONAL), lambda row: _item(row, settings))


def _item(row: Row, settings: Settings) -> RawItem | None:
    images = row.images("image")
    if (settings.images and not images) or (settings.tasks and row.text("task") not in settings.tasks):
        return None
    return RawItem(
        id=str(row.number),
        where=row.where,
        question=row.text("question"),
        hint=row.maybe("hint"),
        options=row.texts("choices"),
        answers=[row.integer("answer")],
        images=images,
        category=row.maybe("subject") or "",
    )

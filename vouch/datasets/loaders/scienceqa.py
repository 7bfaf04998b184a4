"""scienceqa: ScienceQA (Lu et al. 2022), its questions with an image.

    origin: {hub: derek-thomas/ScienceQA, revision: "...", split: test}
    origin: {hub: lmms-lab/ScienceQA, revision: "...", config: ScienceQA-IMG, split: test}     the same rows

Kostumov et al. (2024) take `split: validation+test` and `tasks: [closed choice]`. The hint is the source's,
an empty text if a question has none.
"""

from typing import Annotated

from pydantic import Field

from vouch.datasets.raw import Expected, LoaderSettings, RawItem, counted
from vouch.datasets.read.files import Row, SourceFiles
from vouch.datasets.read.forms import count_each, row_reader
from vouch.pipeline.validation import EACH_ONCE

_TEST: Expected = {
    "items": {2017},
    **counted("answer", "ABCDE", 713, 726, 375, 195, 8),
    **counted("options", (2, 3, 4, 5), 677, 532, 770, 38),
}


class Settings(LoaderSettings):
    """tasks: keep only questions of these tasks (`closed choice`, `yes or no`, `true-or false`); empty: all.

    images: leave out questions without an image.
    """

    tasks: Annotated[list[str], EACH_ONCE] = Field(default=[])
    images: bool = True


count = count_each


def expected(source: SourceFiles, settings: Settings) -> Expected | None:
    if not settings.images:
        return {"items": {4241}} if source.split in ("validation", "test") and not settings.tasks else None
    if settings.tasks:
        closed = settings.tasks == ["closed choice"] and source.split == "validation+test"
        return {"items": {3953, 3954}} if closed else None
    known: dict[str, Expected] = {
        "test": _TEST, "validation": {"items": {2097}}, "validation+test": {"items": {4114}}
    }  # fmt: skip
    return known.get(source.split)


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


read = row_reader(("image", "question", "choices", "answer"), _item, ("hint", "task", "subject"))

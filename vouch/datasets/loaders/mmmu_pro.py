"""mmmu_pro: MMMU-Pro (Yue et al. 2025), in three configurations of 1,730 questions each.

    origin: {hub: MMMU/MMMU_Pro, revision: "...", config: standard (10 options), split: test}
    origin: {hub: MMMU/MMMU_Pro, revision: "...", config: standard (4 options), split: test}
    origin: {hub: MMMU/MMMU_Pro, revision: "...", config: vision, split: test}

In `vision` the question and its options are in the image. Azad et al. (2025) take the questions that really
have ten options: `{options: 10}`.
"""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from vouch.datasets.raw import Expected, LoaderSettings, RawItem, Rejected
from vouch.datasets.read.files import Row, SourceFiles, items
from vouch.datasets.read.forms import count_each, rows, table_columns
from vouch.tables.asked import IMAGE_MARK

VISION = "Answer the question in the picture."
_IMAGES = tuple(f"image_{number}" for number in range(1, 8))
_TEN = {1213, 1214}  # two counts of the same file disagree by a row


class Settings(LoaderSettings):
    """options: keep only questions with this many. images: `one` leaves out questions with several images."""

    options: int | None = Field(default=None, ge=2)
    images: Literal["any", "one"] = "any"


count = count_each


def expected(source: SourceFiles, settings: Settings) -> Expected | None:
    if source.split != "test":
        return None
    ten = source.config == "standard (10 options)"
    if settings.options is None and settings.images == "any":
        return {"items": {1730}, **({"options 10": _TEN} if ten else {})}
    if ten and settings.options == 10:
        return {"items": _TEN if settings.images == "any" else {1162, 1163}}
    return None


def read(source: SourceFiles, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    vision = "question" not in table_columns(source)
    needed = ("id", "options", "answer", *(("image",) if vision else ("question", *_IMAGES)))
    yield from items(rows(source, needed, ("subject",)), lambda row: _item(row, settings, vision))


def _item(row: Row, settings: Settings, vision: bool) -> RawItem | None:
    options = row.texts("options")
    question = VISION if vision else row.text("question")
    shown = set(IMAGE_MARK.findall("\n".join((question, *options))))
    if settings.options not in (None, len(options)) or (settings.images == "one" and len(shown) > 1):
        return None
    return RawItem(
        id=row.text("id"),
        where=row.where,
        question=question,
        options=options,
        answers=[row.letter("answer", len(options))],
        images=row.images("image") if vision else row.numbered(_IMAGES),
        category=row.maybe("subject") or "",
    )

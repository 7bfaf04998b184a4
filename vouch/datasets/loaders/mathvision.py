"""mathvision: MATH-Vision (Wang et al. 2024), problems of mathematics competitions.

    origin: {hub: MathLLMs/MathVision, revision: "...", split: test}

Azad et al. (2025) take the multiple-choice part: `{open: leave_out}`. A question may refer to `<image1>`,
`<image2>` and so on, but has one image that shows them all. In 384 questions the options are bare letters,
because the image shows the texts that they mean.
"""

from collections.abc import Collection
from typing import Literal

from vouch.datasets.raw import Expected, LoaderSettings, RawItem, counted
from vouch.datasets.read.files import Row, SourceFiles
from vouch.datasets.read.forms import count_each, row_reader

_ANSWERS = counted("answer", "ABCDE", 299, 311, 318, 326, 278)


class Settings(LoaderSettings):
    """open: whether questions without options are kept."""

    open: Literal["keep", "leave_out"] = "keep"


count = count_each


def kinds(settings: Settings) -> Collection[str]:
    return ("choice", "text") if settings.open == "keep" else ("choice",)


def expected(source: SourceFiles, settings: Settings) -> Expected | None:
    keeps_all = settings.open == "keep"
    known: dict[str, Expected] = {
        "test": {"items": {3040 if keeps_all else 1532}, "choice": {1532}, "options 5": {1532}, **_ANSWERS},
        "testmini": {"items": {304 if keeps_all else 190}, "choice": {190}},
    }
    return known.get(source.split)


def _item(row: Row, settings: Settings) -> RawItem | None:
    options = row.texts("options")
    if not options and settings.open == "leave_out":
        return None
    return RawItem(
        id=row.text("id"),
        where=row.where,
        question=row.text("question"),
        options=options,
        answers=[row.letter("answer", len(options))] if options else [],
        references=[] if options else [row.text("answer")],
        images=row.images("decoded_image"),
        category=row.maybe("subject") or "",
        kind="choice" if options else "text",
    )


read = row_reader(("id", "question", "options", "decoded_image", "answer"), _item, ("subject",))

"""mmmu: MMMU (Yue et al. 2024), exam questions of 30 subjects, with one to seven images.

    origin: {hub: lmms-lab/MMMU, revision: "...", split: validation}
    origin: {hub: MMMU/MMMU, revision: "...", config: "*", split: validation}     a configuration per subject

Azad et al. (2025) take `{open: leave_out, max_options: 5, images: one}` of validation: 794 questions. Tu et
al. (2024) take `split: dev+validation` with `open: other`: an open question becomes a choice between its
answer and `Other Answers`. The answers of the test split are hidden.
"""

import re
from collections.abc import Collection
from typing import Literal

from pydantic import Field

from vouch.datasets.raw import Expected, LoaderSettings, RawItem, Unusable, counted
from vouch.datasets.read.files import Row, SourceFiles, listed
from vouch.datasets.read.forms import count_each, row_reader
from vouch.tables.asked import IMAGE_MARK

OTHER = "Other Answers"
_IMAGES = tuple(f"image_{number}" for number in range(1, 8))
_SUBJECT = re.compile(r"[a-z]+_(.+)_\d+")
_CHOICES: Expected = {
    "items": {847},
    **counted("answer", "ABCDEFI", 242, 230, 198, 149, 25, 2, 1),
    **counted("options", (4, 3, 5, 2, 6, 9, 7), 606, 111, 91, 28, 5, 4, 2),
}
# of the split validation, by the filters open, max_options and images
_VALIDATION: dict[tuple[str, int | None, str], Expected] = {
    ("keep", None, "any"): {**_CHOICES, "items": {900}, "choice": {847}, "open": {53}},
    ("other", None, "any"): {"items": {900}},
    ("leave_out", None, "any"): _CHOICES,
    ("leave_out", 5, "any"): {"items": {836}},
    ("leave_out", 5, "one"): {"items": {794}},
}


class Settings(LoaderSettings):
    """open: questions without options are kept as open, become a choice (`other`), or are left out.

    max_options: leave out those with more options. images: `one` leaves out questions that refer to several.
    """

    open: Literal["keep", "other", "leave_out"] = "keep"
    max_options: int | None = Field(default=None, ge=2)
    images: Literal["any", "one"] = "any"


count = count_each


def kinds(settings: Settings) -> Collection[str]:
    return ("choice", "text") if settings.open == "keep" else ("choice",)


def expected(source: SourceFiles, settings: Settings) -> Expected | None:
    filters = (settings.open, settings.max_options, settings.images)
    if source.split == "validation":
        return _VALIDATION.get(filters)
    sizes = {"dev": 150, "test": 10_500, "dev+validation": 1050}
    whole = filters[0] != "leave_out" and filters[1:] == (None, "any")
    return {"items": {sizes[source.split]}} if whole and source.split in sizes else None


def _item(row: Row, settings: Settings) -> RawItem | None:
    question, options = row.text("question"), row.texts("options")
    shown = set(IMAGE_MARK.findall("\n".join((question, *options))))
    if settings.images == "one" and len(shown) > 1:
        return None
    answer = row.text("answer")
    if answer in ("?", ""):
        raise Unusable("its answer is hidden; take another split")
    is_choice, references = row.text("question_type") == "multiple-choice", list[str]()
    if is_choice:
        if settings.max_options is not None and len(options) > settings.max_options:
            return None
        answers = [row.letter("answer", len(options))]
    else:
        if settings.open == "leave_out":
            return None
        is_choice = settings.open == "other"
        options, answers = ([answer, OTHER], [0]) if is_choice else ([], [])
        # an answer, or several written as a Python list
        references = [str(text) for text in listed(answer, "answer")] if answer.startswith("[") else [answer]
    subject = _SUBJECT.fullmatch(row.text("id"))
    return RawItem(
        id=row.text("id"),
        where=row.where,
        question=question,
        options=options,
        answers=answers,
        references=references,
        images=row.numbered(_IMAGES),
        category=subject[1] if subject else "",
        kind="choice" if is_choice else "text",
    )


read = row_reader(("id", "question", "options", "answer", "question_type", *_IMAGES), _item)

"""ocrvqa: OCR-VQA (Mishra et al. 2019), open questions about book covers.

    origin: {hub: howard-hou/OCR-VQA, revision: "...", split: test}        every question
    origin: {url: ".../OCRVQA_TESTCORE.tsv", sha256: "..."}                 3,072 of them, those of VLMEvalKit

On the hub a row is a cover with parallel lists of questions and answers; each question becomes an item. In
the TSV files of VLMEvalKit, which Tu et al. (2024) are taken to have used, a row is a question. Questions
about one cover are a group.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress

from vouch.datasets.raw import Expected, LoaderSettings, RawItem, Rejected, Unusable, open_questions
from vouch.datasets.read.files import Row, SourceFiles, items, listed
from vouch.datasets.read.forms import TSV, count_rows, images_of, rows, shared_images

CORE = "OCRVQA_TESTCORE"
_CORE_QUESTIONS = 3072
COVERS = {"train": 166_022, "validation": 20_731, "test": 20_796}
_NEEDED = ("index", "image", "question", "answer")
_QUESTIONS = 5  # of a cover, on average: only for the estimate

Settings = LoaderSettings
kinds = open_questions


def expected(source: SourceFiles, settings: Settings) -> Expected | None:
    if source.has(f"{CORE}{TSV}".lower()):
        return {"items": {_CORE_QUESTIONS}}
    return {"groups": {COVERS[source.split]}} if source.split in COVERS else None


def count(source: SourceFiles, name: str, settings: Settings) -> int:
    """Rows of a TSV; otherwise about five questions per cover."""
    return count_rows(source) * (1 if source.has(TSV) else _QUESTIONS)


def read(source: SourceFiles, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    """One item per question; ids are the row's index, or the cover's and the question's number, from 1."""
    if source.has(TSV):
        shared = shared_images(source, _NEEDED)
        yield from items(rows(source, _NEEDED), lambda row: _item(row, shared))
        return
    for row in rows(source, ("image", "image_id", "questions", "answers"), ("genre",)):
        try:
            made = list(_items(row))
        except Unusable as error:
            yield Rejected(row.where, "", str(error))
        else:
            yield from made


def _item(row: Row, shared: Mapping[str, bytes]) -> RawItem:
    answer = row.text("answer")
    references = [answer]
    if answer.startswith("["):
        with suppress(Unusable):  # a title may also begin like that
            references = [str(text) for text in listed(answer, "answer")]
    images = images_of(row, shared)
    return RawItem(
        id=row.text("index"),
        where=row.where,
        question=row.text("question"),
        references=references,
        images=images,
        kind="text",
        group=hashlib.sha256(b"".join(images)).hexdigest()[:32] if images else None,
    )


def _items(row: Row) -> Iterator[RawItem]:
    questions, answers, cover = row.texts("questions"), row.texts("answers"), row.text("image_id")
    if len(questions) != len(answers):
        raise Unusable(f"has {len(questions)} questions, but {len(answers)} answers")
    images = row.images("image")
    for number, (question, answer) in enumerate(zip(questions, answers, strict=True), start=1):
        yield RawItem(
            id=f"{cover}-{number}",
            where=f"{row.where} question {number}",
            question=question,
            references=[answer],
            images=images,
            category=row.maybe("genre") or "",
            kind="text",
            group=cover,
        )

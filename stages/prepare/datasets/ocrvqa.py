"""ocrvqa: OCR-VQA (Mishra et al. 2019), open questions about book covers.

    origin: {hub: howard-hou/OCR-VQA, revision: "...", split: test}

A row is a cover with parallel lists of questions and answers; each question becomes an item, and those about
one cover are a group.
"""

from collections.abc import Iterator

from stages.prepare.raw import Expected, LoaderSettings, RawItem, Rejected, Unusable
from stages.sources.reading.files import Source
from stages.sources.reading.row import Row
from stages.sources.reading.rows import count_rows, rows

COVERS = {"train": 166_022, "validation": 20_731, "test": 20_796}
_QUESTIONS = 5  # of a cover, about: for the estimate alone


class Settings(LoaderSettings):
    """Nothing of its own."""


def expected(source: Source, settings: Settings) -> Expected | None:
    """The number of covers."""
    return {"groups": {COVERS[source.split]}} if source.split in COVERS else None


def count(source: Source, name: str, settings: Settings) -> int:
    """About: five questions for each cover."""
    return _QUESTIONS * count_rows(source)


def read(source: Source, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    """One item per question of each row; ids are the cover's and the question's number, from 1."""
    for row in rows(source, ("image", "image_id", "questions", "answers"), ("genre",)):
        try:
            made = list(_items(row))
        except Unusable as error:
            yield Rejected(row.where, "", str(error))
        else:
            yield from made


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

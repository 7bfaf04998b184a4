"""docvqa: DocVQA (Mathew et al. 2021), open questions about scanned documents.

    origin: {hub: lmms-lab/DocVQA, revision: "...", config: DocVQA, split: validation}

The answers of the test split are hidden.
"""

from collections.abc import Iterator

from vouch.datasets.raw import Expected, LoaderSettings, RawItem, Rejected, Unusable, open_questions
from vouch.datasets.read.files import Source
from vouch.datasets.read.row import Row, items
from vouch.datasets.read.rows import count_each, rows

SIZES = {"validation": 5349, "test": 5188}
_NEEDED = ("questionId", "question", "image", "answers")

Settings = LoaderSettings
kinds = open_questions
count = count_each


def expected(source: Source, settings: Settings) -> Expected | None:
    """The sizes of the splits."""
    return {"items": {SIZES[source.split]}} if source.split in SIZES else None


def read(source: Source, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    """One item per row."""
    yield from items(rows(source, _NEEDED, ("question_types",)), _item)


def _item(row: Row) -> RawItem:
    if row.values["answers"] is None:
        raise Unusable("its answers are hidden; take another split")
    return RawItem(
        id=row.text("questionId"),
        where=row.where,
        question=row.text("question"),
        references=row.texts("answers"),
        images=row.images("image"),
        category=", ".join(sorted(row.texts("question_types"))) if row.values.get("question_types") else "",
        kind="text",
    )

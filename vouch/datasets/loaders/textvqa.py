"""textvqa: TextVQA (Singh et al. 2019), open questions about text in photographs, answered by ten people.

    origin: {hub: lmms-lab/textvqa, revision: "...", split: validation}

All ten answers are kept, repeated ones too: the score counts them. Those of the test split are hidden.
"""

from collections.abc import Iterator

from vouch.datasets.raw import Expected, LoaderSettings, RawItem, Rejected, Unusable, open_questions
from vouch.datasets.read.files import Source
from vouch.datasets.read.row import Row, items
from vouch.datasets.read.rows import count_each, rows

SIZES = {"train": 34_602, "validation": 5000, "test": 5734}
_NEEDED = ("image", "question_id", "question", "answers")

Settings = LoaderSettings
kinds = open_questions
count = count_each


def expected(source: Source, settings: Settings) -> Expected | None:
    """The sizes of the splits."""
    return {"items": {SIZES[source.split]}} if source.split in SIZES else None


def read(source: Source, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    """One item per row."""
    yield from items(rows(source, _NEEDED), _item)


def _item(row: Row) -> RawItem:
    references = row.texts("answers")
    if not any(references):
        raise Unusable("its answers are hidden; take another split")
    return RawItem(
        id=row.text("question_id"),
        where=row.where,
        question=row.text("question"),
        references=references,
        images=row.images("image"),
        kind="text",
    )

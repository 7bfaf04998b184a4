"""chartqa: ChartQA (Masry et al. 2022), open questions about charts, written by people or by a program.

origin: {hub: lmms-lab/ChartQA, revision: "...", split: test}
"""

from collections.abc import Iterator

from vouch.datasets.raw import Expected, LoaderSettings, RawItem, Rejected, open_questions
from vouch.datasets.read.files import Source
from vouch.datasets.read.row import Row, items
from vouch.datasets.read.rows import count_each, rows

_NEEDED = ("type", "question", "answer", "image")

Settings = LoaderSettings
kinds = open_questions
count = count_each


def expected(source: Source, settings: Settings) -> Expected | None:
    """The test set, half of it written by people."""
    if source.split != "test":
        return None
    return {"items": {2500}, "category human_test": {1250}, "category augmented_test": {1250}}


def read(source: Source, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    """One item per row; ids are the rows' numbers, from 0."""
    yield from items(rows(source, _NEEDED), _item)


def _item(row: Row) -> RawItem:
    answer = row.values["answer"]  # a text or a list, depending on the edition
    return RawItem(
        id=str(row.number),
        where=row.where,
        question=row.text("question"),
        references=row.texts("answer") if isinstance(answer, list) else [row.text("answer")],
        images=row.images("image"),
        category=row.text("type"),
        kind="text",
    )

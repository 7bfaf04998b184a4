"""ai2d: AI2D (Kembhavi et al. 2016), questions about science diagrams.

    origin: {url: ".../ai2d-all.zip", sha256: "..."}                        every question
    origin: {hub: lmms-lab/ai2d, revision: "...", split: test}              letters painted over labels
    origin: {hub: lmms-lab/ai2d-no-mask, revision: "...", split: test}      the same questions, plain diagrams

Accuracies with painted letters and without differ by several points, so say which you use. For the archive,
`painted` decides. Kostumov et al. (2024) took the plain diagrams, in an unknown order of files; here files
are sorted.
"""

from collections.abc import Iterator
from pathlib import Path

from vouch.datasets.raw import Expected, LoaderSettings, RawItem, Rejected
from vouch.datasets.read.files import File, Row, SourceFiles, Tree, items
from vouch.datasets.read.forms import PARQUET, count_rows, rows
from vouch.pipeline.errors import UserError

_NEEDED = ("question", "options", "answer", "image")


class Settings(LoaderSettings):
    """painted: take the archive's diagrams with letters painted over their labels, if there are such."""

    painted: bool = False


def expected(source: SourceFiles, settings: Settings) -> Expected | None:
    if source.split:
        return {"items": {3088}} if source.split == "test" else None
    return None if source.has(PARQUET) else {"items": {15_501, 15_502}}


def count(source: SourceFiles, name: str, settings: Settings) -> int:
    if source.has(PARQUET):
        return count_rows(source)
    with Tree(source) as tree:
        return sum(1 for _ in _questions(tree))


def read(source: SourceFiles, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    if source.has(PARQUET):
        yield from items(rows(source, _NEEDED), _item)
        return
    with Tree(source) as tree:
        yield from items(_questions(tree), lambda row: _archived(row, tree, settings.painted))


def _item(row: Row) -> RawItem:
    return RawItem(
        id=str(row.number),
        where=row.where,
        question=row.text("question"),
        options=row.texts("options"),
        answers=[row.integer("answer")],
        images=row.images("image"),
        category="diagram",
    )


def _questions(tree: Tree) -> Iterator[Row]:
    """The questions of all files, with the text of each under `question`."""
    files = [
        name for name in tree.names if name.endswith(".json") and f"/{name}".split("/")[-2] == "questions"
    ]
    if not files:
        raise UserError("ai2d: no questions/*.json in the archive or folder; correct `source` or `origin`")
    for name in files:
        value = tree.json(name)
        questions = value.get("questions") if isinstance(value, dict) else None
        if not isinstance(questions, dict):
            raise UserError(f"{name}: no object `questions`; fetch it again")
        for number, (text, entry) in enumerate(questions.items()):
            values = {**entry, "question": text} if isinstance(entry, dict) else {}
            yield Row(
                values, f"{name} {values.get('questionId', text)!s:.60}", number, File(name, Path(name))
            )


def _archived(row: Row, tree: Tree, painted: bool) -> RawItem:
    folder, _, stem = f"/{row.file.name}".removesuffix(".json").rpartition("/questions/")
    images = "abcImages" if painted and row.values.get("abcLabel") else "images"
    return RawItem(
        id=row.text("questionId"),
        where=row.where,
        question=row.text("question"),
        options=row.texts("answerTexts"),
        answers=[row.integer("correctAnswer")],
        images=[tree.read(f"{folder}/{images}/{stem}".lstrip("/"))],
        category="diagram",
    )

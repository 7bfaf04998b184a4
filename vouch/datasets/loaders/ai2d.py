"""ai2d: AI2D (Kembhavi et al. 2016), questions about science diagrams.

    origin: {url: ".../ai2d-all.zip", sha256: "..."}                        every question
    origin: {hub: lmms-lab/ai2d, revision: "...", split: test}              letters painted over labels
    origin: {hub: lmms-lab/ai2d-no-mask, revision: "...", split: test}      the same questions, plain diagrams

Scores with painted letters and without differ by several points: say which. In the archive `painted` chooses;
Kostumov et al. (2024) took the plain ones, in an order of files that is not known: here they are sorted.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from vouch.datasets.raw import Expected, LoaderSettings, RawItem, Rejected, Unusable
from vouch.datasets.read.files import Source
from vouch.datasets.read.row import Row, items
from vouch.datasets.read.rows import PARQUET, count_rows, rows
from vouch.datasets.read.tree import Tree
from vouch.pipeline.errors import UserError

_NEEDED = ("question", "options", "answer", "image")


class Settings(LoaderSettings):
    """painted: of the archive, the diagrams with letters painted over their labels where there are such."""

    painted: bool = False


def expected(source: Source, settings: Settings) -> Expected | None:
    """All questions of the archive, or the test set."""
    if source.split:
        return {"items": {3088}} if source.split == "test" else None
    return None if _in_tables(source) else {"items": {15_501, 15_502}}


def count(source: Source, name: str, settings: Settings) -> int:
    """Rows, or questions of the archive."""
    if _in_tables(source):
        return count_rows(source)
    with Tree(source) as tree:
        return sum(len(_questions(tree, file)) for file in _question_files(tree))


def read(source: Source, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    """One item per question."""
    if _in_tables(source):
        yield from items(rows(source, _NEEDED), _item)
        return
    with Tree(source) as tree:
        for file in _question_files(tree):
            for text, entry in _questions(tree, file).items():
                known = str(entry.get("questionId")) if isinstance(entry, Mapping) else ""
                try:
                    yield _archived(tree, file, text, entry, settings)
                except Unusable as error:
                    yield Rejected(file, known, str(error))


def _in_tables(source: Source) -> bool:
    return any(file.name.endswith(PARQUET) for file in source.files)


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


def _question_files(tree: Tree) -> list[str]:
    names = [n for n in tree.names if n.endswith(".json") and f"/{n}".split("/")[-2] == "questions"]
    if not names:
        raise UserError("ai2d: no questions/*.json in the archive or folder; correct `source` or `origin`")
    return names


def _questions(tree: Tree, file: str) -> dict[str, Any]:
    value = tree.json(file)
    questions = value.get("questions") if isinstance(value, dict) else None
    if not isinstance(questions, dict):
        raise UserError(f"{file}: has no questions; fetch it again")
    return questions


def _archived(tree: Tree, file: str, text: str, entry: Any, settings: Settings) -> RawItem:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("questionId"), str):
        raise Unusable(f"question {text!r:.60} has no questionId")
    options, answer = entry.get("answerTexts"), entry.get("correctAnswer")
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise Unusable("answerTexts is not a list of texts")
    if not isinstance(answer, int) or isinstance(answer, bool):
        raise Unusable("correctAnswer is not an index")
    folder, _, stem = f"/{file}".removesuffix(".json").rpartition("/questions/")
    pictures = "abcImages" if settings.painted and entry.get("abcLabel") else "images"
    return RawItem(
        id=entry["questionId"],
        where=f"{file} {entry['questionId']}",
        question=text,
        options=options,
        answers=[answer],
        images=[tree.picture(f"{folder}/{pictures}/{stem}".lstrip("/"))],
        category="diagram",
    )

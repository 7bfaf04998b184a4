"""seedbench: SEED-Bench (Li et al. 2023), its questions about images.

    origin: {hub: AILab-CVC/SEED-Bench, revision: "...", files: [SEED-Bench.json, SEED-Bench-image.zip]}
    origin: {hub: lmms-lab/SEED-Bench, revision: "...", split: test}

Question types 1 to 9 are about one image; types 10 to 12, about a video, are left out. Their names are those
that describe the questions: 4,649 of type 3 are on attributes, 978 of type 4 on location. The list at the end
of the authors' file had these two exchanged until they corrected it, so it is not read.
"""

from collections.abc import Iterator

from vouch.datasets.raw import Expected, LoaderSettings, RawItem, Rejected, Unusable
from vouch.datasets.read.files import Row, SourceFiles, Tree, items
from vouch.datasets.read.forms import PARQUET, count_rows, rows

QUESTIONS = "SEED-Bench.json"
_TYPES = """Scene Understanding, Instance Identity, Instance Attributes, Instance Location,
Instances Counting, Spatial Relation, Instance Interaction, Visual Reasoning, Text Understanding"""
TYPES = dict(enumerate(map(str.strip, _TYPES.split(",")), start=1))
_OPTIONS = ("choice_a", "choice_b", "choice_c", "choice_d")
_NEEDED = ("question_id", "question_type_id", "question", *_OPTIONS, "answer", "image")

Settings = LoaderSettings


def expected(source: SourceFiles, settings: Settings) -> Expected | None:
    return {"items": {14_233}}


def count(source: SourceFiles, name: str, settings: Settings) -> int:
    """Questions, including those about videos."""
    if source.has(PARQUET):
        return count_rows(source)
    with Tree(source) as tree:
        return sum(1 for _ in tree.rows(QUESTIONS, "questions"))


def read(source: SourceFiles, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    if source.has(PARQUET):
        yield from items(rows(source, _NEEDED), lambda row: _item(row, None))
        return
    with Tree(source) as tree:
        yield from items(tree.rows(QUESTIONS, "questions"), lambda row: _item(row, tree))


def _item(row: Row, tree: Tree | None) -> RawItem | None:
    """tree: the files with the images, None if the rows have them."""
    kind = row.integer("question_type_id")
    if kind not in TYPES:
        return None
    return RawItem(
        id=row.text("question_id"),
        where=row.where,
        question=row.text("question"),
        options=[row.text(column) for column in _OPTIONS],
        answers=[row.letter("answer", len(_OPTIONS))],
        images=row.images("image") if tree is None else [_image(row, tree)],
        category=TYPES[kind],
    )


def _image(row: Row, tree: Tree) -> bytes:
    wanted = f"SEED-Bench-image/{row.text('data_id')}"
    name = tree.find(wanted)
    if name is None:
        raise Unusable(f"no image {wanted:.120} among the files; add its archive, SEED-Bench-image.zip")
    return tree.read(name)

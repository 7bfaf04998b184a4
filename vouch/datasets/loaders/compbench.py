"""compbench: six comparative sets of MLLM-CompBench (Kil et al. 2024), used by PARC (Schmalfuss et al. 2025).

    source: FOLDER      with the annotations and the images (see PLACE);  settings: {set: mit_state}

An item has two images, left and right, and the options Left and Right. The category is the source's own type
(`State`, `Color`, ...), because PARC's table sometimes swaps the names of the state and attribute sets. Rows
without an answer are left out, as are rows of type `None` in the attribute sets, as in the released splits.
With `annotations: all`, the rows are those that PARC counts (Table A5): an attribute set has its rows of type
`None` as well, and a row of type `State` without an answer is rejected.
"""

from collections.abc import Iterator
from typing import Literal

from vouch.datasets.raw import Expected, LoaderSettings, RawItem, Rejected, Unusable
from vouch.datasets.read.files import Row, SourceFiles, Tree, items

PLACE = (
    "get the annotations and the processed images that the README of github.com/RaptorMai/MLLM-CompBench "
    "links, put both into one folder with their own subfolders (st_label, vaw_label, depth_label, "
    "fashion_label; the images under the paths that the annotations name), and name that as `source`; "
    "docs/datasets.md says more"
)
_AGREE = 2  # parts of a path: another crop of the same photograph may have the same file name
SIDES = ("Left", "Right")
Name = Literal["mit_attribute", "mit_state", "vaw_attribute", "vaw_state", "depth", "fashion"]
ALL = "all"
# set -> its file, and the counts of its items
SETS: dict[Name, tuple[str, Expected]] = {
    "mit_attribute": ("State_Transform_merged0_0_1000.json", {"items": {183}}),
    # 597 rows, two of them without an answer
    "mit_state": ("State_Transform_merged0_0_1000.json", {"items": {595, 597}}),
    "vaw_attribute": ("VAW_0_3133.json", {"items": {893}}),
    "vaw_state": ("VAW_0_3133.json", {"items": {470}}),
    "depth": ("depth_0_529_rebalanced.json", {"items": {1858}, "answer A": {929}, "answer B": {929}}),
    "fashion": ("fashion_0_179.json", {"items": {2435}}),
}
# the counts that are others with `annotations: all`
ALL_ITEMS: dict[Name, Expected] = {
    "mit_attribute": {"items": {197}},
    "mit_state": {"items": {597}},
    "vaw_attribute": {"items": {940}},
}


class Settings(LoaderSettings):
    """set: the name of one of the six sets. annotations: `released`, the rows of the released splits, or
    `all`, every row with an answer or a type."""

    set: Name
    annotations: Literal["released", "all"] = "released"


def expected(source: SourceFiles, settings: Settings) -> Expected | None:
    counts = SETS[settings.set][1]
    return ALL_ITEMS.get(settings.set, counts) if settings.annotations == ALL else counts


def count(source: SourceFiles, name: str, settings: Settings) -> int:
    with Tree(source) as tree:
        return sum(1 for _ in _rows(tree, settings))


def read(source: SourceFiles, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    """One item per annotation; ids are their numbers in the file, from 0."""
    with Tree(source) as tree:
        yield from items(_rows(tree, settings), lambda row: _item(row, tree, settings.set))


def _rows(tree: Tree, settings: Settings) -> Iterator[Row]:
    which, every = settings.set, settings.annotations == ALL
    for row in tree.rows(SETS[which][0]):
        kind = row.values.get("type")
        typed = kind not in ("None", None)
        belongs = True
        if which.endswith("_attribute"):
            belongs = kind != "State" and (typed or every)
        elif which.endswith("_state"):
            belongs = kind == "State"
        if belongs and (row.values.get("answer") in SIDES or (every and typed)):
            yield row


def _item(row: Row, tree: Tree, which: Name) -> RawItem:
    if row.values.get("answer") not in SIDES:
        raise Unusable("has no answer; leave such rows out with annotations: released")
    return RawItem(
        id=str(row.number),
        where=row.where,
        question=row.text("question"),
        options=SIDES,
        answers=[SIDES.index(row.text("answer"))],
        images=[_image(row.text(column), tree) for column in ("image_1", "image_2")],
        category=row.maybe("type") or which,
    )


def _image(path: str, tree: Tree) -> bytes:
    try:
        return tree.read(tree.closest(path, _AGREE))
    except Unusable as error:
        raise Unusable(f"{error}; the images must be CompBench's processed ones: docs/datasets.md") from None

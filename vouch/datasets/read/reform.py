"""The 61 sets of ReForm-Eval (Li et al. 2023): reform.csv, which says for each

set           its name here
dimension     of the eight of the benchmark
family        its task family: the templates are reform_FAMILY, with _likelihood and others after it
shape         how its rows look, see reform_rows.py, reform_drawn.py, reform_dialogues.py
file          in the folder huggingface_data of Aweminus/ReForm-Eval-Data
version, split, dataset_name    what the file says of itself; empty where it says nothing
full, sample  rows (dialogues, where it holds such) of the whole set, as the paper counts them, and of the
              part that the authors ran; several where they contradict each other, empty where unknown.
              The smaller ones follow from the printed accuracies, which are multiples of their inverse
box           thickness of the boxes to draw, and how the file gives them: corners, or corner and size
metric        choice, ocr, kie (key information) or cider
"""

import csv
from dataclasses import dataclass
from pathlib import Path

from vouch.pipeline.errors import UserError, did_you_mean

TABLE = Path(__file__).with_name("reform.csv")


@dataclass(frozen=True)
class Set:
    """A row of the table. shape: its name, then words for it. box: empty, or thickness and form."""

    name: str
    dimension: str
    family: str
    shape: tuple[str, ...]
    file: str
    version: str
    split: str
    dataset_name: str
    full: tuple[int, ...]
    sample: tuple[int, ...]
    box: tuple[str, ...]
    metric: str


def sets() -> dict[str, Set]:
    """All sets, in the order of the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {row["set"]: _set(**row) for row in csv.DictReader(file)}


def find_set(name: str, where: str) -> Set:
    """The set of that name. Raises UserError; `where` is the parameter that names it."""
    known = sets()
    if name not in known:
        raise UserError(f"{where}: unknown set {name:.60}; {did_you_mean(name, list(known))}")
    return known[name]


def _set(set: str, shape: str, full: str, sample: str, box: str, **texts: str) -> Set:
    return Set(
        name=set,
        shape=tuple(shape.split()),
        full=tuple(map(int, full.split())),
        sample=tuple(map(int, sample.split())),
        box=tuple(box.split()),
        **texts,
    )

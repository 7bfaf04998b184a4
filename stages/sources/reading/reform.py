"""The 61 sets of ReForm-Eval (Li et al. 2023): reform.csv, which says for each

set           its name here
dimension     of the eight of the benchmark
family        its task family: the styles are reform_FAMILY, with _likelihood and others after it
shape         how its rows look: a function of stages/prepare/datasets/reform.py, and words for it
file          in the folder huggingface_data of Aweminus/ReForm-Eval-Data
version, split, dataset_name    what the file says of itself; empty where it says nothing
full, sample  rows (dialogues, where it holds such) of the whole set, as the paper counts them, and of the
              part that the authors ran; several where they contradict each other, empty where unknown.
              The smaller ones follow from the printed accuracies, which are multiples of their inverse
box           thickness of the boxes to draw, and how the file gives them: corners, or corner and size
metric        choice, ocr, kie (key information) or cider
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw

from stages.prepare.raw import Unusable
from stages.runtime.errors import UserError, did_you_mean

TABLE = Path("stages/sources/reading/reform.csv")
# The colour goes by the number of the box; there are no more.
_COLOURS = ((255, 0, 0), (0, 128, 0), (0, 0, 255), (255, 215, 0))


@dataclass(frozen=True)
class Set:
    """A row of the table. shape: the function's name, then its words. box: empty, or thickness and form."""

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
        raise UserError(f"{where}: unknown set {name}; {did_you_mean(name, list(known))}")
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


def with_boxes(data: bytes, boxes: Sequence[Sequence[float]], thickness: int, form: str) -> bytes:
    """The picture with its boxes drawn, as PNG. Raises Unusable.

    form: `corners` (x1, y1, x2, y2) or `size` (x, y, width, height), in pixels. Lines run along the middle
    of their thickness; corners are square, where OpenCV, which the authors used, rounds them.
    """
    if len(boxes) > len(_COLOURS):
        raise Unusable(f"has {len(boxes)} boxes, of which only {len(_COLOURS)} have colours")
    try:
        with Image.open(io.BytesIO(data)) as opened:
            image = opened.convert("RGB")
    except Exception as error:  # Pillow's decoders raise almost anything on damaged data
        raise Unusable(f"has an image that cannot be decoded ({error!s:.80})") from None
    pen, out = ImageDraw.Draw(image), thickness // 2
    for box, colour in zip(boxes, _COLOURS, strict=False):
        x1, y1, x2, y2 = _corners(box, form)
        pen.rectangle((x1 - out, y1 - out, x2 + out, y2 + out), outline=colour, width=thickness)
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    return buffer.getvalue()


def _corners(box: Sequence[float], form: str) -> tuple[int, int, int, int]:
    if not isinstance(box, Sequence) or len(box) != 4 or any(not isinstance(one, int | float) for one in box):
        raise Unusable(f"has the box {box!r:.60}, which is not four numbers")
    x, y, across, down = box
    x2, y2 = (across, down) if form == "corners" else (x + across, y + down)
    if x2 < x or y2 < y:
        raise Unusable(f"has the box {box!r:.60}, whose corners stand the other way round")
    return int(x), int(y), int(x2), int(y2)

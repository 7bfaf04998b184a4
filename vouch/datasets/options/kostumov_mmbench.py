"""MMBench to four options (Kostumov et al. 2024).

faithful: Python's generator with one seed for the whole file. Row by row, as many rows are drawn with
replacement as options are missing, from all rows, those already filled up included; then for each drawn
row one of its four cells. The first goes to D, the second to C. A cell may be missing itself, may repeat
an option or the answer, and rotated copies get different ones. clean: none of this.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

from vouch.datasets.options.choice import Choice, resized
from vouch.pipeline.errors import UserError

SIZE = 4


def faithful(rows: Sequence[Choice], seed: int) -> list[Choice]:
    """Draws as the authors' code does. Raises UserError for a row with more than four options."""
    rng = random.Random(seed)
    cells = []
    for row in rows:
        if len(row.options) > SIZE:
            raise UserError(
                f"item {row.id}: has {len(row.options)} options, but kostumov_mmbench knows {SIZE} at most; "
                "take another scheme"
            )
        cells.append([*row.options, *[None] * (SIZE - len(row.options))])
    for row, own in zip(rows, cells, strict=True):
        drawn = rng.choices(cells, k=SIZE - len(row.native))
        for place, other in zip(range(SIZE - 1, -1, -1), drawn, strict=False):
            own[place] = rng.choice(other)
    return [replace(row, options=tuple(own)) for row, own in zip(rows, cells, strict=True)]


def clean(rows: Sequence[Choice], seed: int) -> list[Choice]:
    """Four options each, see vouch/datasets/options/choice.py."""
    return resized(rows, SIZE, seed)

"""ScienceQA to four options (Kostumov et al. 2024).

faithful: Python's generator with one seed for the whole file. A row with fewer options gets one option of
a random row for each that is missing, drawn from the rows as the source has them, at the end. Of five,
the correct one comes first and three are drawn with replacement from the four others, so that the answer
is always A and a wrong option may stand twice. clean: one wrong option goes, the others keep their order.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

from vouch.datasets.options.choice import Choice, resized
from vouch.pipeline.errors import UserError

SIZE = 4


def faithful(rows: Sequence[Choice], seed: int) -> list[Choice]:
    """Draws as the authors' code does. Raises UserError for more than five options or several answers."""
    rng = random.Random(seed)
    return [_faithful(row, rows, rng) for row in rows]


def _faithful(row: Choice, rows: Sequence[Choice], rng: random.Random) -> Choice:
    native = row.native
    if len(native) > SIZE + 1 or len(row.answers) != 1:
        raise UserError(
            f"item {row.id}: has {len(native)} options and {len(row.answers)} correct ones, but "
            f"kostumov_scienceqa knows {SIZE + 1} at most and one; take another scheme"
        )
    if len(native) > SIZE:
        (answer,) = row.answers
        wrong = [option for index, option in enumerate(native) if index != answer]
        return replace(row, options=(native[answer], *rng.choices(wrong, k=SIZE - 1)), answers=(0,))
    drawn = rng.choices(rows, k=SIZE - len(native))
    return replace(row, options=(*native, *(rng.choice(other.native) for other in drawn)))


def clean(rows: Sequence[Choice], seed: int) -> list[Choice]:
    """Four options each, see vouch/datasets/options/choice.py."""
    return resized(rows, SIZE, seed)

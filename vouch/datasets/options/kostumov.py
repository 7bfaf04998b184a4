"""The sets of Kostumov et al. (2024) to four options: drawn as their code does, or without its defects.

A faithful draw uses Python's generator with one seed for the whole file. A clean one is the same for all
copies of a question and does not depend on the order of the source; for MMBench and ScienceQA see
choice.py.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from vouch.datasets.options.choice import Choice, resized
from vouch.pipeline.errors import UserError

SIZE = 4
DIGITS = ("Zero", "One", "Two", "Three", "Four", "Five")


def mmbench(rows: Sequence[Choice], seed: int) -> list[Choice]:
    """Fills rows up with cells of rows drawn with replacement, those already filled up included.

    The first goes to D, the second to C. A cell may be missing itself, may repeat an option or the answer,
    and rotated copies get different ones. Raises UserError for a row with more than four options.
    """
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


def scienceqa(rows: Sequence[Choice], seed: int) -> list[Choice]:
    """Fills rows up at the end with options of rows as the source has them, drawn with replacement.

    Of five options the correct one comes first and three are drawn with replacement from the four others,
    so that the answer is always A and a wrong option may stand twice. Raises UserError for more than five
    options or several answers.
    """
    rng = random.Random(seed)
    found = []
    for row in rows:
        native = row.native
        if len(native) > SIZE + 1 or len(row.answers) != 1:
            raise UserError(
                f"item {row.id}: has {len(native)} options and {len(row.answers)} correct ones, but "
                f"kostumov_scienceqa knows {SIZE + 1} at most and one; take another scheme"
            )
        if len(native) > SIZE:
            (answer,) = row.answers
            wrong = [option for index, option in enumerate(native) if index != answer]
            options = (native[answer], *rng.choices(wrong, k=SIZE - 1))
            found.append(replace(row, options=options, answers=(0,)))
        else:
            drawn = rng.choices(rows, k=SIZE - len(native))
            found.append(replace(row, options=(*native, *(rng.choice(other.native) for other in drawn))))
    return found


def oodcv(rows: Sequence[Choice], seed: int) -> list[Choice]:
    """Two digits that the source's two options end in, and two more from 0 to 5, as words, shuffled.

    They are drawn with replacement: a quarter of the rows have one twice. Raises UserError for a row that
    is not two digits.
    """
    rng = random.Random(seed)
    found = []
    for row in rows:
        digits, others = _digits(row)
        found.append(_shuffled(row, [*digits, *rng.choices(others, k=2)], digits[row.answers[0]], rng))
    return found


def oodcv_clean(rows: Sequence[Choice], seed: int) -> list[Choice]:
    """Four different digits, by a lot of the item's own. Raises UserError likewise."""
    found = []
    for row in rows:
        digits, others = _digits(row)
        rng = random.Random(f"{seed}/{row.group}/{sorted(digits)}")
        found.append(_shuffled(row, [*digits, *rng.sample(others, 2)], digits[row.answers[0]], rng))
    return found


def _digits(row: Choice) -> tuple[list[int], list[int]]:
    """The digits of the source's options, and those that may be added."""
    last = [option.split()[-1] if option.split() else "" for option in row.native]
    digits = [int(word) for word in last if word.isdecimal() and int(word) < len(DIGITS)]
    if not len(digits) == len(row.options) == len(set(digits)) == 2 or len(row.answers) != 1:
        raise UserError(
            f"item {row.id}: its options are {list(row.options)!s:.80}, but kostumov_oodcv needs two "
            f"that end in different digits below {len(DIGITS)}, and one answer; take another scheme"
        )
    return digits, [digit for digit in range(len(DIGITS)) if digit not in digits]


def _shuffled(row: Choice, digits: list[int], right: int, rng: random.Random) -> Choice:
    rng.shuffle(digits)
    return replace(row, options=tuple(DIGITS[digit] for digit in digits), answers=(digits.index(right),))


def to_four(rows: Sequence[Choice], seed: int) -> list[Choice]:
    """Four options each, see choice.py."""
    return resized(rows, SIZE, seed)


class Draws(NamedTuple):
    """How a scheme draws in either protocol, given all choices in the order of the source and a seed."""

    faithful: Callable[[Sequence[Choice], int], list[Choice]]
    clean: Callable[[Sequence[Choice], int], list[Choice]]


SCHEMES: Mapping[str, Draws] = {
    "kostumov_mmbench": Draws(mmbench, to_four),
    "kostumov_oodcv": Draws(oodcv, oodcv_clean),
    "kostumov_scienceqa": Draws(scienceqa, to_four),
}

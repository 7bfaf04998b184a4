"""OODCV-VQA's digits to four options (Kostumov et al. 2024).

The source gives two options whose last word is a digit. faithful: Python's generator with one seed for
the whole file draws two more from 0 to 5 without those two, with replacement, then shuffles the four; a
quarter of the rows have the same wrong digit twice. clean: two different ones, and a shuffle that depends
on the item alone. Both write the digits as words.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

from vouch.datasets.options.choice import Choice
from vouch.pipeline.errors import UserError

WORDS = ("Zero", "One", "Two", "Three", "Four", "Five")
ADDED = 2


def faithful(rows: Sequence[Choice], seed: int) -> list[Choice]:
    """Draws as the authors' code does. Raises UserError for a row that is not two digits."""
    rng = random.Random(seed)
    found = []
    for row in rows:
        digits, others = _digits(row)
        found.append(_shuffled(row, [*digits, *rng.choices(others, k=ADDED)], digits[row.answers[0]], rng))
    return found


def clean(rows: Sequence[Choice], seed: int) -> list[Choice]:
    """Four different digits. Raises UserError for a row that is not two digits."""
    found = []
    for row in rows:
        digits, others = _digits(row)
        rng = random.Random(f"{seed}/{row.group}/{sorted(digits)}")
        found.append(_shuffled(row, [*digits, *rng.sample(others, ADDED)], digits[row.answers[0]], rng))
    return found


def _digits(row: Choice) -> tuple[list[int], list[int]]:
    """The digits of the source's options, and those that may be added."""
    last = [option.split()[-1] if option.split() else "" for option in row.native]
    digits = [int(word) for word in last if word.isdecimal() and int(word) < len(WORDS)]
    if not len(digits) == len(row.options) == len(set(digits)) == ADDED or len(row.answers) != 1:
        raise UserError(
            f"item {row.id}: its options are {list(row.options)!s:.80}, but kostumov_oodcv needs two "
            f"that end in different digits below {len(WORDS)}, and one answer; take another scheme"
        )
    return digits, [digit for digit in range(len(WORDS)) if digit not in digits]


def _shuffled(row: Choice, digits: list[int], right: int, rng: random.Random) -> Choice:
    rng.shuffle(digits)
    return replace(row, options=tuple(WORDS[digit] for digit in digits), answers=(digits.index(right),))

"""What has a threshold of its own: Mondrian conformal prediction (Vovk et al. 2005, section 4.5).

marginal  all rows share one threshold
class     each letter has that of the rows whose answer stands at it: coverage whatever letter is right
category  each category of the items
options   each number of options

A stratum with too few calibration rows has an infinite threshold: its sets hold every option.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.conformal.ranked import Ranked
from vouch.metrics.responses import Ints


class Strata(NamedTuple):
    """answers [n]: stratum that a row calibrates. rows [n]: whose sets it gets; None: that of each letter."""

    answers: NDArray[np.integer]
    rows: NDArray[np.integer] | None
    number: int


def _of_rows(numbers: Ints) -> Strata:
    found, rows = np.unique(numbers, return_inverse=True)
    return Strata(rows, rows, len(found))


def _marginal(ranked: Ranked, _: Ints) -> Strata:
    zeros = np.zeros(len(ranked), dtype=np.uint8)
    return Strata(zeros, zeros, 1)


def _class(ranked: Ranked, _: Ints) -> Strata:
    first = ranked.answers.argmax(axis=1)
    letters = ranked.letters[np.arange(len(first)), first]
    return Strata(letters, None, ranked.logits.shape[1])


def _category(_: Ranked, categories: Ints) -> Strata:
    return _of_rows(categories)


def _options(ranked: Ranked, _: Ints) -> Strata:
    return _of_rows(ranked.options.astype(np.int64))


STRATA: dict[str, Callable[[Ranked, Ints], Strata]] = {
    "marginal": _marginal,
    "class": _class,
    "category": _category,
    "options": _options,
}
"""Kinds of calibration; arguments: the rows, the category of each row's item."""

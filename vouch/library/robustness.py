"""What a change of the prompt does to answers (Schmalfuss et al. 2025, PARC)."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vouch.library.arrays import (
    Floats,
    choices_of,
    groups_of,
    numeric,
    plain,
    rows_fit,
    shares_of,
    whole,
)
from vouch.library.figure import Estimate, Result, mean_of
from vouch.metrics.robustness.metrics import calibrated, reliability

MOST_OPTIONS = 1_000_000


@dataclass(frozen=True, repr=False)
class Robustness(Result):
    """accuracy, accuracy_varied: under the original and the changed prompts. consistency: share of changed
    prompts answered as the answer to the original one demands. reliability: (2 accuracy^m - 1) certainty of
    the changed prompts; None without certainty.
    """

    rows: int
    accuracy: Estimate
    accuracy_varied: Estimate
    consistency: Estimate
    consistency_calibrated: float
    reliability: float | None


def robustness(
    original: Any,
    varied: Any,
    answers: Any,
    *,
    options: int | ArrayLike,
    flipped_answers: Any = None,
    certainty: Any = None,
    groups: ArrayLike | None = None,
) -> Robustness:
    """Accuracy, consistency and reliability under a change of the prompt.

    original, varied: [n] option chosen for the original and the changed prompt, as indices. answers: [n]
    the right one. options: how many a question has. flipped_answers: [n] the right ones under the changed
    prompt where it changes them (a negation); the choice should then differ from the original one.
    certainty: [n] in 0 ... 1 of the changed prompts, such as 1 - (set size - 1) / (options - 1). groups:
    [n] questions that belong together. A guess among k options is consistent in 1/k of the cases, where the
    answer flips in 1 - 1/k.

    >>> robustness([0, 1, 2, 3], [0, 1, 2, 0], [0, 1, 1, 3], options=4).consistency.value
    0.75
    """
    sizes = _sizes(options, len(plain(original, "original", 1)))
    first, second, right = (
        choices_of(values, name, sizes, "original")
        for values, name in ((original, "original"), (varied, "varied"), (answers, "answers"))
    )
    flips = flipped_answers is not None
    then = choices_of(flipped_answers, "flipped_answers", sizes, "original") if flips else right
    numbers = groups_of(groups, len(first))
    guess = 1 / sizes
    agrees = (first != second) if flips else (first == second)
    plainly, varied_right, same = (
        mean_of(each, numbers) for each in (first == right, second == then, agrees)
    )
    random = 1 - guess if flips else guess
    found = None
    if certainty is not None:
        sure = shares_of(certainty, "certainty", len(first), "original").mean(keepdims=True)
        found = float(reliability(np.array([varied_right.value]), guess.mean(keepdims=True), sure)[0])
    consistency = float(calibrated(np.array([same.value]), random.mean(keepdims=True))[0])
    return Robustness(len(first), plainly, varied_right, same, consistency, found)


def _sizes(options: int | ArrayLike, rows: int) -> Floats:
    if isinstance(options, Real):
        return np.full(rows, float(whole(options, "options", MOST_OPTIONS, low=2)))
    counts = numeric(options, "options", 1, remedy="give whole numbers").astype(np.float64)
    rows_fit(counts, "options", rows, "original")
    wrong = ~((counts >= 2) & (counts <= MOST_OPTIONS) & (counts == np.floor(counts)))
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"options: row {row} is {counts[row]:g}; give a whole number, at least 2")
    return counts

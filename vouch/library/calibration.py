"""Whether a confidence means what it says, and the temperature that makes it so."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vouch.library.arrays import (
    MOST_DRAWS,
    answers_of,
    flag,
    groups_of,
    halves,
    logits_of,
    numeric,
    seed_of,
    shares_of,
    whole,
)
from vouch.library.figure import Estimate, Result, over_splits
from vouch.library.sets import _correct, _responses
from vouch.metrics.calibration.bins import Bins, equal_slots, mass_slots, resampled_bins, tally
from vouch.metrics.calibration.metrics import ece, mce
from vouch.metrics.calibration.probabilities import softmax
from vouch.metrics.calibration.temperature import fit, logs, scale
from vouch.metrics.conformal.ranked import rank
from vouch.metrics.intervals import centred
from vouch.metrics.responses import Array


@dataclass(frozen=True, repr=False)
class CalibrationError(Result):
    """ece: mean |accuracy - confidence| over the bins, weighted by rows. mce: the largest. gap: mean
    confidence minus accuracy, above 0 for an overconfident model. counts, confidence, accuracy: [bins]; NaN
    where empty.
    """

    rows: int
    ece: Estimate
    mce: Estimate
    gap: float
    counts: NDArray[np.int64] = field(compare=False)
    confidence: Array = field(compare=False)
    accuracy: Array = field(compare=False)


def calibration_error(
    probabilities: Any,
    correct: Any,
    *,
    bins: int = 15,
    equal_mass: bool = False,
    groups: ArrayLike | None = None,
    seed: int = 0,
) -> CalibrationError:
    """Expected calibration error (Naeini et al. 2015; Guo et al. 2017).

    probabilities: [n] the confidence of each answer, or [n, k], of which the largest counts. correct: [n] 1
    or 0, or a share. bins of equal width, or with equally many rows each. Intervals: bootstrap over groups
    [n] about its median, since resampling moves the error upwards.

    >>> round(calibration_error([0.9, 0.9, 0.6, 0.6], [1, 1, 1, 0], bins=10).ece.value, 3)
    0.1
    """
    given = numeric(probabilities, "probabilities", 1, 2)
    if given.ndim == 2:
        wrong = ~((given >= 0) & (given <= 1)).all(axis=1) | (given.shape[1] == 0)
        if wrong.any():
            raise ValueError(f"probabilities: row {int(wrong.argmax())} has numbers outside 0 to 1, or none")
        given = given.max(axis=1)
    confidence = shares_of(given, "probabilities")
    right = shares_of(correct, "correct", len(confidence), "probabilities")
    bins, start = whole(bins, "bins", MOST_DRAWS), seed_of(seed)
    by_mass = flag(equal_mass, "equal_mass")
    slots = mass_slots(confidence, bins) if by_mass else equal_slots(confidence, bins)
    found = tally(slots, bins, confidence, right)
    draws = resampled_bins(slots, bins, confidence, right, groups_of(groups, len(right)), start)
    with np.errstate(invalid="ignore"):
        means = found.confidence / found.count, found.correct / found.count
    return CalibrationError(
        len(right),
        _estimate(ece, found, draws),
        _estimate(mce, found, draws),
        float(confidence.mean() - right.mean()),
        found.count.astype(np.int64),
        *means,
    )


def _estimate(formula: Any, found: Bins, draws: Bins) -> Estimate:
    value = float(formula(found))
    return Estimate(value, *centred(value, formula(draws)))


@dataclass(frozen=True, repr=False)
class Temperature(Result):
    """value: T, fitted on all rows; NaN where each has equal logits or one option, for every T is as good.
    ece_before, ece_after, nll_after (nats): on the test halves of the splits, with T fitted on the other
    halves.
    """

    value: float
    ece_before: Estimate
    ece_after: Estimate
    nll_after: Estimate

    def scale(self, logits: Any) -> Array:
        """softmax(logits / T) [n, k]. Raises ValueError where T is NaN."""
        given = logits_of(logits)
        if np.isnan(self.value):
            raise ValueError("logits: no temperature was found for them, since all were equal")
        return np.asarray(softmax(given / self.value))


def temperature(
    logits: Any,
    answers: Any,
    *,
    groups: ArrayLike | None = None,
    bins: int = 15,
    calibration: float = 0.5,
    splits: int = 100,
    seed: int = 0,
) -> Temperature:
    """Temperature scaling (Guo, Pleiss, Sun and Weinberger 2017); arguments as for `prediction_sets`.

    T lies in 0.05 ... 20, and at a bound where all answers are right or all wrong.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> answers = rng.integers(0, 4, 2000)
    >>> logits = rng.normal(size=(2000, 4)) + (answers[:, None] == np.arange(4))
    >>> round(temperature(3 * logits, answers).value)  # three times too sure
    3
    """
    values = logits_of(logits)
    right = answers_of(answers, values)
    drawn = halves(groups_of(groups, len(values)), calibration, splits, seed)
    ranked = rank(_responses(values, right, np.arange(len(values)), 0))
    value = float(fit(*logs(ranked), np.ones((1, len(values)), dtype=bool))[0])
    scaled = scale(ranked, _correct(values, right), drawn, whole(bins, "bins", MOST_DRAWS))
    after = (ece(scaled.before), ece(scaled.bins), scaled.nll)
    return Temperature(value, *map(over_splits, after))

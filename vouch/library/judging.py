"""A judge's verdicts beside people's decisions on a random sample."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vouch.library.arrays import groups_of, numeric, shares_of
from vouch.library.figure import Estimate, Result
from vouch.metrics.intervals import mean_interval
from vouch.metrics.text import agreement


@dataclass(frozen=True, repr=False)
class PredictionPowered(Result):
    """accuracy: what people would say of all rows. people: the same from the sample alone. judge: mean of the
    verdicts. weight: how much the judge counts, from 0 (not at all). kappa, sensitivity, specificity: of the
    judge on the sample, at one half; None where undefined. decided: rows of the sample.
    """

    decided: int
    accuracy: Estimate
    people: Estimate
    judge: Estimate
    weight: float
    kappa: Estimate | None
    sensitivity: Estimate | None
    specificity: Estimate | None


def prediction_powered(decided: Any, judged: Any, *, groups: ArrayLike | None = None) -> PredictionPowered:
    """Accuracy from a judge's verdicts on all answers, corrected by people's decisions on a random sample.

    decided: [n] 1 or 0 by people, NaN where they were not asked. judged: [n] 1 or 0, or a probability, by the
    judge. groups: [n] rows that are not independent. Prediction-powered inference (Angelopoulos et al. 2023)
    with the weight of PPI++: the interval covers whatever the judge's bias, if the sample is random.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> right = rng.random(2000) < 0.6
    >>> judged = np.where(rng.random(2000) < 0.9, right, True)  # lenient: it calls a tenth right unread
    >>> decided = np.where(np.arange(2000) < 200, right, np.nan)
    >>> found = prediction_powered(decided, judged)
    >>> round(found.judge.value, 2), round(found.accuracy.value, 2), found.weight > 0.5
    (0.64, 0.59, True)
    """
    verdicts = shares_of(judged, "judged")
    given = numeric(decided, "decided", 1, remedy="give 1, 0 or NaN", missing=True).astype(np.float64)
    known = ~np.isnan(given)
    if len(given) != len(verdicts) or not known.any():
        raise ValueError(f"decided: give {len(verdicts)} numbers, as many as in judged, and some not NaN")
    shares_of(np.where(known, given, 0), "decided")
    numbers = groups_of(groups, len(given))
    value, low, high, weight = agreement.prediction_powered(given, verdicts, numbers)
    found = agreement.agreement(given[known] >= 0.5, verdicts[known] >= 0.5, numbers[known])
    return PredictionPowered(
        int(known.sum()),
        Estimate(value, low, high),
        Estimate(float(given[known].mean()), *mean_interval(given[known], numbers[known])),
        Estimate(float(verdicts.mean()), *mean_interval(verdicts, numbers)),
        weight,
        None if found.kappa is None else Estimate(found.kappa, *found.kappa_interval),
        found.sensitivity and Estimate(*found.sensitivity),
        found.specificity and Estimate(*found.specificity),
    )

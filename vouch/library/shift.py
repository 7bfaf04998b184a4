"""Prediction sets for questions of another distribution than those that calibrate."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vouch.library.arrays import answers_of, finite, logits_of, rows_fit, share
from vouch.library.figure import Result
from vouch.metrics.calibration.probabilities import log_softmax
from vouch.metrics.conformal.weighted import density_ratio, weighted_thresholds
from vouch.metrics.responses import Array


@dataclass(frozen=True, repr=False)
class WeightedSets(Result):
    """effective: questions that calibrate, by their weights, (sum w)^2 / sum w^2. infinite: share of the sets
    that hold every option because too little weight calibrates. thresholds [m], sets [m, k], weights [n].
    """

    effective: float
    infinite: float
    thresholds: Array = field(compare=False)
    sets: NDArray[np.bool_] = field(compare=False)
    weights: Array = field(compare=False)


def weighted_sets(
    logits: Any, answers: Any, features: Any, new_logits: Any, new_features: Any, *, alpha: float = 0.1
) -> WeightedSets:
    """LAC sets of new questions by weighted conformal prediction (Tibshirani et al. 2019).

    logits [n, k], answers [n]: those that calibrate, as for `prediction_sets`. features [n, d], new_features
    [m, d]: what shifts, such as embeddings of the pictures; the density ratio is the odds of a logistic
    regression. Coverage holds if nothing else shifts and the ratio is right. Judge by `effective` (few:
    noise) and `infinite` (many: too little weight where the new questions lie).

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x, new = rng.normal(0, 1, (2000, 1)), rng.normal(1, 1, (2000, 1))
    >>> answers = rng.integers(0, 4, 2000)
    >>> right = (answers[:, None] == np.arange(4)).astype(float)
    >>> logits = 2 * right * x + rng.normal(size=(2000, 4))
    >>> found = weighted_sets(logits, answers, x, np.zeros((2000, 4)), new)
    >>> found.sets.shape, bool(found.effective < 2000)
    ((2000, 4), True)
    """
    values, fresh = logits_of(logits), logits_of(new_logits, "new_logits")
    right = answers_of(answers, values)
    known, new = finite(features, "features"), finite(new_features, "new_features")
    if fresh.shape[1] != values.shape[1]:
        raise ValueError(f"new_logits: {fresh.shape[1]} options, logits {values.shape[1]}; they must fit")
    rows_fit(known, "features", len(values), "logits")
    rows_fit(new, "new_features", len(fresh), "new_logits")
    if known.shape[1] != new.shape[1]:
        raise ValueError(f"new_features: {new.shape[1]} columns, features {known.shape[1]}; they must fit")
    weights, of_new = density_ratio(known, new)
    # In the order of 1 - p, which would round to 1 where p is tiny.
    scores = -np.where(right, log_softmax(values), -np.inf).max(axis=1)
    limits = weighted_thresholds(scores, weights, of_new, share(alpha, "alpha"))
    sets = (-log_softmax(fresh) <= limits[:, None]) & np.isfinite(fresh)
    empty = ~sets.any(axis=1)
    sets[empty] = fresh[empty] == fresh[empty].max(axis=1, keepdims=True)
    effective = weights.sum() ** 2 / (weights**2).sum()
    thresholds = np.where(np.isinf(limits), np.inf, -np.expm1(-limits))
    return WeightedSets(float(effective), float(np.isinf(limits).mean()), thresholds, sets, weights)

"""Metrics of several prompts of a question: tables by what a formula rests on. To add one, add an entry.

OF_MEANS     from Means of v variations, [..., v]
OF_TESTS     from mean accuracies [..., c] by number of the test of a question
OF_TURNS     from those by turn of a conversation
PER_QUESTION from the numbers 0 ... q - 1 of the questions [n] and what was answered [n]: [q], the metric is
the
             mean over the questions
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.registry import NATS, Formula, Metric
from vouch.metrics.robustness.chance import calibrated, reliability

Array = NDArray[np.float64]
_PARC, _REFORM = "Schmalfuss et al. 2025", "Li et al. 2023"


@dataclass(frozen=True)
class Means:
    """Means over the rows of v variations, all [..., v] and in 0 ... 1; NaN where there is no row.

    random_accuracy, random_consistency: of a guess on the same rows.
    """

    accuracy: Array
    random_accuracy: Array
    certainty: Array
    consistency: Array
    random_consistency: Array


class OfMeans(NamedTuple):
    """rests_on: the field of Means whose rows are counted.

    averaged: over what its means over variations go: `prompts` (the original one as well), `variations` or
    nothing.
    """

    metric: Metric
    of: Callable[[Means], Array]
    rests_on: str
    averaged: Literal["prompts", "variations", ""]


def accuracy_range(means: Array) -> Array:
    """[...] largest minus smallest, in 0 ... 1."""
    return np.asarray(means.max(axis=-1) - means.min(axis=-1))


def turn_correlation(means: Array) -> Array:
    """[...] Pearson's correlation in -1 ... 1; NaN where all turns have the same accuracy."""
    turn = np.arange(means.shape[-1]) - (means.shape[-1] - 1) / 2
    gaps = means - means.mean(axis=-1, keepdims=True)
    spread = np.sqrt((gaps**2).sum(axis=-1) * (turn**2).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (gaps * turn).sum(axis=-1) / spread
    return np.where(spread > 0, np.clip(found, -1, 1), np.nan)


def turn_slope(means: Array) -> Array:
    """[...] accuracy per turn by the least-squares line, every turn counts alike."""
    turn = np.arange(means.shape[-1]) - (means.shape[-1] - 1) / 2
    return np.asarray((means * turn).sum(axis=-1) / (turn**2).sum())


def instability(questions: NDArray[np.int64], answers: np.ndarray) -> Array:
    """[q] nats, at most log of the number of tests. Equal answers are one, whatever they say."""
    codes = np.unique(answers, return_inverse=True)[1]
    pairs, times = np.unique(np.stack([questions, codes]), axis=1, return_counts=True)
    tests = np.bincount(questions)
    share = times / tests[pairs[0]]
    return np.asarray(np.bincount(pairs[0], -share * np.log(share), len(tests)) + 0.0, dtype=np.float64)


OF_MEANS: dict[str, OfMeans] = {
    "accuracy_calibrated": OfMeans(
        Metric(
            "Accuracy, calibrated",
            "0 is a guess, 1 always right, −1 never",
            "higher",
            "",
            f"{_PARC}, equation 5",
            ranked=True,
        ),
        lambda means: calibrated(means.accuracy, means.random_accuracy),
        "accuracy",
        "prompts",
    ),
    "certainty": OfMeans(
        Metric("Certainty", "1 where every prediction set holds one class, 0 where all", None, "", _PARC),
        lambda means: means.certainty,
        "certainty",
        "prompts",
    ),
    # The same answer where the variation keeps what is correct, another one where it flips it, right or
    # wrong. What could not be read is never consistent.
    "consistency": OfMeans(
        Metric(
            "Consistency",
            "share of the prompts answered as the answer to the original prompt demands",
            "higher",
            source=_PARC,
            ranked=True,
        ),
        lambda means: means.consistency,
        "consistency",
        "",
    ),
    "consistency_calibrated": OfMeans(
        Metric(
            "Consistency, calibrated",
            "with the answer to the original; 0 is a guess",
            "higher",
            "",
            f"{_PARC}, equation 5",
            ranked=True,
        ),
        lambda means: calibrated(means.consistency, means.random_consistency),
        "consistency",
        "variations",
    ),
    "random_accuracy": OfMeans(
        Metric("Accuracy of a guess", "mean share of the item's own options that is correct"),
        lambda means: means.random_accuracy,
        "random_accuracy",
        "",
    ),
    "random_consistency": OfMeans(
        Metric(
            "Consistency of a guess",
            "among k options 1/k where the answer is kept, 1 - 1/k where it is flipped",
            source=_PARC,
        ),
        lambda means: means.random_consistency,
        "random_consistency",
        "",
    ),
    "reliability": OfMeans(
        Metric(
            "Reliability",
            "certainty with the sign of being right more often than a guess",
            "higher",
            "",
            _PARC,
            ranked=True,
        ),
        lambda means: reliability(means.accuracy, means.random_accuracy, means.certainty),
        "accuracy",
        "prompts",
    ),
}
OF_TESTS: dict[str, Formula[Array]] = {
    "accuracy_range": Formula(
        Metric(
            "Accuracy range",
            "largest minus smallest accuracy among the tests of the questions",
            "lower",
            source=_REFORM,
            ranked=True,
        ),
        accuracy_range,
    ),
}
OF_TURNS: dict[str, Formula[Array]] = {
    "turn_correlation": Formula(
        Metric(
            "Turn correlation",
            "correlation between the turn of a conversation and its mean accuracy",
            None,
            "",
            _REFORM,
        ),
        turn_correlation,
    ),
    "turn_slope": Formula(
        Metric(
            "Turn slope",
            "change of accuracy from one turn of a conversation to the next",
            None,
            "",
            _REFORM,
        ),
        turn_slope,
    ),
}
INSTABILITY = "instability"
PER_QUESTION: dict[str, tuple[Metric, Callable[[NDArray[np.int64], np.ndarray], Array]]] = {
    INSTABILITY: (
        Metric(
            "Instability",
            "entropy of the answers to the tests of a question; 0 where all agree",
            "lower",
            NATS,
            _REFORM,
            ranked=True,
        ),
        instability,
    ),
}
DECLARED: dict[str, Metric] = {
    **{name: each.metric for name, each in OF_MEANS.items()},
    **{name: each.metric for name, each in (OF_TESTS | OF_TURNS).items()},
    **{name: metric for name, (metric, _) in PER_QUESTION.items()},
}

"""Formulas over several prompts of a question, in tables by their input. To add one, declare it there.

OF_MEANS     Means of v variations, [..., v]
OF_TESTS     mean accuracies [..., c] by number of the test of a question (Li et al. 2023)
OF_TURNS     mean accuracies by turn of a conversation (Li et al. 2023)

`calibrated` and `reliability` set scores against a random guesser (Schmalfuss et al. 2025), so that datasets
can be compared.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.metric import SHARE, Formulas, declare
from vouch.metrics.responses import Array


@dataclass(frozen=True)
class Means:
    """Means over the rows of v variations, all [..., v] and in 0 ... 1; NaN if there is no row.

    random_accuracy, random_consistency: of a guess on the same rows.
    """

    accuracy: Array
    random_accuracy: Array
    certainty: Array
    consistency: Array
    random_consistency: Array


class OfMeans(NamedTuple):
    """rests_on: the field of Means whose rows are counted.

    averaged: what its means over variations include: `prompts` (with the original one), `variations` or
    nothing.
    """

    of: Callable[[Means], Array]
    rests_on: str
    averaged: Literal["prompts", "variations", ""]


OF_MEANS = Formulas[OfMeans]()
OF_TESTS = Formulas[Callable[[Array], Array]]()
OF_TURNS = Formulas[Callable[[Array], Array]]()


@OF_TESTS(
    "accuracy_range",
    "Accuracy range",
    "largest minus smallest accuracy among the tests of the questions",
    better="lower",
    unit=SHARE,
    ranked=True,
    source="Li et al. 2023",
)
def accuracy_range(means: Array) -> Array:
    """[...] largest minus smallest, in 0 ... 1."""
    return np.asarray(means.max(axis=-1) - means.min(axis=-1))


@OF_TURNS(
    "turn_correlation",
    "Turn correlation",
    "correlation between the turn of a conversation and its mean accuracy",
    source="Li et al. 2023",
)
def turn_correlation(means: Array) -> Array:
    """[...] Pearson's correlation in -1 ... 1; NaN if all turns have the same accuracy."""
    turn = np.arange(means.shape[-1]) - (means.shape[-1] - 1) / 2
    gaps = means - means.mean(axis=-1, keepdims=True)
    spread = np.sqrt((gaps**2).sum(axis=-1) * (turn**2).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = (gaps * turn).sum(axis=-1) / spread
    return np.where(spread > 0, np.clip(correlation, -1, 1), np.nan)


@OF_TURNS(
    "turn_slope",
    "Turn slope",
    "change of accuracy from one turn of a conversation to the next",
    source="Li et al. 2023",
)
def turn_slope(means: Array) -> Array:
    """[...] slope of the least-squares line, accuracy per turn; every turn has the same weight."""
    turn = np.arange(means.shape[-1]) - (means.shape[-1] - 1) / 2
    return np.asarray((means * turn).sum(axis=-1) / (turn**2).sum())


declare(
    "instability",
    "Instability",
    "entropy of the answers to the tests of a question; 0 where all agree",
    better="lower",
    unit="nats",
    ranked=True,
    source="Li et al. 2023",
    detail="an option is the same wherever it stands, an unparsed text an answer of its own, word by word; "
    "score `first_t0.2`: over the first sample at that temperature of each prompt, score `t0.2`: over "
    "the samples of one prompt",
)


def instability(
    questions: NDArray[np.int64], answers: np.ndarray, weights: NDArray[np.floating] | None = None
) -> Array:
    """[q] entropy of the answers to each question, nats, at most log of the number of tests (Li et al. 2023).

    questions [n]: numbers 0 ... q - 1; answers [n]: only their equality matters. weights [n]: how
    much each counts; 1 if none are given.
    """
    codes = np.unique(answers, return_inverse=True)[1]
    pairs, pair = np.unique(np.stack([questions, codes]), axis=1, return_inverse=True)
    tests = np.bincount(questions, weights)
    share = np.bincount(pair.ravel(), weights) / tests[pairs[0]]
    terms = -share * np.log(np.where(share > 0, share, 1))
    return np.asarray(np.bincount(pairs[0], terms, len(tests)) + 0.0, dtype=np.float64)


def calibrated(score: Array, random: Array) -> Array:
    """The score in -1 ... 1: 0 if as good as a guess, 1 for a score of 1, -1 for 0 (equation 5).

    score, random: means in 0 ... 1, of the same shape; NaN if either is unknown or both are 1.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(score >= random, (score - random) / (1 - random), (score - random) / random)


def reliability(accuracy: Array, random: Array, certainty: Array) -> Array:
    """(2 accuracy^m - 1) certainty, with m = log 2 / log(1 / random): positive if a guess is beaten.

    Equation 4 and section A8 of Schmalfuss et al. 2025.

    Means in 0 ... 1 of the same shape, not values of rows. NaN if random is not between 0 and 1.
    """
    between = (random > 0) & (random < 1)
    power = np.log(2) / -np.log(np.where(between, random, 0.5))
    return np.where(between, (2 * accuracy**power - 1) * certainty, np.nan)


OF_MEANS(
    "accuracy_calibrated",
    "Accuracy, calibrated",
    "0 is a guess, 1 always correct, −1 never",
    better="higher",
    ranked=True,
    source="Schmalfuss et al. 2025, equation 5",
    detail="(s - r) / (1 - r) for an accuracy s of at least a guess r, else (s - r) / r",
)(OfMeans(lambda means: calibrated(means.accuracy, means.random_accuracy), "accuracy", "prompts"))
OF_MEANS(
    "certainty",
    "Certainty",
    "1 where every prediction set holds one class, 0 where all",
    source="Schmalfuss et al. 2025, equation 1",
    of_sets=True,
    detail="mean of 1 - (size of the LAC set - 1) / (classes - 1); native options only, and those that a "
    "changed prompt makes correct are one class; for text that of the letters of the same prompt",
)(OfMeans(lambda means: means.certainty, "certainty", "prompts"))
# The same answer if the variation keeps the correct one, another if it flips it; whether they are right does
# not matter. An answer that could not be read is never consistent.
OF_MEANS(
    "consistency",
    "Consistency",
    "share of the prompts answered as the answer to the original prompt demands",
    better="higher",
    unit=SHARE,
    ranked=True,
    source="Schmalfuss et al. 2025, equations 2 and 3",
    detail="refusals and unparsed texts never are; several letters are one answer, the set of them",
)(OfMeans(lambda means: means.consistency, "consistency", ""))
OF_MEANS(
    "consistency_calibrated",
    "Consistency, calibrated",
    "with the answer to the original; 0 is a guess",
    better="higher",
    ranked=True,
    source="Schmalfuss et al. 2025, equation 5",
)(OfMeans(lambda means: calibrated(means.consistency, means.random_consistency), "consistency", "variations"))
OF_MEANS(
    "random_accuracy",
    "Accuracy of a guess",
    "mean share of the item's own options that is correct",
    unit=SHARE,
)(OfMeans(lambda means: means.random_accuracy, "random_accuracy", ""))
OF_MEANS(
    "random_consistency",
    "Consistency of a guess",
    "among k options 1/k where the answer is kept, 1 - 1/k where it is flipped",
    unit=SHARE,
    source="Schmalfuss et al. 2025",
)(OfMeans(lambda means: means.random_consistency, "random_consistency", ""))
OF_MEANS(
    "reliability",
    "Reliability",
    "certainty with the sign of being correct more often than a guess",
    better="higher",
    ranked=True,
    of_sets=True,
    source="Schmalfuss et al. 2025, equation 4",
    detail="(2 a^m - 1) x certainty with accuracy a and m = log 2 / log(1 / random_accuracy), of means over "
    "a dataset",
)(
    OfMeans(
        lambda means: reliability(means.accuracy, means.random_accuracy, means.certainty),
        "accuracy",
        "prompts",
    )
)

"""How many questions a model may answer alone, and sets of sampled answers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vouch.library.arrays import groups_of, numeric, share, shares_of
from vouch.library.figure import Estimate, Result
from vouch.metrics.conformal import sampled, selective
from vouch.metrics.conformal.splits import group_splits
from vouch.metrics.intervals import mean_interval, percentiles


@dataclass(frozen=True, repr=False)
class Answering(Result):
    """threshold: the model may answer alone from this confidence on; inf where nothing is shown.

    answered: share of the questions that it then answers. errors, questions: wrong answers, and questions,
    among those that prove it. conformal_threshold, conformal_answered: by conformal abstention, at most a
    share `wrong` of all questions answered wrongly, on average. thresholds, shares, errors_at, bounds [p]:
    answer, or hand to a person; share answered, share of that which is wrong, bounds that hold all at once.
    """

    wrong: float
    sure: float
    threshold: float
    answered: Estimate
    errors: int
    questions: int
    conformal_threshold: float
    conformal_answered: float
    thresholds: NDArray[np.float64] = field(compare=False)
    shares: NDArray[np.float64] = field(compare=False)
    errors_at: NDArray[np.float64] = field(compare=False)
    bounds: NDArray[np.float64] = field(compare=False)


def answering(
    confidence: Any,
    correct: Any,
    *,
    wrong: float = 0.05,
    sure: float = 0.9,
    groups: ArrayLike | None = None,
    seed: int = 0,
) -> Answering:
    """The confidence from which on at most a share `wrong` of the answers is wrong, with probability `sure`.

    confidence: [n] any number, larger where the model is surer. correct: [n] 1 or 0, or a share; for
    `threshold` and `bounds` less than 1 is wrong. groups: [n] questions that are not independent: one of each
    is drawn. Learn then test (Angelopoulos et al. 2021) for selective prediction (Geifman and El-Yaniv
    2017).

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> confidence = rng.random(2000)
    >>> found = answering(confidence, rng.random(2000) < 0.8 + 0.2 * confidence)
    >>> round(found.answered.value, 1), found.errors / (found.answered.value * found.questions) < 0.05
    (0.4, True)
    """
    right = shares_of(correct, "correct")
    sureness = numeric(confidence, "confidence", 1).astype(np.float64)
    if len(sureness) != len(right) or np.isnan(sureness).any():
        raise ValueError(f"confidence: give {len(right)} numbers, as many as in correct")
    rows = sureness, right, groups_of(groups, len(right))
    limit, level = share(wrong, "wrong"), share(sure, "sure")
    found = selective.alone(*rows, limit, level, seed)
    ends = mean_interval(found.answers, np.arange(len(found.answers))) if found.answered else (None, None)
    by_level = selective.curve(*rows, level, seed)
    return Answering(
        limit,
        level,
        found.threshold,
        Estimate(found.answered, *ends),
        found.errors,
        len(found.answers),
        *selective.abstention(*rows, limit, seed),
        by_level.thresholds,
        by_level.answered,
        by_level.wrong,
        by_level.bound,
    )


@dataclass(frozen=True, repr=False)
class SampledSets(Result):
    """samples: how many to draw. coverage, set_size: of sets of these answers. unreached: share of the
    questions without a right sample. The others are None where no number of samples is enough.
    """

    unreached: Estimate
    samples: Estimate | None
    coverage: Estimate | None
    set_size: Estimate | None


def sampled_sets(
    answers: Sequence[Sequence[str]],
    correct: Sequence[Sequence[bool]],
    *,
    alpha: float = 0.1,
    groups: ArrayLike | None = None,
    calibration: float = 0.5,
    splits: int = 100,
    seed: int = 0,
) -> SampledSets:
    """Prediction sets of sampled answers (TRON, Wang et al. 2024); half of alpha for either of its levels.

    answers: [n][S] what was sampled, equal texts for equal answers. correct: [n][S] which of them are right.

    >>> sampled_sets([["a", "b"]] * 100, [[True, False]] * 100).coverage
    1 (1 to 1)
    """
    if len(answers) != len(correct) or len({len(row) for row in [*answers, *correct]}) != 1:
        raise ValueError("answers and correct must have as many rows, and all rows as many samples")
    drawn = sampled.numbered(answers, correct)
    numbers = groups_of(groups, len(answers))
    parts = group_splits(numbers, share(calibration, "calibration"), seed, splits)
    if not parts.sizes.min() or parts.sizes.max() == len(answers):
        raise ValueError("too few groups to be split into two parts")
    never = np.asarray(~drawn.right.any(axis=1))
    found = sampled.sampled_sets(drawn, parts, share(alpha, "alpha") / 2, alpha / 2)
    unreached = Estimate(float(never.mean()), *mean_interval(never, numbers))
    if found is None:
        return SampledSets(unreached, None, None, None)
    values = (found.samples, found.coverage, found.size)
    return SampledSets(unreached, *(Estimate(float(each.mean()), *percentiles(each)) for each in values))

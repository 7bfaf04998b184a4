"""How many questions a model may answer alone, and sets of sampled answers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vouch.library.arrays import (
    Floats,
    Ints,
    groups_of,
    halves,
    mask_of,
    numeric,
    rows_of_texts,
    seed_of,
    share,
    shares_of,
    shown,
)
from vouch.library.figure import Estimate, Result, mean_of, over_splits
from vouch.metrics.conformal import sampled, selective
from vouch.metrics.responses import Array


@dataclass(frozen=True, repr=False)
class Answering(Result):
    """threshold: the model may answer alone from this confidence on; inf where nothing is shown.

    answered: share of the questions that it then answers. errors, questions: wrong answers, and questions,
    among those that prove it. conformal_threshold, conformal_answered: by conformal abstention, at most a
    share `max_risk` of all questions answered wrongly, on average. thresholds, shares, risks, bounds [p]: the
    risk-coverage curve; share answered, share of that which is wrong, bounds that hold all at once.
    """

    max_risk: float
    confidence_level: float
    threshold: float
    answered: Estimate
    errors: int
    questions: int
    conformal_threshold: float
    conformal_answered: float
    thresholds: Array = field(compare=False)
    shares: Array = field(compare=False)
    risks: Array = field(compare=False)
    bounds: Array = field(compare=False)


def answering(
    confidence: Any,
    correct: Any,
    *,
    max_risk: float = 0.05,
    confidence_level: float = 0.9,
    groups: ArrayLike | None = None,
    seed: int = 0,
) -> Answering:
    """Selective prediction: the confidence from which on at most a share `max_risk` of the answers is wrong.

    That holds with a probability of `confidence_level` (Geifman and El-Yaniv 2017; by learn then test,
    Angelopoulos et al. 2021). confidence: [n] any number, larger where the model is surer. correct: [n] 1 or
    0, or a share; for `threshold` and `bounds` less than 1 is wrong. groups: [n] questions that are not
    independent: one of each is drawn.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> confidence = rng.random(2000)
    >>> found = answering(confidence, rng.random(2000) < 0.8 + 0.2 * confidence)
    >>> round(found.answered.value, 1), found.errors / (found.answered.value * found.questions) < 0.05
    (0.4, True)
    """
    rows, start = _rows(confidence, correct, groups), seed_of(seed)
    risk, level = share(max_risk, "max_risk"), share(confidence_level, "confidence_level")
    found = selective.alone(*rows, risk, level, start)
    answered = Estimate(found.answered, *found.interval)
    abstained = selective.abstention(*rows, risk, start)
    curve = vars(selective.curve(*rows, level, start)).values()
    proof = found.errors, len(found.answers)
    return Answering(risk, level, found.threshold, answered, *proof, *abstained, *curve)


def _rows(confidence: Any, correct: Any, groups: ArrayLike | None) -> tuple[Floats, Floats, Ints]:
    right = shares_of(correct, "correct")
    sure = numeric(confidence, "confidence", 1).astype(np.float64)
    if len(sure) != len(right):
        raise ValueError(f"confidence: give {len(right)} numbers, as many as in correct")
    if not np.isfinite(sure).all():
        row = int((~np.isfinite(sure)).argmax())
        raise ValueError(f"confidence: row {row} is {sure[row]}; give finite numbers")
    return sure, right, groups_of(groups, len(right))


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
    correct: Any,
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
    right = mask_of(correct, "correct")
    texts = rows_of_texts(answers, "answers", len(right), "correct")
    for row, (said, verdicts) in enumerate(zip(texts, right.tolist(), strict=True)):
        if len(said) != len(verdicts):
            raise ValueError(f"answers: row {row} has {len(said)} texts, correct {len(verdicts)}")
        judged: dict[str, bool] = {}
        for text, verdict in zip(said, verdicts, strict=True):
            if judged.setdefault(text, verdict) != verdict:
                raise ValueError(
                    f"correct: row {row} has {shown(text)} both right and wrong; give it one verdict"
                )
    drawn = sampled.numbered(texts, right)
    numbers = groups_of(groups, len(texts))
    parts = halves(numbers, calibration, splits, seed)
    never = np.asarray(~drawn.right.any(axis=1))
    level = share(alpha, "alpha") / 2
    found = sampled.sampled_sets(drawn, parts, level, level)
    unreached = mean_of(never, numbers)
    if found is None:
        return SampledSets(unreached, None, None, None)
    values = (found.samples, found.coverage, found.size)
    return SampledSets(unreached, *map(over_splits, values))

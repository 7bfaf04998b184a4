"""Prediction sets, also under shift or from samples, and answers given without review."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vouch.library import check
from vouch.library.estimates import Estimate, Result, mean_of, over_splits
from vouch.metrics.calibration import log_softmax
from vouch.metrics.conformal import selective
from vouch.metrics.conformal.figures import OF_SETS, Calibrations, rows_of
from vouch.metrics.conformal.scores import SCORES, Settings, order_of, score_values
from vouch.metrics.conformal.sets import density_ratio, quantile, weighted_thresholds
from vouch.metrics.metric import MARGINAL
from vouch.metrics.responses import NO_ROLE, Array, Ranked, Responses, rank, uniform


@dataclass(frozen=True, repr=False)
class Answering(Result):
    """threshold: the confidence from which on the model may answer alone; inf if none is proven to be enough.

    answered: share of the questions that it then answers. errors, questions: the numbers of wrong answers and
    of all questions in the part for the proof. conformal_threshold, conformal_answered: from conformal
    abstention, which on average answers at most a share `max_risk` of all questions wrongly. thresholds [p],
    shares, risks, bounds: the risk-coverage curve: share answered, wrong share of these, joint bounds on it.
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
    Angelopoulos et al. 2021). confidence: [n] any number, larger if the model is surer. correct: [n] 1 or
    0, or a share; for `threshold` and `bounds` less than 1 is wrong. groups: [n] questions that are not
    independent; one question of each group is drawn.

    Raises ValueError that names the argument, and the row if one is at fault.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> confidence = rng.random(2000)
    >>> found = answering(confidence, rng.random(2000) < 0.8 + 0.2 * confidence)
    >>> round(found.answered.value, 1), found.errors / (found.answered.value * found.questions) < 0.05
    (0.4, True)
    """
    right = check.shares(correct, "correct")
    sure = check.numeric(confidence, "confidence", 1, exact=True).astype(np.float64)
    if len(sure) != len(right):
        raise ValueError(f"confidence: give {len(right)} numbers, as many as in correct")
    check.refuse(~np.isfinite(sure), "confidence", lambda row: f"is {sure[row]}; give finite numbers")
    rows, start = (sure, right, check.groups(groups, len(right))), check.seed(seed)
    risk, level = check.share(max_risk, "max_risk"), check.share(confidence_level, "confidence_level")
    limit = selective.answer_threshold(*rows, risk, level, start)
    answered = Estimate(limit.answered, *limit.interval)
    abstained = selective.abstention(*rows, risk, start)
    curve = vars(selective.curve(*rows, level, start)).values()
    proof = limit.errors, len(limit.answers)
    return Answering(risk, level, limit.threshold, answered, *proof, *abstained, *curve)


@dataclass(frozen=True, repr=False)
class SampledSets(Result):
    """samples: the number to draw. coverage, set_size: of sets of these samples. unreached: share of the
    questions without a correct sample. All but unreached are None if no number of samples is enough.
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
    """Prediction sets of sampled answers (TRON, Wang et al. 2024); each of its two levels gets half of alpha.

    The first level is that none of a question's samples is correct, the second that the set leaves the
    correct ones out. answers: [n][S] the sampled answers; equal answers have equal texts. correct: [n][S]
    which are correct. The other arguments are those of `prediction_sets`.

    Raises ValueError that names the argument, and the row if one is at fault.

    >>> sampled_sets([["a", "b"]] * 100, [[True, False]] * 100).coverage
    1 (1 to 1)
    """
    texts = check.text_rows(answers, "answers")
    right = check.mask(correct, "correct")
    check.same_rows(texts, "answers", len(right), "correct")
    for row, (sampled, verdicts) in enumerate(zip(texts, right.tolist(), strict=True)):
        if len(sampled) != len(verdicts):
            raise ValueError(f"answers: row {row} has {len(sampled)} texts, correct {len(verdicts)}")
        judged: dict[str, bool] = {}
        for text, verdict in zip(sampled, verdicts, strict=True):
            if judged.setdefault(text, verdict) != verdict:
                raise ValueError(
                    f"correct: row {row} has {check.shown(text)} both correct and wrong; give it one verdict"
                )
    drawn = selective.numbered(texts, right)
    numbers = check.groups(groups, len(texts))
    parts = check.halves(numbers, calibration, splits, seed)
    level = check.share(alpha, "alpha") / 2
    sets = selective.sampled_sets(drawn, parts, level, level)
    unreached = mean_of(~drawn.right.any(axis=1), numbers)
    if sets is None:
        return SampledSets(unreached, None, None, None)
    return SampledSets(unreached, *map(over_splits, (sets.samples, sets.coverage, sets.size)))


@dataclass(frozen=True, repr=False)
class WeightedSets(Result):
    """effective: effective number of calibration questions, (sum w)^2 / sum w^2. infinite: share of the sets
    that hold every option because the weights are too small. thresholds [m], sets [m, k], weights [n].
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

    logits [n, k], answers [n]: of the calibration questions, as for `prediction_sets`. features [n, d],
    new_features [m, d]: the properties that shift, such as embeddings of the images; the density ratio is the
    odds of a logistic regression. Coverage holds if nothing else shifts and the ratio is right. Check
    `effective` (if low: noise) and `infinite` (if high: too few calibration questions like the new ones).

    Raises ValueError that names the argument, and the row if one is at fault.

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
    values, fresh = check.logits(logits), check.logits(new_logits, "new_logits")
    right = check.answers(answers, values)
    known, new = check.features(features, "features"), check.features(new_features, "new_features")
    if fresh.shape[1] != values.shape[1]:
        raise ValueError(f"new_logits: {fresh.shape[1]} options, logits {values.shape[1]}; they must fit")
    check.same_rows(known, "features", len(values), "logits")
    check.same_rows(new, "new_features", len(fresh), "new_logits")
    if known.shape[1] != new.shape[1]:
        raise ValueError(f"new_features: {new.shape[1]} columns, features {known.shape[1]}; they must fit")
    weights, of_new = density_ratio(known, new)
    # These sort like 1 - p, which would round to 1 if p is tiny.
    scores = -np.where(right, log_softmax(values), -np.inf).max(axis=1)
    limits = weighted_thresholds(scores, weights, of_new, check.share(alpha, "alpha"))
    sets = (-log_softmax(fresh) <= limits[:, None]) & np.isfinite(fresh)
    empty = ~sets.any(axis=1)
    sets[empty] = fresh[empty] == fresh[empty].max(axis=1, keepdims=True)
    effective = weights.sum() ** 2 / (weights**2).sum()
    thresholds = np.where(np.isinf(limits), np.inf, -np.expm1(-limits))
    return WeightedSets(float(effective), float(np.isinf(limits).mean()), thresholds, sets, weights)


OVER_SPLITS = ("coverage", "set_size", "singleton_rate", "empty_rate")


@dataclass(frozen=True, repr=False)
class PredictionSets(Result):
    """Prediction sets of n questions with at most k options.

    score, alpha      as in the call
    rows              n, the number of questions
    coverage          share of the test rows whose set holds a correct option; target 1 - alpha
    set_size          mean number of options in a set
    singleton_rate    share of sets with one option
    empty_rate        share of sets that were empty before they were filled
    accuracy          of the most probable option; ties count in part
    threshold         for the scores, from all n rows; inf if n is too small for alpha: every set is full.
                      `of` also tells apart scores that round to the same number
    sets              [n, k] bool, by that threshold
    row_size, row_coverage   [n] means over the splits in which the row is tested; NaN if there is none

    Intervals: 2.5 and 97.5 percentiles over the splits: how much the choice of the split changes a number.
    """

    score: str
    alpha: float
    rows: int
    coverage: Estimate
    set_size: Estimate
    singleton_rate: Estimate
    empty_rate: Estimate
    accuracy: Estimate
    threshold: float
    sets: NDArray[np.bool_] = field(compare=False)
    row_size: Array = field(compare=False)
    row_coverage: Array = field(compare=False)
    settings: Settings = field(default_factory=dict, compare=False)
    _limit: float = field(default=np.inf, compare=False)

    def of(self, logits: Any, seed: int = 0, ids: ArrayLike | None = None) -> NDArray[np.bool_]:
        """Sets [m, k] for new questions with logits [m, k], by the threshold of all n rows.

        seed, ids: for scores with a random term, as for `prediction_sets`. A question gets
        the same set by itself and among others. Raises ValueError that names the row at fault.
        """
        new = check.logits(logits)
        names = check.names(ids, "ids", len(new))
        ranked = rank(responses(new, np.isfinite(new), np.arange(len(new)), check.seed(seed), names))
        return _sets(ranked, self.score, self.settings, self._limit)


def prediction_sets(
    logits: Any,
    answers: Any,
    *,
    alpha: float = 0.1,
    score: str = "lac",
    groups: ArrayLike | None = None,
    calibration: float = 0.5,
    splits: int = 100,
    seed: int = 0,
    settings: Mapping[str, float] | None = None,
    ids: ArrayLike | None = None,
) -> PredictionSets:
    """Split conformal prediction (Vovk et al. 2005), repeated over random splits.

    logits: [n, k] a row per question, a column per option; -inf at the end if a question has fewer.
    answers: [n] index of the correct option, or a mask [n, k] if several are correct.
    alpha: target share of sets without a correct option. score: one of vouch.metrics.conformal.scores.SCORES
    (lac: Sadinle et al. 2019; aps: Romano et al. 2020; margin; raps; saps). groups: [n] rows that belong
    together, such as copies of a question: all calibrate or all test. calibration: share of the groups
    that calibrate. settings: parameters of the score, as {"penalty": 0.1, "k_reg": 2}. Empty sets are
    filled with the most probable options.
    ids: [n] names of the questions. The random term of aps_randomised, raps and saps depends on the name and
    the seed or, without names, on the row's logits, so that rows with equal logits share it.

    Raises ValueError that names the row at fault.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> answers = rng.integers(0, 4, 1000)
    >>> logits = rng.normal(size=(1000, 4)) + 2 * (answers[:, None] == np.arange(4))
    >>> found = prediction_sets(logits, answers, alpha=0.1)
    >>> round(found.coverage.value, 2), found.sets.shape
    (0.9, (1000, 4))
    """
    values = check.logits(logits)
    right = check.answers(answers, values)
    if not isinstance(score, str) or score not in SCORES:
        raise ValueError(f"score {check.shown(score)} is unknown; take one of {', '.join(sorted(SCORES))}")
    target, start, parameters = check.share(alpha, "alpha"), check.seed(seed), _settings(settings, score)
    names = check.names(ids, "ids", len(values))
    numbers = check.groups(groups, len(values))
    correct = graded(values, right)
    rows = rows_of(responses(values, right, numbers, start, names), correct, [score], parameters)
    drawn = check.halves(numbers, calibration, splits, start)
    sets = Calibrations(rows, drawn).of(rows.strata(MARGINAL), target)[score]
    held, sizes, single, empty = (over_splits(OF_SETS[name](sets.counts)) for name in OVER_SPLITS)
    size, covered = sets.membership.row_means(drawn)
    tested = drawn.tests > 0
    limit = quantile(rows.answers[score], target)
    return PredictionSets(
        *(score, target, len(values), held, sizes, single, empty),
        mean_of(correct, numbers),
        float(score_values(score, np.array(limit), parameters)),
        _sets(rows.ranked, score, parameters, limit),
        np.where(tested, size, np.nan),
        np.where(tested, covered, np.nan),
        parameters,
        limit,
    )


def coverage(sets: Any, answers: Any, groups: ArrayLike | None = None) -> Estimate:
    """Share of sets [n, k] (bool) that hold a correct option, with its interval over groups [n].

    answers: [n] indices or a mask [n, k]. Interval: sandwich formula over groups (Liang and Zeger 1986), or
    exact if all sets hold one or none does (Clopper and Pearson 1934).

    Raises ValueError that names the argument, and the row if one is at fault.

    >>> coverage([[True, False], [True, True], [False, True], [True, False]], [0, 1, 1, 1])
    0.75 (0 to 1)
    """
    members = check.mask(sets, "sets")
    right = check.answers(answers, np.zeros(members.shape), of="sets")
    held = np.asarray((members & right).any(axis=1))
    return mean_of(held, check.groups(groups, len(held)))


def _settings(given: Any, score: str) -> Settings:
    """The given parameters of a score, after a check, under the score's name."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ValueError(f"settings is {check.shown(given)}; give parameters by name, as {{'penalty': 0.1}}")
    return {score: {name: _parameter(score, name, value) for name, value in given.items()}}


def _parameter(score: str, name: Any, value: Any) -> float:
    declared = SCORES[score].parameters
    if name not in declared:
        known = ", ".join(declared) or "none"
        raise ValueError(f"settings: {score} has no {check.shown(name)}; its parameters: {known}")
    each, where = declared[name], f"settings: {score} {name}"
    if isinstance(each.default, int):
        return check.whole(value, where, each.most, low=int(each.least))
    return check.within(value, where, each.least, each.most)


def noise(logits: Array, seed: int, names: Sequence[str] | None) -> Array:
    """[n] numbers in [0, 1), from names and a seed, or from each row's logits and the seed."""
    if names is not None:
        return uniform([f"{seed} {name}" for name in names])
    mixed = _mixed(np.full(len(logits), seed, dtype=np.uint64))
    for column in (logits + 0.0).T:  # -0 becomes 0
        bits = column.astype(np.float64).view(np.uint64)
        mixed = np.where(np.isfinite(column), _mixed(mixed ^ bits), mixed)
    return np.asarray((mixed >> np.uint64(11)) * 2.0**-53)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A step of SplitMix64 (Steele, Lea and Flood 2014)."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(numbers ^ (numbers >> np.uint64(31)))


def responses(
    logits: Array, right: NDArray[np.bool_], groups: Any, seed: int, names: Sequence[str] | None = None
) -> Responses:
    """Logits in the form that the statistics take, without roles, categories or defects."""
    options = np.isfinite(logits).sum(axis=1)
    rows = len(logits)
    return Responses(
        logits=np.asfortranarray(logits),
        answers=np.asfortranarray(right),
        roles=np.full(logits.shape, NO_ROLE, dtype=np.int32, order="F"),
        letters=options,
        options=options,
        groups=groups,
        categories=np.zeros(rows, dtype=np.int64),
        noise=noise(logits, seed, names),
        defective=np.zeros(rows, dtype=bool),
    )


def graded(logits: Array, right: NDArray[np.bool_]) -> Array:
    """[n] share of the most probable options that are correct."""
    tops = logits == logits.max(axis=1, keepdims=True)
    return np.asarray((tops & right).sum(axis=1) / tops.sum(axis=1))


def _sets(ranked: Ranked, score: str, settings: Settings, limit: float) -> NDArray[np.bool_]:
    """[n, k] in the order of the options; empty sets are filled. limit: in the units of `order_of`."""
    kept = (order_of(score, settings)(ranked) <= limit) & ranked.present
    empty = np.flatnonzero(~kept.any(axis=1))
    kept[empty] = ranked.tops(empty)
    sets = np.zeros(kept.shape, dtype=bool)
    np.put_along_axis(sets, ranked.letters.astype(np.int64), kept, axis=1)
    return sets

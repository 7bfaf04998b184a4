"""Selective prediction: which answers a model may give without review, and sets of sampled answers.

An answer is given if its confidence reaches a threshold; otherwise a person is asked. Two guarantees:

alone       with probability `level`, at most a share `max_risk` of the given answers is wrong (Geifman and
            El-Yaniv 2017; by split fixed-sequence testing with exact binomial tails: Learn then Test,
            Angelopoulos et al. 2021)
abstention  at most a share `max_risk` of all questions is answered wrongly, on average over calibrations
            (conformal risk control, Angelopoulos et al. 2024; for abstention: Abbasi Yadkori et al. 2024)

Both draw one question per group at random, so the guarantee is about a question of a new group.

`sampled_sets` calibrates sets of sampled answers (TRON, Wang et al. 2024): first the number of samples with
which all but a share `misses` of the questions have a correct one, then how frequent an answer must be to
enter the set. A set misses the correct answer with a probability of about misses + leaves. That is measured
by simulation, not proven, because both thresholds come from the same rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from vouch.metrics.conformal.sets import Splits, quantile
from vouch.metrics.intervals import Interval, mean_interval
from vouch.metrics.metric import SHARE, Figure, declare
from vouch.metrics.responses import Array, Bools, Floats, Ints

declare(
    "answered_alone",
    "Answered alone",
    "share of the questions that may be answered alone with at most so many percent of the answers wrong, "
    "with probability 90 %",
    better="higher",
    unit=SHARE,
    source="Geifman and El-Yaniv 2017; Angelopoulos et al. 2021",
)
declare(
    "answered_conformal",
    "Answered, conformal",
    "share of the questions answered where at most so many percent of all questions are answered wrongly, "
    "on average",
    better="higher",
    unit=SHARE,
    source="Angelopoulos et al. 2024; Abbasi Yadkori et al. 2024",
)
SURE = 0.9
TOLERATED = 0.05
"""Share of the answers that may be wrong when a model answers alone."""
WRONG = (1, 5, 10, 20)
"""Per cent of the answers that may be wrong, as in the names of the metrics."""
PLANNED = 0.25
LEVELS = 50
POINTS = 20


@dataclass(frozen=True)
class AnswerThreshold:
    """A model may answer alone if its confidence is at least `threshold`; inf if it never may.

    answers [q]: whether each of the q questions of the proof is answered alone. errors: of these answers.
    """

    threshold: float
    answers: Bools
    errors: int

    @property
    def answered(self) -> float:
        """Share of the questions that are answered."""
        return float(self.answers.mean()) if len(self.answers) else 0.0

    @property
    def interval(self) -> Interval:
        """Interval of the share `answered`; (None, None) if nothing is answered."""
        shown = self.answers, np.arange(len(self.answers))
        return mean_interval(*shown) if self.answered else (None, None)


def one_of_each(confidence: Floats, right: Floats, groups: Ints, seed: int) -> Ints:
    """Rows [G], one drawn at random from each of the G groups, in random order.

    The draw depends on the groups' numbers, not on the order of rows. Generator as in `group_splits`.
    """
    order = np.lexsort((right, confidence, groups))
    _, first, counts = np.unique(groups[order], return_index=True, return_counts=True)
    drawn = np.random.SFC64(seed).random_raw(2 * len(first)) * 2.0**-64
    chosen = order[first + np.minimum((drawn[: len(first)] * counts).astype(np.int64), counts - 1)]
    return np.asarray(chosen[np.argsort(drawn[len(first) :], kind="stable")])


def tail(answers: Array, errors: Array, max_risk: float) -> Array:
    """P(at most `errors` of `answers` are wrong) if each were wrong with probability `max_risk`: the binomial
    distribution function, by the incomplete beta function. answers, errors: counts of the same shape."""
    return np.asarray(
        np.where(
            errors < answers,
            scipy.special.betainc(np.maximum(answers - errors, 1), errors + 1, 1 - max_risk),
            1.0,
        )
    )


def upper_bound(answers: Array, errors: Array, level: float) -> Array:
    """Upper bound of the share of wrong answers, with probability `level` (Clopper and Pearson 1934).

    answers, errors: counts of the same shape; 1 if all answers are wrong.
    """
    bound = scipy.special.betaincinv(errors + 1, np.maximum(answers - errors, 1), level)
    return np.asarray(np.where(errors < answers, bound, 1.0))


Planned = tuple[Ints, Ints, Array]


def _planned(confidence: Floats, right: Floats, groups: Ints, seed: int, levels: int) -> Planned:
    """Rows for planning, rows for proof, and thresholds to try: confidences of the former, largest first."""
    rows = one_of_each(confidence, right, groups, seed)
    cut = int(PLANNED * len(rows))
    if not cut:
        return rows[:0], rows, np.zeros(0)
    steps = np.linspace(0, 1, levels + 1)[:-1]
    tried = np.quantile(confidence[rows[:cut]].astype(np.float64), steps, method="lower")
    return rows[:cut], rows[cut:], np.unique(tried)[::-1]


def _counted(confidence: Floats, right: Floats, thresholds: Array) -> tuple[Array, Array]:
    """How many questions each threshold answers, and how many of these wrongly."""
    given = confidence[:, None] >= thresholds
    return given.sum(axis=0).astype(float), (given & (right < 1)[:, None]).sum(axis=0).astype(float)


def answer_threshold(
    confidence: Floats, right: Floats, groups: Ints, max_risk: float, level: float = SURE, seed: int = 0
) -> AnswerThreshold:
    """The lowest threshold with which, with probability `level`, at most a share `max_risk` is wrong.

    confidence [n]; right [n] in 0 ... 1; groups [n]. A quarter of the groups plans: its confidences are the
    thresholds to try, and the one with the most evidence is tried first. The other groups prove: from that
    threshold down each is tested by the exact binomial tail at significance 1 - level, until one fails.
    They do not affect the order, so a threshold with more errors passes with a probability of at most 1 -
    level.
    """
    return _proven(confidence, right, _planned(confidence, right, groups, seed, LEVELS), max_risk, level)


def _proven(
    confidence: Floats, right: Floats, planned: Planned, max_risk: float, level: float
) -> AnswerThreshold:
    plan, proof, thresholds = planned
    if not len(thresholds):
        return AnswerThreshold(np.inf, np.zeros(len(proof), dtype=bool), 0)
    evidence = tail(*_counted(confidence[plan], right[plan], thresholds), max_risk)
    tried = thresholds[len(evidence) - 1 - int(evidence[::-1].argmin()) :]
    answers, errors = _counted(confidence[proof], right[proof], tried)
    passed = int(np.logical_and.accumulate(tail(answers, errors, max_risk) <= 1 - level + 1e-12).sum())
    if not passed:
        return AnswerThreshold(np.inf, np.zeros(len(proof), dtype=bool), 0)
    threshold = float(tried[passed - 1])
    return AnswerThreshold(threshold, np.asarray(confidence[proof] >= threshold), int(errors[passed - 1]))


@dataclass(frozen=True)
class Curve:
    """Per threshold [p], largest first: share answered, share of these answers that is wrong, its bound."""

    thresholds: Array
    answered: Array
    wrong: Array
    bound: Array


def curve(confidence: Floats, right: Floats, groups: Ints, level: float = SURE, seed: int = 0) -> Curve:
    """Answering or asking a person, at up to POINTS thresholds; the bounds hold jointly (Bonferroni)."""
    _, proof, thresholds = _planned(confidence, right, groups, seed, POINTS)
    answers, errors = _counted(confidence[proof], right[proof], thresholds)
    given = answers > 0
    answers, errors, thresholds = answers[given], errors[given], thresholds[given]
    each = 1 - (1 - level) / POINTS
    return Curve(
        thresholds, answers / max(len(proof), 1), errors / answers, upper_bound(answers, errors, each)
    )


def abstention(
    confidence: Floats, right: Floats, groups: Ints, max_risk: float, seed: int = 0
) -> tuple[float, float]:
    """The threshold of conformal abstention, and the share of the questions that is answered with it.

    The lowest with (W + 1) / (G + 1) <= max_risk, W being the sum of 1 - right over the answers given; the
    next question is then answered wrongly with a probability of at most `max_risk`. inf and 0 if none is.
    """
    rows = one_of_each(confidence, right, groups, seed)
    return _abstentions(confidence[rows], right[rows], [max_risk])[0]


def _abstentions(confidence: Floats, right: Floats, max_risks: Sequence[float]) -> list[tuple[float, float]]:
    levels, level = np.unique(-confidence, return_inverse=True)
    lost = np.cumsum(np.bincount(level, 1 - right, minlength=len(levels)))
    found = []
    for max_risk in max_risks:
        kept = int(((lost + 1) / (len(right) + 1) <= max_risk + 1e-12).sum())  # lost never falls
        found.append((float(-levels[kept - 1]), float((level < kept).mean())) if kept else (np.inf, 0.0))
    return found


def selective_figures(
    confidence: Floats, right: Floats | Bools, groups: Ints, seed: int, score: str = ""
) -> list[Figure]:
    """answered_alone_W and answered_conformal_W for each per cent W of WRONG; see `answer_threshold`."""
    figures, right = [], right.astype(np.float64)
    planned = plan, proof, _ = _planned(confidence, right, groups, seed, LEVELS)
    if not len(proof):
        return []
    rows = np.concatenate([plan, proof])  # one of each group
    risks = [percent / 100 for percent in WRONG]
    abstentions = _abstentions(confidence[rows], right[rows], risks)
    for percent, risk, (_, share) in zip(WRONG, risks, abstentions, strict=True):
        alone = _proven(confidence, right, planned, risk, SURE)
        figures += [
            Figure(score, f"answered_alone_{percent}", alone.answered, len(proof), *alone.interval),
            Figure(score, f"answered_conformal_{percent}", share, len(rows)),
        ]
    return figures


@dataclass(frozen=True)
class SampledAnswers:
    """S samples of n questions.

    same [n, S]: number of the sample's answer; answers are numbered from 0 as they first appear.
    right [n, S]: whether it is correct.
    """

    same: Ints
    right: Bools

    def first_right(self) -> Array:
        """[n] position of the first correct sample, from 1; inf if none is correct."""
        return np.where(self.right.any(axis=1), self.right.argmax(axis=1) + 1.0, np.inf)

    def shares(self, number: int) -> tuple[Array, Bools]:
        """[n, S] share of each answer among the first `number` samples, and whether it is correct."""
        chosen = self.same[:, :number, None] == np.arange(self.same.shape[1])
        return chosen.mean(axis=1), np.asarray((chosen & self.right[:, :number, None]).any(axis=1))


def numbered(answers: Sequence[Sequence[str]], right: Sequence[Sequence[bool]] | Bools) -> SampledAnswers:
    """Samples from the answers to each question, equally many for each, and whether they are correct."""
    same = []
    for row in answers:
        first_seen: dict[str, int] = {}
        same.append([first_seen.setdefault(answer, len(first_seen)) for answer in row])
    return SampledAnswers(np.array(same, dtype=np.int64), np.array(right, dtype=bool))


@dataclass(frozen=True)
class SampledSetSizes:
    """Per split: samples, largest 1 - share in a set, coverage and mean size of the test rows' sets."""

    samples: Array
    threshold: Array
    coverage: Array
    size: Array


def sampled_sets(
    drawn: SampledAnswers, splits: Splits, misses: float, leaves: float
) -> SampledSetSizes | None:
    """None if, in some split, even all the samples drawn are too few."""
    first = drawn.first_right()
    needed = np.array([quantile(first[calibrates], misses) for calibrates in splits])
    if not np.isfinite(needed).all():
        return None
    measured = np.empty((4, len(splits)))
    by_number = {number: drawn.shares(int(number)) for number in set(needed.tolist())}
    for split, calibrates in enumerate(splits):
        shares, right = by_number[needed[split]]
        scores = 1 - np.where(right, shares, 0).max(axis=1)
        limit = quantile(scores[calibrates & (first <= needed[split])], leaves)
        kept = ((shares > 0) & (1 - shares <= limit))[~calibrates]
        covered, size = (kept & right[~calibrates]).any(axis=1), kept.sum(axis=1)
        measured[:, split] = needed[split], limit, covered.mean(), size.mean()
    return SampledSetSizes(*measured)

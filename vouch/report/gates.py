"""The gates of the report, the terminal, cards and exports: which numbers and claims they may show.

Numbers of prediction sets are shown only if every split had enough questions to calibrate (otherwise some
sets hold every option), intervals only if they have a width. On fewer than MINIMUM groups only the intervals
of HOLD_FOR_FEW are shown: the others miss the true value too often.

A claim says that a number differs from a given one: an accuracy from a guess, a difference from zero, a
coverage from its target, an accuracy from the stated confidence. It is made if it rests on at least MINIMUM
groups of questions and its p-value is below SIGNIFICANCE after Holm's correction for all claims of its kind
in the report. If a claim fails, the report says how large an effect that many questions would have shown.

No model is named best that is not shown to need the image. If it was asked without the image, its accuracy
must drop (p below TESTED after correction for all models); if language models were asked as well, it must be
shown to beat the best one.
"""

import re
from collections.abc import Hashable, Mapping
from math import sqrt
from typing import Any, NamedTuple, TypeVar

import scipy

from vouch.metrics.blind import UNSOLVED_ACCURACY, WITH_IMAGE
from vouch.metrics.comparison import statistics
from vouch.metrics.comparison.statistics import INTERVAL, detectable, holm
from vouch.metrics.metric import is_of_sets
from vouch.metrics.unranked import LOW_MASS_RATE
from vouch.report import formatting

MINIMUM = 30
"""Fewest independent groups of questions on which models are ranked, averaged or named."""
SIGNIFICANCE = 0.05 / 5
"""A claim is made if its p after Holm's correction is below this. The first page makes claims of six kinds
(better than a guess, model against model, variation, coverage, confidence, the image), and of a seventh if
a language model was asked; 94 and 93 of 100 reports should be free of false ones."""
HOLD_FOR_FEW = frozenset(
    {
        *(
            "accuracy",
            "accuracy_debiased",
            "accuracy_debiased_prior",
            "accuracy_per_byte",
            "accuracy_per_token",
            "accuracy_calibrated",
            "accuracy_judge",
            "accuracy_people",
            "accuracy_rules",
        ),
        *("correct_without_image", "selective_accuracy", UNSOLVED_ACCURACY, WITH_IMAGE),
        *("dont_know_rate", "none_rate", "tie_rate", "yes_rate", LOW_MASS_RATE),
        *("unparsed_rate", "refusal_rate", "several_rate", "undecided_rate", "unanswered"),
        *("flipped", "not_flipped", "painted_chosen"),
    }
)
"""Metrics whose 95 % intervals hold on few questions: shares of questions. If models guess on twelve
questions, these exclude the value of a guess in 5 of 100 worlds or fewer, those of other metrics in up to 100
(docs/small-data.md; tests/report/test_small_data.py)."""
_NUMBER = re.compile(r"_\d+$")  # the key of selective_accuracy_80
ONLY_SHARES = (
    "Only accuracies and other shares of questions have intervals here: on so few questions, those of other "
    "numbers would miss the true value too often"
)
TESTED = 0.05
"""The same for the test that a model loses accuracy without the image, which it must pass to be named: that
makes no claim by itself, it only holds others back."""
Key = TypeVar("Key", bound=Hashable)
INFINITE = "infinite_threshold_rate"
HEADLINE_COLUMNS = {
    ("accuracy", ""): 1,
    ("coverage", "lac"): 1,
    ("coverage", "aps"): 4,
    ("set_size", "lac"): 1,
    ("set_size", "aps"): 3,
    ("uacc", "mean"): 5,
    ("ece", ""): 2,
}
"""Metric and nonconformity score of the numbers in a model's row, in order, with the narrowest row that has
them: 1 the verdict, 2 the terminal, 3 models or protocols side by side, 4 a model card, 5 all numbers."""


def ends(low: float | None, high: float | None) -> tuple[float | None, float | None]:
    """The ends of an interval; None for both if it has no width, which says nothing."""
    return (None, None) if low is None or high is None or formatting.without_width(low, high) else (low, high)


def interval_holds(metric: str, groups: int) -> bool:
    """Whether the 95 % interval of a metric may be shown for this many groups of questions."""
    return groups >= MINIMUM or _NUMBER.sub("", metric) in HOLD_FOR_FEW


def headline_columns(width: int) -> tuple[tuple[str, str], ...]:
    """Metric and score of the numbers in a model's row of this width, see HEADLINE_COLUMNS."""
    return tuple(column for column, narrowest in HEADLINE_COLUMNS.items() if narrowest <= width)


def shown(
    of: Mapping[tuple[str, str], Mapping[str, Any]], groups: int | None = None
) -> dict[tuple[str, str], Mapping[str, Any]]:
    """The rows of the leaderboard that may be shown; intervals that may not be shown become None.

    of: rows of one dataset, variation, output, model and protocol, by metric and score. groups: of the
    dataset's questions; if it is not known, each item counts as a group.
    """
    infinite = (of.get((INFINITE, "")) or {}).get("value") or 0.0
    kept = {key: row for key, row in of.items() if not (infinite and is_of_sets(key[0]))}
    return {
        key: {**row, **dict(zip(("low", "high"), _ends(row, groups), strict=True))}
        for key, row in kept.items()
    }


def _ends(row: Mapping[str, Any], groups: int | None) -> tuple[float | None, float | None]:
    """The ends of the interval of a row of the leaderboard, as far as they may be shown."""
    known = [count for count in (row.get("items"), groups) if count is not None]
    holds = not known or interval_holds(row["metric"], min(known))
    return ends(row["low"], row["high"]) if holds else (None, None)


def too_small(groups: int) -> str:
    """Why nothing may be ranked, averaged or named on this many groups of questions; empty if it may."""
    if groups >= MINIMUM:
        return ""
    return f"too small to tell: {formatting.plural(groups, 'independent question')}, fewer than {MINIMUM}"


class Claim(NamedTuple):
    """A claim: `estimate` differs from `null`. low, high: 95 % interval. p: two-sided, None if unknown."""

    estimate: float
    null: float
    low: float
    high: float
    groups: int
    p: float | None

    @property
    def above(self) -> bool:
        """Whether the estimate is larger than `null`."""
        return self.estimate > self.null

    @property
    def at_least(self) -> float:
        """The smallest difference in the interval; 0 if the interval contains `null`."""
        return max(0.0, self.low - self.null if self.above else self.null - self.high)


def share_claim(value: float, low: float | None, high: float | None, groups: int, null: float) -> Claim:
    """A claim about a share, 0 to 1.

    p is the exact binomial tail for the effective number of answers that the interval implies (Korn and
    Graubard 1998); it is valid even if nearly all answers are correct.
    """
    if low is None or high is None:
        return Claim(value, null, value, value, groups, None)
    error = max(value - low, high - value) / scipy.special.stdtrit(max(groups - 1, 1), 0.975)
    answers = value * (1 - value) / error**2 if 0 < value < 1 and error else float(groups)
    correct = value * answers
    if value > null:
        tail = scipy.special.betainc(correct, answers - correct + 1, null)
    else:
        tail = 1 - scipy.special.betainc(correct + 1, answers - correct, null) if correct < answers else 1.0
    return Claim(value, null, low, high, groups, min(1.0, 2 * float(tail)))


def difference_claim(
    value: float, low: float | None, high: float | None, groups: int, null: float = 0.0
) -> Claim:
    """A claim about a difference. p is that of a t-test."""
    if low is None or high is None:
        return Claim(value, null, value, value, groups, None)
    error = (high - low) / INTERVAL
    if not error:
        return Claim(value, null, low, high, groups, 1.0 if value == null else None)
    p = 2 * float(scipy.special.stdtr(max(groups - 1, 1), -abs(value - null) / error))
    return Claim(value, null, low, high, groups, p)


def paired_claim(
    value: float, low: float | None, high: float | None, groups: int, null: float = 0.0
) -> Claim:
    """A claim about a difference between answers to the same questions.

    A t-test is too confident about few differing groups, so p is never below 2^(1-D), the smallest that a
    sign test can give for D groups. D is the number that must differ if all do so in one direction.
    """
    claim = difference_claim(value, low, high, groups, null)
    least = min(1.0, 2 ** (1 - abs(value - null) * groups))
    return claim if claim.p is None else claim._replace(p=max(claim.p, least))


def significant(claims: Mapping[Key, Claim], level: float = SIGNIFICANCE) -> dict[Key, Claim]:
    """The claims of one kind that are made; those on too few groups do not count as tests."""
    tried = {key: claim for key, claim in claims.items() if claim.groups >= MINIMUM}
    corrected = holm([claim.p for claim in tried.values()])
    return {
        key: claim
        for (key, claim), p in zip(tried.items(), corrected, strict=True)
        if p is not None and p < level
    }


def effect_in_words(questions: int, groups: int, effect: float, room: float) -> str:
    """`with 40 questions only a lead of 28 points over guessing would show`: four times out of five; below
    MINIMUM groups, that no lead is claimed.

    effect: the smallest such lead. room: the largest possible one.
    """
    if groups < MINIMUM:
        of = "" if groups == questions else f" ({formatting.plural(questions, 'question')} in all)"
        few = f"no lead over guessing is claimed with fewer than {MINIMUM}"
        return f"{formatting.plural(groups, 'independent question')}{of}, and {few}"
    which = f"with {formatting.plural(questions, 'question')}"
    if groups < questions:
        which += f" in {formatting.plural(groups, 'group')}"
    if effect >= room:
        return f"{which} not even a perfect model could be shown to beat guessing"
    return f"{which} only a lead of {formatting.number(100 * effect, 0)} points over guessing would show"


def detectable_lead(null: float, groups: int, claims: int) -> float:
    """The smallest lead over a share that this many groups show with 80 % power, corrected for this many
    claims."""
    return detectable(sqrt(null * (1 - null) / max(groups, 1)), SIGNIFICANCE, claims)


def minimum_detectable_effect(low: float | None, high: float | None, claims: int = 1) -> float | None:
    """The smallest true difference that is significant with 80 % power, from the ends of an interval.

    claims: number of claims of its kind, for Holm's correction.
    """
    return statistics.minimum_detectable_effect(low, high, SIGNIFICANCE, claims)

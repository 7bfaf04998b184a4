"""What may be shown, and what may be said: the gates of the report, the terminal, cards and exports.

Shown are numbers of prediction sets only if every split had enough questions to calibrate (otherwise some
sets hold every option), and intervals only if they have a width.

A claim says that a number differs from a given one: an accuracy from a guess, a difference from zero, a
coverage from its target, an accuracy from the stated confidence. It is made if it rests on at least MINIMUM
groups of questions and its p-value is below SIGNIFICANCE after Holm's correction for all claims of its kind
in the report. Where a claim fails, the report says how large an effect that many questions would have shown.
"""

from collections.abc import Hashable, Mapping
from math import sqrt
from typing import Any, NamedTuple, TypeVar

from scipy.special import betainc, stdtr, stdtrit

from vouch.metrics.comparison import statistics
from vouch.metrics.comparison.statistics import INTERVAL, detectable, holm
from vouch.report import formatting

MINIMUM = 30
"""Independent groups of questions, below which nothing is ranked, averaged or named."""
SIGNIFICANCE = 0.05 / 5
"""p after Holm's correction, below which a claim is made. The first page makes claims of six kinds (better
than a guess, model against model, variation, coverage, confidence, the picture), and is to be free of false
ones in 94 of 100 reports."""
Key = TypeVar("Key", bound=Hashable)
OF_SETS = ("coverage", "set_size", "uacc", "worst_size", "singleton", "empty", "certainty", "reliability")
"""How the names of metrics begin that rest on prediction sets."""
INFINITE = "infinite_threshold_rate"


def ends(low: float | None, high: float | None) -> tuple[float | None, float | None]:
    """Of an interval; none where it has no width, which says nothing."""
    return (None, None) if low is None or high is None or formatting.without_width(low, high) else (low, high)


def shown(of: Mapping[tuple[str, str], Mapping[str, Any]]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Rows of the leaderboard, of one dataset, variation, output, model and protocol by (metric, score), as
    they may be shown."""
    infinite = (of.get((INFINITE, "")) or {}).get("value") or 0.0
    kept = {place: row for place, row in of.items() if not (infinite and place[0].startswith(OF_SETS))}
    return {
        place: {**row, **dict(zip(("low", "high"), ends(row["low"], row["high"]), strict=True))}
        for place, row in kept.items()
    }


def too_small(groups: int) -> str:
    """Why nothing is ranked, averaged or named on so many groups of questions; empty where it is."""
    if groups >= MINIMUM:
        return ""
    return f"too small to tell: {formatting.plural(groups, 'independent question')}, fewer than {MINIMUM}"


class Claim(NamedTuple):
    """That `estimate` differs from `null`. low, high: 95 % interval. p: two-sided, None where unknown."""

    estimate: float
    null: float
    low: float
    high: float
    groups: int
    p: float | None

    @property
    def above(self) -> bool:
        """On which side the estimate lies."""
        return self.estimate > self.null

    @property
    def at_least(self) -> float:
        """What the interval leaves of the difference: 0 where it holds `null`."""
        return max(0.0, self.low - self.null if self.above else self.null - self.high)


def share_claim(value: float, low: float | None, high: float | None, groups: int, null: float) -> Claim:
    """About a share in 0 ... 1.

    p: the exact binomial tail of as many independent answers as the interval is worth, as Korn and Graubard
    (1998) do for surveys; it also holds where nearly all answers are right.
    """
    if low is None or high is None:
        return Claim(value, null, value, value, groups, None)
    error = max(value - low, high - value) / stdtrit(max(groups - 1, 1), 0.975)
    answers = value * (1 - value) / error**2 if 0 < value < 1 and error else float(groups)
    right = value * answers
    if value > null:
        tail = betainc(right, answers - right + 1, null)
    else:
        tail = 1 - betainc(right + 1, answers - right, null) if right < answers else 1.0
    return Claim(value, null, low, high, groups, min(1.0, 2 * float(tail)))


def difference_claim(
    value: float, low: float | None, high: float | None, groups: int, null: float = 0.0
) -> Claim:
    """About a difference. p: of a t-test."""
    if low is None or high is None:
        return Claim(value, null, value, value, groups, None)
    error = (high - low) / INTERVAL
    if not error:
        return Claim(value, null, low, high, groups, 1.0 if value == null else None)
    p = 2 * float(stdtr(max(groups - 1, 1), -abs(value - null) / error))
    return Claim(value, null, low, high, groups, p)


def paired_claim(
    value: float, low: float | None, high: float | None, groups: int, null: float = 0.0
) -> Claim:
    """About a difference of answers to the same questions.

    p: never below 2^(1-D) for the D groups that must differ if all do so in one direction, the least that
    flipping their signs can give: t is too sure of a few.
    """
    found = difference_claim(value, low, high, groups, null)
    least = min(1.0, 2 ** (1 - abs(value - null) * groups))
    return found if found.p is None else found._replace(p=max(found.p, least))


def significant(claims: Mapping[Key, Claim]) -> dict[Key, Claim]:
    """The claims of one kind that may be made; those on too few groups do not count as tried."""
    tried = {key: claim for key, claim in claims.items() if claim.groups >= MINIMUM}
    corrected = holm([claim.p for claim in tried.values()])
    return {
        key: claim
        for (key, claim), p in zip(tried.items(), corrected, strict=True)
        if p is not None and p < SIGNIFICANCE
    }


def effect_in_words(questions: int, groups: int, effect: float, room: float) -> str:
    """`24 questions find 28 points`: the least effect that four of five such studies would name.

    room: the largest effect there can be.
    """
    which = formatting.plural(questions, "question")
    if groups < min(questions, MINIMUM):
        which += f" in {formatting.plural(groups, 'group')}"
    if effect >= room:
        return f"{which} cannot show even a model that is always right"
    verb = "finds" if questions == 1 else "find"
    return f"{which} {verb} {formatting.number(100 * effect, 0)} points"


def detectable_difference(null: float, groups: int, claims: int) -> float:
    """Distance from a share that so many groups find, corrected for so many claims."""
    return detectable(sqrt(null * (1 - null) / max(groups, 1)), SIGNIFICANCE, claims)


def minimum_detectable_effect(low: float | None, high: float | None, claims: int = 1) -> float | None:
    """The smallest true difference that is named in four of five studies, by the ends of an interval.

    claims: of its kind, among which Holm's correction may leave it the smallest p.
    """
    return statistics.minimum_detectable_effect(low, high, SIGNIFICANCE, claims)

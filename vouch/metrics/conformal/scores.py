"""Nonconformity scores, by the names of `score.scores`. To add one, write its function under `@score`.

The declaration holds everything about a score: label, formula, source, and its parameters with bounds, which
become `score.settings.NAME` of params.yaml. Nothing else lists the scores.

The function takes Ranked rows and the score's parameters and returns [n, k] numbers in the order of the
letters' scores: the clean protocol builds {letters with a score <= threshold}, for which only the order
counts. For a score s the number is -log(1 - s), computed from the mass 1 - s, so that s = 1 - 1e-20 and s = 1
- 1e-400 differ, although the rounded scores would both be 1. `value` turns such numbers back into scores.

Letters of equal probability have equal scores. Random terms use one uniform number per row that depends on
the item only (`uniform`), so it is the same in every order of rows, every variation and every split.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vouch.metrics.responses import Array, Floats, Ranked

LARGEST = np.finfo(np.float64).max
"""Represents a score of exactly 1; infinity is reserved for the threshold that admits every letter."""
MOST_PENALTY = 1e6
"""The largest penalty: scores stay finite and still show differences of probabilities."""
Settings = Mapping[str, Mapping[str, float]]
"""By score, the values of its parameters; a missing one has its default."""


class Parameter(NamedTuple):
    """A parameter of a score, within `least` and `most`; a whole number if its default is one."""

    default: float
    most: float
    meaning: str
    least: float = 0


@dataclass(frozen=True)
class Score:
    """label: heads columns. formula, source: for the documentation.

    order(ranked, **parameters) [n, k]; value(order, **parameters): turns such numbers into scores.
    """

    label: str
    formula: str
    source: str
    order: Callable[..., Floats]
    value: Callable[..., Array]
    parameters: Mapping[str, Parameter]


SCORES: dict[str, Score] = {}
Order = Callable[..., Floats]


def _value(order: Array, **parameters: float) -> Array:
    """The scores of numbers -log(1 - s); negative ones (of margin) mirror positive ones; infinity stays."""
    scores = np.sign(order) * -np.expm1(-np.abs(order))
    return np.asarray(np.where(np.isinf(order), order, scores))


def score(
    name: str,
    label: str,
    formula: str,
    source: str,
    value: Callable[..., Array] = _value,
    **parameters: Parameter,
) -> Callable[[Order], Order]:
    """Declares the score whose order the decorated function gives."""

    def declared(order: Order) -> Order:
        SCORES[name] = Score(label, formula, source, order, value, parameters)
        return order

    return declared


def order_of(name: str, settings: Settings) -> Callable[[Ranked], Floats]:
    """A function that gives the numbers of `order`, for a score with these parameters."""
    given = _parameters(name, settings)
    return lambda ranked: SCORES[name].order(ranked, **given)


def score_values(name: str, order: Array, settings: Settings) -> Array:
    """Turns numbers of the order back into scores, such as thresholds; infinite ones stay infinite."""
    return np.asarray(SCORES[name].value(np.asarray(order, dtype=np.float64), **_parameters(name, settings)))


def _parameters(name: str, settings: Settings) -> dict[str, float]:
    return {key: each.default for key, each in SCORES[name].parameters.items()} | dict(settings.get(name, {}))


@score("lac", "LAC", "1 - p(y): the smallest sets on average", "Sadinle, Lei and Wasserman 2019")
def lac(ranked: Ranked) -> Floats:
    """Least ambiguous set-valued classifier: s = 1 - p_k, so the number is -log p_k."""
    return _finite(-ranked.log_p)


@score(
    "aps",
    "APS",
    "sum of all p at least as large as p(y): sets adapt to the difficulty of the question",
    "Romano, Sesia and Candes 2020, without the random term",
)
def aps(ranked: Ranked) -> Floats:
    """s = sum of all p_j >= p_k: equation 4 of Kostumov et al. 2024, with letters of equal p."""
    return _finite(-ranked.log_below)


@score(
    "aps_randomised",
    "APS, randomised",
    "sum of all p larger than p(y), plus u times the sum of those equal to it",
    "the same, with it",
)
def aps_randomised(ranked: Ranked) -> Floats:
    """s = sum of all p_j > p_k plus u times the sum of all p_j = p_k, with u uniform, one for each row."""
    return _finite(-_log_beyond(ranked))


@score(
    "aps_crossing",
    "APS, crossing",
    "sum of all p larger than p(y): the letter that crosses the level is kept, no set is empty",
    "the same",
)
def aps_crossing(ranked: Ranked) -> Floats:
    """s = sum of all p_j > p_k; 0 for the most probable letter, so that it is in every set."""
    return _finite(-ranked.log_from)


def _log_beyond(ranked: Ranked) -> Floats:
    """[n, k] log of 1 - aps_randomised: sum of all p_j < p_k, plus 1 - u times the sum of all p_j = p_k."""
    with np.errstate(invalid="ignore", divide="ignore"):  # of letters with p = 0, and of u = 1
        rest = np.log1p(ranked.noise[:, None] * np.expm1(ranked.log_below - ranked.log_from))
    return np.asarray(np.where(np.isneginf(ranked.log_from), -np.inf, ranked.log_from + rest))


@score(
    "margin",
    "margin",
    "largest other p minus p(y), two-sided: negative for the most probable option",
    "Löfström et al. 2015",
)
def margin(ranked: Ranked) -> Floats:
    """max_{j != k} p_j - p_k, in -1 ... 1; -p_k for a letter without others.

    Two-sided: negative for the most probable letter. If nearly all answers are on top, the threshold is
    negative too, a set may be empty, and `negative_threshold_rate` says how often.
    """
    gaps = ranked.gaps
    order = np.full(gaps.shape, -LARGEST, order="F")
    if gaps.shape[1] == 1:
        return order
    # 1 - (p_top - p_k) is the mass of all letters but the top one, plus p_k.
    rest = np.logaddexp(ranked.log_beside, ranked.log_p[:, 1:])
    order[:, 0] = np.where(gaps[:, 1] == 0, 0.0, np.clip(rest[:, 0], -LARGEST, 0.0))
    order[:, 1:] = np.clip(-rest, 0.0, LARGEST)
    for rank in range(1, gaps.shape[1]):
        # A much less probable letter adds nothing to the sum; it stays behind the letter before it.
        before = order[:, rank - 1]
        behind = np.minimum(np.maximum(order[:, rank], np.nextafter(before, LARGEST)), LARGEST)
        order[:, rank] = np.where(gaps[:, rank] < gaps[:, rank - 1], behind, before)
    return order


@score(
    "margin_literal",
    "margin, literal",
    "largest p minus the second largest: the same for every option, so a set has all options or none",
    "Azad et al. 2025, equation 6 as printed",
)
def margin_literal(ranked: Ranked) -> Floats:
    """p_1 - p_2 for every letter of the row, 1 for a letter without others.

    The more certain a row, the larger its score: certain rows get empty sets, which the most probable letter
    fills, and uncertain ones get full sets.
    """
    if ranked.gaps.shape[1] == 1:
        return np.full(ranked.gaps.shape, LARGEST, order="F")
    # 1 - (p_1 - p_2) is the mass of all letters but the first, plus p_2.
    rest = np.logaddexp(ranked.log_beside[:, 0], ranked.log_p[:, 1])
    order = np.where(ranked.gaps[:, 1] == 0, 0.0, np.clip(-rest, 0.0, LARGEST))
    return np.asfortranarray(np.tile(order[:, None], ranked.gaps.shape[1]))


def _raps_value(order: Array, penalty: float, k_reg: float) -> Array:
    if penalty <= 0:
        return _value(order)
    steps = np.ceil(order)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(order < steps, np.exp(1 - 1 / (steps - order)), 0.0)
    return np.asarray(1 + penalty * (steps - 1 - share))


@score(
    "raps",
    "RAPS",
    "as aps_randomised, plus penalty x (rank of y - k_reg) where that is positive",
    "Angelopoulos et al. 2021",
    _raps_value,
    penalty=Parameter(0.1, MOST_PENALTY, "added for each rank beyond the first k_reg (lambda in the paper)"),
    k_reg=Parameter(2, 1000, "ranks that add nothing"),
)
def raps(ranked: Ranked, penalty: float, k_reg: float) -> Floats:
    """APS with its random term, plus penalty (rank - k_reg)_+.

    Scores gather below each 1 + m penalty. So the order is m + 1 - h(r), with r the score's distance from it
    as a share of the penalty, and h(r) = 1 / (1 - log r).
    """
    log_rest = _log_beyond(ranked)
    if penalty <= 0:
        return _finite(-log_rest)
    steps = np.maximum(ranked.rank - k_reg, 0)
    log_share = log_rest - np.log(penalty)
    share = np.exp(np.minimum(log_share, 700))
    whole = np.floor(share)
    with np.errstate(divide="ignore"):
        log_share = np.where(whole > 0, np.log(share - whole), log_share)
    return np.asarray(steps - whole + 1 - 1 / (1 - log_share))


def _saps_value(order: Array, penalty: float) -> Array:
    return order if penalty > 0 else _value(order)


@score(
    "saps",
    "SAPS",
    "u p_max for the most probable option, p_max + penalty x (rank - 2 + u) for the others",
    "Huang et al. 2024",
    _saps_value,
    penalty=Parameter(0.2, MOST_PENALTY, "added for each rank below the first (lambda in the paper)"),
)
def saps(ranked: Ranked, penalty: float) -> Floats:
    """u p_max for the most probable letters, p_max + (rank - 2 + u) penalty otherwise."""
    noise = ranked.noise[:, None]
    top = ranked.rank == 1
    # expm1 of the log of 1 - p_max is -p_max.
    log_rest = np.where(top, np.log1p(noise * np.expm1(ranked.log_beside)), ranked.log_beside)
    if penalty <= 0:
        return _finite(-log_rest)
    extra = np.where(top, 0.0, (ranked.rank - 2 + noise) * penalty)
    return np.asarray(extra - np.expm1(log_rest))


def _finite(order: Floats) -> Floats:
    return np.asarray(np.minimum(order, LARGEST))

"""Sorting the letters of each prompt by probability, ties as in the released scores.

numpy's default argsort is no stable sort: on rows this short it runs a fixed sorting network, and
logits in half precision tie often enough for that to move published set sizes. The network
below gives the same order on every machine.

Probabilities with the letters of each row in descending order of probability, and what follows from the
order.

Everything here is the same for letters of equal probability, so no number depends on how ties were sorted.
Masses are logarithms: a probability of 1e-400 has its place, and so has one that falls short of 1 by as much.

Nonconformity scores, SCORES by the names of `score.scores`. To add one, add an entry.

`order` takes Ranked rows and Penalties and returns [n, k]: numbers in the order of the letters' scores. The
clean protocol builds {letters with a score <= threshold} from it, for which order is all that counts. For a
score s it is -log(1 - s), worked out from the mass 1 - s, so that letters with s = 1 - 1e-20 and 1 - 1e-400
stay apart, where rounded scores would all be 1. `value` turns such numbers back into scores.

Letters of equal probability have equal scores. Random terms use one uniform number a row that hangs
on the item alone (`uniform`), so it is the same in every order of rows, every variation and every split.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from vouch.metrics.responses import Array, Floats, Ranked

LARGEST = np.finfo(np.float64).max
"""Of a score of exactly 1: infinity is the threshold that admits every letter."""


class Penalties(NamedTuple):
    """raps: what each place beyond the first k_reg adds; saps: what each place below the first adds."""

    raps: float = 0.1
    k_reg: int = 2
    saps: float = 0.2


MOST_PENALTY = 1e6
"""So that scores stay finite, and differences of probabilities still show."""


def aps_randomised(ranked: Ranked, penalties: Penalties) -> Floats:
    """APS with its random term: sum of all p_j > p_k, plus u times the sum of all p_j = p_k."""
    return _finite(-_log_beyond(ranked))


def _log_beyond(ranked: Ranked) -> Floats:
    """[n, k] log of 1 - aps_randomised, the sum of all p_j < p_k plus 1 - u times that of all p_j = p_k."""
    with np.errstate(invalid="ignore", divide="ignore"):  # of letters with p = 0, and of u = 1
        rest = np.log1p(ranked.noise[:, None] * np.expm1(ranked.log_below - ranked.log_from))
    return np.asarray(np.where(np.isneginf(ranked.log_from), -np.inf, ranked.log_from + rest))


def lac(ranked: Ranked, penalties: Penalties) -> Floats:
    """LAC, least ambiguous classifier: 1 - p (Sadinle, Lei and Wasserman 2019)."""
    return _finite(-ranked.log_p)


def margin(ranked: Ranked, penalties: Penalties) -> Floats:
    """max_{j != k} p_j - p_k, in -1 ... 1; -p_k for a letter that stands alone (Löfström et al. 2015).

    Two-sided: negative for the most probable letter. Where nearly all answers are on top the threshold is
    negative too, a set may be empty, and `negative_threshold_rate` says how often.
    """
    gaps = ranked.gaps
    found = np.full(gaps.shape, -LARGEST, order="F")
    if gaps.shape[1] == 1:
        return found
    # 1 - (p_top - p_k) is what lies beside the top, plus p_k.
    rest = np.logaddexp(ranked.log_beside, ranked.log_p[:, 1:])
    found[:, 0] = np.where(gaps[:, 1] == 0, 0.0, np.clip(rest[:, 0], -LARGEST, 0.0))
    found[:, 1:] = np.clip(-rest, 0.0, LARGEST)
    for rank in range(1, gaps.shape[1]):
        # A much less probable letter adds nothing to the sum; it keeps its place behind the one before.
        before = found[:, rank - 1]
        behind = np.minimum(np.maximum(found[:, rank], np.nextafter(before, LARGEST)), LARGEST)
        found[:, rank] = np.where(gaps[:, rank] < gaps[:, rank - 1], behind, before)
    return found


def raps(ranked: Ranked, penalties: Penalties) -> Floats:
    """APS with its random term, plus penalty (place - k_reg)_+ (Angelopoulos, et al. 2021).

    Scores gather below every 1 + m penalty. So the order is m + 1 - h(r), with r how far below the score lies
    as a share of the penalty, and h(r) = 1 / (1 - log r).
    """
    log_rest = _log_beyond(ranked)
    if penalties.raps <= 0:
        return _finite(-log_rest)
    steps = np.maximum(ranked.place - penalties.k_reg, 0)
    log_share = log_rest - np.log(penalties.raps)
    share = np.exp(np.minimum(log_share, 700))
    whole = np.floor(share)
    with np.errstate(divide="ignore"):
        log_share = np.where(whole > 0, np.log(share - whole), log_share)
    return np.asarray(steps - whole + 1 - 1 / (1 - log_share))


def _raps_value(order: Array, penalties: Penalties) -> Array:
    if penalties.raps <= 0:
        return _value(order, penalties)
    steps = np.ceil(order)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(order < steps, np.exp(1 - 1 / (steps - order)), 0.0)
    return np.asarray(1 + penalties.raps * (steps - 1 - share))


def saps(ranked: Ranked, penalties: Penalties) -> Floats:
    """u p_max for the most probable letters, p_max + (place - 2 + u) penalty else (Huang et al. 2024)."""
    noise = ranked.noise[:, None]
    top = ranked.place == 1
    # expm1 of the log of 1 - p_max is -p_max.
    log_rest = np.where(top, np.log1p(noise * np.expm1(ranked.log_beside)), ranked.log_beside)
    if penalties.saps <= 0:
        return _finite(-log_rest)
    extra = np.where(top, 0.0, (ranked.place - 2 + noise) * penalties.saps)
    return np.asarray(extra - np.expm1(log_rest))


def _saps_value(order: Array, penalties: Penalties) -> Array:
    return order if penalties.saps > 0 else _value(order, penalties)


def _finite(order: Floats) -> Floats:
    return np.asarray(np.minimum(order, LARGEST))


def _value(order: Array, penalties: Penalties) -> Array:
    """The scores of numbers -log(1 - s), those of margin below 0 turned round 0; infinity stays."""
    found = np.sign(order) * -np.expm1(-np.abs(order))
    return np.asarray(np.where(np.isinf(order), order, found))


class Score(NamedTuple):
    """order(ranked, penalties) [n, k]; value(order, penalties): the scores of such numbers."""

    order: Callable[[Ranked, Penalties], Floats]
    value: Callable[[Array, Penalties], Array] = _value


SCORES: dict[str, Score] = {
    # Sum of all p_j >= p_k: equation 4 of the benchmark's paper to the letter, equals included, without
    # the random term of Romano, Sesia and Candes (2020).
    "aps": Score(lambda ranked, penalties: _finite(-ranked.log_below)),
    # Sum of all p_j > p_k: the set that keeps the letter with which the running sum crosses the threshold.
    # The most probable letter has score 0: no set is empty.
    "aps_crossing": Score(lambda ranked, penalties: _finite(-ranked.log_from)),
    "aps_randomised": Score(aps_randomised),
    "lac": Score(lac),
    "margin": Score(margin),
    "raps": Score(raps, _raps_value),
    "saps": Score(saps, _saps_value),
}


def with_penalties(name: str, penalties: Penalties) -> Callable[[Ranked], Floats]:
    """The order by a score with its penalties."""
    order = SCORES[name].order
    return lambda ranked: order(ranked, penalties)


def score_values(name: str, order: Array, penalties: Penalties) -> Array:
    """Scores, such as thresholds, from numbers that `order` gives; infinite where these are."""
    return np.asarray(SCORES[name].value(np.asarray(order, dtype=np.float64), penalties))

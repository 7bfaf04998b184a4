"""Nonconformity scores, SCORES by the names of `score.scores`. To add one, add an entry.

A formula takes Ranked rows and Penalties and returns [n, k], the score of every letter by its definition. The
clean protocol builds {letters with a score <= threshold} from it, so a score has no unit: only its order
counts. Letters of equal probability have equal scores. Random terms use one uniform number a row that hangs
on the item alone (`uniform`), so it is the same in every order of rows, every variation and every split.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from vouch.metrics.conformal.ranked import Ranked
from vouch.metrics.responses import Floats


class Penalties(NamedTuple):
    """raps: what each place beyond the first k_reg adds; saps: what each place below the first adds."""

    raps: float = 0.1
    k_reg: int = 2
    saps: float = 0.2


def aps_randomised(ranked: Ranked, penalties: Penalties) -> Floats:
    """APS with its random term: sum of all p_j > p_k, plus u times the sum of all p_j = p_k."""
    return np.asarray(ranked.before + ranked.noise[:, None] * (ranked.upto - ranked.before))


def lac(ranked: Ranked, penalties: Penalties) -> Floats:
    """LAC, least ambiguous classifier: 1 - p (Sadinle, Lei and Wasserman 2019)."""
    return np.asarray(1 - ranked.p)


def margin(ranked: Ranked, penalties: Penalties) -> Floats:
    """max_{j != k} p_j - p_k, in -1 ... 1; -p_k for a letter that stands alone (Löfström et al. 2015).

    Two-sided: negative for the most probable letter. Where nearly all answers are on top the threshold is
    negative too, a set may be empty, and `negative_threshold_rate` says how often.
    """
    scores = ranked.p[:, :1] - ranked.p
    second = ranked.p[:, 1] if ranked.p.shape[1] > 1 else 0.0
    scores[:, 0] = second - ranked.p[:, 0]
    return np.asarray(scores)


def raps(ranked: Ranked, penalties: Penalties) -> Floats:
    """APS with its random term, plus penalty (place - k_reg)_+ (Angelopoulos, et al. 2021)."""
    extra = penalties.raps * np.maximum(ranked.place - penalties.k_reg, 0)
    return np.asarray(aps_randomised(ranked, penalties) + extra)


def saps(ranked: Ranked, penalties: Penalties) -> Floats:
    """u p_max for the most probable letters, p_max + (place - 2 + u) penalty else (Huang et al. 2024)."""
    noise, top = ranked.noise[:, None], ranked.p[:, :1]
    below = top + (ranked.place - 2 + noise) * penalties.saps
    return np.asarray(np.where(ranked.place == 1, noise * top, below))


SCORES: dict[str, Callable[[Ranked, Penalties], Floats]] = {
    # Sum of all p_j >= p_k: equation 4 of the benchmark's paper to the letter, equals included, without
    # the random term of Romano, Sesia and Candes (2020).
    "aps": lambda ranked, penalties: ranked.upto,
    # Sum of all p_j > p_k: the set that keeps the letter with which the running sum crosses the threshold.
    # The most probable letter has score 0: no set is empty.
    "aps_crossing": lambda ranked, penalties: ranked.before,
    "aps_randomised": aps_randomised,
    "lac": lac,
    "margin": margin,
    "raps": raps,
    "saps": saps,
}


def with_penalties(name: str, penalties: Penalties) -> Callable[[Ranked], Floats]:
    """The formula of a name with its penalties."""
    formula = SCORES[name]
    return lambda ranked: formula(ranked, penalties)

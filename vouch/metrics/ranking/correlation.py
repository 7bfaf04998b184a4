"""How well one number orders models as another one does: the only place where correlations are computed.

Both arguments hold one number per model in the last axis, [..., models], and higher is better in both.
NaN where all numbers of one side are equal, or one is NaN.
"""

import math
from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr
from scipy.stats import rankdata

from vouch.metrics.responses import Array

EXACT = 8
"""Most models for which every permutation is looked at."""
CLOSE = 1e-9


def spearman(x: Array, y: Array) -> Array:
    """[...] Spearman's rho, ties at their mean rank."""
    return _pearson(_ranks(x), _ranks(y))


def weighted_tau(x: Array, y: Array) -> Array:
    """[...] weighted Kendall tau (Vigna 2015) as scipy.stats.weightedtau has it by default.

    A pair weighs 1 / (1 + r) + 1 / (1 + s), with r and s the places of its models from the top, 0 for the
    best. The mean of the taus by the order of x (ties: of y) and by that of y (ties: of x).
    """
    signs_x, signs_y = _signs(x), _signs(y)
    # A pair's weight is a sum over its two models: so is the sum over all pairs.
    agreed, of_x, of_y = (
        pairs.sum(axis=-1, dtype=np.int64) for pairs in (signs_x * signs_y, signs_x**2, signs_y**2)
    )
    taus = []
    for first, second in ((x, y), (y, x)):
        weights = 1 / (1 + _places(first, second))
        both, alone_x, alone_y = ((weights * pairs).sum(axis=-1) for pairs in (agreed, of_x, of_y))
        with np.errstate(invalid="ignore"):
            taus.append(both / (np.sqrt(alone_x) * np.sqrt(alone_y)))
    unknown = (np.isnan(x) | np.isnan(y)).any(axis=-1)
    return np.where(unknown, np.nan, np.clip((taus[0] + taus[1]) / 2, -1, 1))


def _signs(values: Array) -> NDArray[np.int8]:
    """[..., n, n] the sign of each model's value minus each other's."""
    one, other = values[..., :, None], values[..., None, :]
    return np.asarray((one > other).view(np.int8) - (one < other).view(np.int8))


def p_values(x: Array, y: Array) -> tuple[float, float]:
    """Two-sided p of the rho of [models], and the smallest that any order of these models could have.

    Up to EXACT models the share of all permutations whose rho is as far from 0; above, Student's t with n - 2
    degrees of freedom, and 2 / n! for the smallest. (NaN, NaN) where rho is NaN.
    """
    count, rho = len(x), float(spearman(x, y))
    if np.isnan(rho):
        return math.nan, math.nan
    if count <= EXACT:
        drawn = np.abs(_pearson(_ranks(x)[_permutations(count)], _ranks(y)[None]))
        return float((drawn >= abs(rho) - CLOSE).mean()), float((drawn >= drawn.max() - CLOSE).mean())
    least = 2 / math.factorial(count)
    if abs(rho) == 1:
        return least, least
    t = abs(rho) * math.sqrt((count - 2) / (1 - rho**2))
    return max(least, float(2 * stdtr(count - 2, -t))), least


@cache
def _permutations(count: int) -> NDArray[np.int64]:
    return np.array(list(permutations(range(count))))


def _ranks(values: Array) -> Array:
    """Twice the ranks, whole numbers, so that sums of them are exact."""
    return np.asarray(np.rint(2 * rankdata(values, axis=-1)))


def _pearson(x: Array, y: Array) -> Array:
    """[...] of whole numbers [..., n]."""
    count = x.shape[-1]

    def product(a: Array, b: Array) -> Array:
        return np.asarray(count * (a * b).sum(axis=-1) - a.sum(axis=-1) * b.sum(axis=-1))

    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.clip(product(x, y) / np.sqrt(product(x, x) * product(y, y)), -1, 1))


def _places(first: Array, second: Array) -> NDArray[np.int64]:
    """[..., n] place from the top by `first`, ties by `second`."""
    order = np.lexsort((second, first), axis=-1)[..., ::-1]
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.broadcast_to(np.arange(order.shape[-1]), order.shape), axis=-1)
    return places

"""Temperature scaling (Guo, Pleiss, Sun and Weinberger 2017): one number that makes a model less sure.

softmax(logits / T) with the T that is most likely for the calibration half. In beta = 1/T the negative
log-likelihood is convex, so T is where its slope, E_p[logit] - logit of the answer, changes sign.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.calibration.bins import Bins, by_split, equal_slots, tally
from vouch.metrics.conformal.ranked import Ranked
from vouch.metrics.conformal.splits import Splits
from vouch.metrics.responses import Array, Bools, Floats, Ints

COLDEST, HOTTEST = 0.05, 20.0
"""Bounds of T, met where a calibration half is all right or all wrong. Where its rows have equal logits, or
one option each, every T is as good: NaN."""
NODES, ZOOMS, HALVINGS = 17, 4, 40
ROWS = 1 << 16
"""Rows that are scaled at a time, of all splits together, so that memory stays flat."""


@dataclass(frozen=True)
class Scaled:
    """Per split, [splits]: the temperature; on the test half nll in nats and bins [splits, bins].

    before: bins of the same rows as they are without the temperature.
    """

    temperature: Array
    nll: Array
    bins: Bins
    before: Bins


def scale(ranked: Ranked, correct: Floats | Bools, splits: Splits, bins: int) -> Scaled:
    """Fits T on the calibration rows and measures on the test rows; correct [n]: of each prediction."""
    calibrating = splits.calibrating()
    logits, answer = logs(ranked)
    fitted = fit(logits, answer, calibrating)
    found = np.where(np.isnan(fitted), 1.0, fitted)
    weights = np.exp(logits)
    confidence = weights.max(axis=1) / weights.sum(axis=1)
    slots = equal_slots(confidence, bins)
    nll, tallied, before = [], [], []
    at_once = max(1, ROWS // len(logits))
    for start in range(0, len(found), at_once):
        temperature = found[start : start + at_once]
        split, row = np.nonzero(~calibrating[start : start + at_once])
        weights = np.exp(logits[row] / temperature[split, None])
        total = weights.sum(axis=1)
        each = np.log(total) - answer[row] / temperature[split]
        nll += [part.mean() for part in np.split(each, np.flatnonzero(np.diff(split)) + 1)]
        sure = weights.max(axis=1) / total
        first, every, right = split * bins, len(temperature) * bins, correct[row]
        tallied.append(tally(first + equal_slots(sure, bins), every, sure, right))
        before.append(tally(first + slots[row], every, confidence[row], right))
    return Scaled(fitted, np.array(nll), by_split(tallied, bins), by_split(before, bins))


def logs(ranked: Ranked) -> tuple[Floats, Floats]:
    """[n, k] log p, -inf where there is no letter; [n] that of the answer, the largest of several.

    An impossible letter has what the least float64 gives, or less where another one has.
    """
    impossible = np.isneginf(ranked.log_p)
    least = ranked.log_p.min(axis=1, where=~impossible, initial=np.log(np.finfo(np.float64).tiny))
    found = np.where(impossible, least[:, None], ranked.log_p)
    found = np.where(ranked.present, found, -np.inf)
    return found, np.where(ranked.answers, found, -np.inf).max(axis=1)


def fit(logits: Floats, answer: Floats, calibrating: NDArray[np.bool_]) -> Array:
    """[splits] T of each row of calibrating [splits, n], to about 1e-7 of itself; to 2e-3 where another split
    has none within the bounds. NaN where all T are alike.

    logits [n, k], -inf where there is no letter; answer [n]: the answer's (the largest of several).
    Slopes of all rows are taken at a few values of beta, which the splits share, and averaged over each
    split's rows; the interval that holds all roots shrinks until it is as narrow as the splits allow. Where
    they lie far apart it stays wide, so the root is that of a cubic through the four nodes about it.
    """
    low, high = 1 / HOTTEST, 1 / COLDEST
    weights = calibrating.astype(np.float64)
    for _ in range(ZOOMS):
        grid = np.geomspace(low, high, NODES)
        slopes = np.stack([_slope(logits, answer, node) for node in grid])
        means = np.einsum("sn,gn->sg", weights, slopes)
        above = (means > 0).argmax(axis=1)
        above[~(means > 0).any(axis=1)] = NODES - 1
        above = np.maximum(above, 1)
        low, high = float(grid[above.min() - 1]), float(grid[above.max()])
    told = logits.max(axis=1) > np.where(np.isneginf(logits), np.inf, logits).min(axis=1)
    return np.where((weights * told).any(axis=1), 1 / _roots(grid, means, above), np.nan)


def _roots(grid: Floats, means: Floats, above: Ints) -> Array:
    """[splits] where the slopes [splits, g] at the nodes of a grid of beta are 0, below node `above`.

    Halves the interval by the sign of the polynomial through four nodes (Lagrange).
    """
    rows = np.arange(len(means))[:, None]
    nodes = np.clip(above - 2, 0, NODES - 4)[:, None] + np.arange(4)
    places, values = np.log(grid)[nodes], means[rows, nodes]
    others = [[other for other in range(4) if other != own] for own in range(4)]
    beside = places[:, others]  # [splits, 4, 3]
    spans = places[:, :, None] - beside
    left, right = np.log(grid)[above - 1], np.log(grid)[above]
    for _ in range(HALVINGS):
        middle = (left + right) / 2
        away = ((middle[:, None, None] - beside) / spans).prod(axis=2)
        rises = (values * away).sum(axis=1) > 0
        left, right = np.where(rises, left, middle), np.where(rises, middle, right)
    return np.asarray(np.exp((left + right) / 2))


def _slope(logits: Floats, answer: Floats, beta: float) -> Array:
    """[n] derivative of the negative log-likelihood with respect to beta."""
    scaled = beta * logits
    weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    finite = np.where(np.isneginf(logits), 0, logits)
    return np.asarray((weights * finite).sum(axis=1) / weights.sum(axis=1) - answer)

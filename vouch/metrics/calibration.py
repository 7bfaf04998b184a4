"""Whether confidence matches accuracy: probabilities, calibration bins and temperature scaling.

`Probabilities` is one protocol's view of the answers. `Bins` are the sums behind ECE and MCE. `scale` fits a
temperature (Guo et al. 2017): softmax(logits / T) with the T that is likeliest for the calibration half. In
beta = 1/T the negative log-likelihood is convex, so T is where its slope changes sign.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.conformal.sets import Splits
from vouch.metrics.intervals import group_sums, resampled
from vouch.metrics.responses import Array, Bools, Floats, Ints, Ranked, Responses, count, descending, pieces


@dataclass(frozen=True)
class Probabilities:
    """n responses with at most k letters, as one protocol sees them.

    logits  [n, k] those of the letters that count; -inf for the other letters
    shared  whether letters with the same largest logit share the prediction; if not, the first has all of it
    p       [n, k] softmax over the letters that count; 0 for the other letters
    present [n, k] whether the letter counts
    answers [n, k] whether the letter counts and is correct; at least one in each row
    roles   [n, k] the meaning of each letter, see Responses
    """

    logits: Floats
    shared: bool
    p: Floats
    present: Bools
    answers: Bools
    roles: NDArray[np.int32]

    @cached_property
    def tops(self) -> Bools:
        """[n, k] whether the letter has the largest logit; at least one in each row has."""
        return np.asarray(self.logits == self.logits.max(axis=1, keepdims=True))

    @cached_property
    def picked(self) -> Bools | Floats:
        """[n, k] whether the letter is predicted, or its share of the prediction; each row sums to 1."""
        if self.shared:
            return np.asarray(self.tops / self.tops.sum(axis=1, keepdims=True))
        picked = self.tops.copy(order="K")
        earlier = self.tops[:, 0].copy()
        for letter in range(1, picked.shape[1]):
            picked[:, letter] &= ~earlier
            earlier |= self.tops[:, letter]
        return picked

    @cached_property
    def options(self) -> NDArray[np.uint8]:
        """[n] how many letters count."""
        return count(self.present)

    @cached_property
    def correct(self) -> Floats | Bools:
        """[n] the share of the prediction that is correct (0 or 1 unless ties share it)."""
        return self.share(self.answers)

    @cached_property
    def confidence(self) -> Floats:
        """[n] the largest probability."""
        return np.asarray(self.p.max(axis=1))

    @cached_property
    def sureness(self) -> Floats:
        """[n] -log(1 - confidence): the same order, but also exact where the confidence rounds to 1."""
        return sureness(self.logits)

    def share(self, letters: Bools) -> Floats | Bools:
        """[n] the share of the prediction that falls on the marked letters [n, k]."""
        fallen = self.picked * letters
        return np.asarray(fallen.any(axis=1) if fallen.dtype == bool else fallen.sum(axis=1))

    @cached_property
    def _ranked(self) -> tuple[Floats, Bools]:
        if self.present.all():
            return descending(self.p, self.answers)
        # Letters that do not count go last, behind letters whose probability is 0.
        return descending(np.where(self.present, self.p, self.p.dtype.type(-1)), self.answers)

    @cached_property
    def ranked_present(self) -> Bools:
        """[n, k] whether there is a letter of this rank."""
        return self._ranked[0] >= 0

    @cached_property
    def ranked(self) -> Floats:
        """[n, k] probabilities in descending order, then -1 for ranks without a letter."""
        return self._ranked[0]

    @cached_property
    def ranked_answers(self) -> Bools:
        """[n, k] the answers, in the order of the probabilities."""
        return self._ranked[1]

    @cached_property
    def cumulative(self) -> Floats:
        """[n, k] running sum of the ranked probabilities, in their dtype."""
        total = np.maximum(self.ranked, 0)
        for rank in range(1, total.shape[1]):
            total[:, rank] += total[:, rank - 1]
        return total


def authors_probabilities(responses: Responses) -> Probabilities:
    """All letters of a row count, in the stored dtype; if the top ones tie, the first is predicted."""
    return Probabilities(
        logits=responses.logits,
        shared=False,
        p=softmax(responses.logits),
        present=_first(responses.letters, responses.logits),
        answers=responses.answers,
        roles=responses.roles,
    )


def clean_probabilities(responses: Responses) -> Probabilities:
    """Only the prompt's options count, in float64; if the top ones tie, they share the prediction."""
    present = _first(responses.options, responses.logits)
    logits = np.where(present, responses.logits.astype(np.float64), -np.inf)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    # Added from the smallest up, so that the order of the options cannot change a bit.
    total = np.zeros(len(weights))
    for column in np.sort(weights, axis=1).T:
        total += column
    return Probabilities(
        logits=logits,
        shared=True,
        p=weights / total[:, None],
        present=present,
        answers=responses.answers,
        roles=responses.roles,
    )


def softmax(logits: Floats) -> Floats:
    """exp(l - max) / sum over the letters [n, k]; a letter with -inf gets 0.

    The sum runs from the first letter to the last, as numpy sums a row of fewer than eight values,
    so that float32 results equal those of row-by-row code bit for bit.
    """
    weights = np.empty_like(logits, order="F")
    for piece in pieces(len(logits)):
        rows = logits[piece]
        part: Floats = np.exp(rows - rows.max(axis=1, keepdims=True))
        part /= part.sum(axis=1, keepdims=True)
        weights[piece] = part
    return weights


def log_softmax(logits: Floats) -> Floats:
    """[n, k] float64, log of the softmax of each row; -inf for a missing letter.

    The sum runs from the smallest up, so the order of the options cannot change a bit, and omits the largest,
    so that the log of a probability just below 1 is not 0.
    """
    gaps = _gaps(logits)
    return np.asarray(gaps - np.log1p(_sums(np.exp(np.sort(gaps, axis=1)[:, :-1])))[:, None])


def sureness(logits: Floats) -> Floats:
    """[n] -log(1 - p) of the most probable letter; the largest float64 if there is no other letter."""
    most = np.finfo(np.float64).max
    others = np.sort(_gaps(logits), axis=1)[:, :-1]
    second = others.max(axis=1, initial=-most)
    with np.errstate(divide="ignore"):
        rest = second + np.log(_sums(np.exp(others - second[:, None])))
    return np.asarray(np.minimum(np.log1p(np.exp(rest)) - rest, most))


def _gaps(logits: Floats) -> Floats:
    gaps = logits.astype(np.float64)
    return np.asarray(gaps - gaps.max(axis=1, keepdims=True))


def _sums(columns: Floats) -> Floats:
    """[n] sum of the columns [n, k], added from the first to the last."""
    total = np.zeros(len(columns))
    for column in columns.T:
        total += column
    return total


def _first(letters: Ints, like: np.ndarray) -> Bools:
    return np.asarray((np.arange(like.shape[1])[:, None] < letters).T)


@dataclass(frozen=True)
class Bins:
    """Per bin, [..., bins]: how many rows, the sum of their confidence and the sum of their correctness."""

    count: Array
    confidence: Array
    correct: Array

    @property
    def gap(self) -> Array:
        """[..., bins] |accuracy - mean confidence|; 0 for an empty bin."""
        rows = np.maximum(self.count, 1)
        return np.asarray(np.abs(self.correct / rows - self.confidence / rows))

    @property
    def weight(self) -> Array:
        """[..., bins] share of the rows."""
        return np.asarray(self.count / self.count.sum(axis=-1, keepdims=True))


def tally(slots: Ints, bins: int, confidence: Floats, correct: Floats | Bools) -> Bins:
    """Adds the rows [n] to the bin that their slot names, one by one, in the dtype of `confidence`."""

    def total(values: Floats | Bools) -> Array:
        sums = np.zeros(bins, dtype=confidence.dtype)
        np.add.at(sums, slots, values.astype(sums.dtype, copy=False))
        return sums.astype(np.float64)

    return Bins(np.bincount(slots, minlength=bins).astype(np.float64), total(confidence), total(correct))


def resampled_bins(
    slots: Ints, bins: int, confidence: Floats, correct: Floats | Bools, groups: Ints, seed: int
) -> Bins:
    """Bins [RESAMPLES, bins] of a bootstrap that draws whole groups; arguments [n] as for `tally`."""
    columns = (np.ones(len(slots)), confidence, correct)
    sums = group_sums(groups, [(slots, values, bins) for values in columns])
    return Bins(*np.split(resampled(sums, seed), len(columns), axis=1))


def by_split(parts: Sequence[Bins], bins: int) -> Bins:
    """Tallies of consecutive splits, joined into one of shape [splits, bins]."""
    columns = ([getattr(part, column.name) for part in parts] for column in fields(Bins))
    return Bins(*(np.concatenate(each).reshape(-1, bins) for each in columns))


def torchmetrics_slots(confidence: NDArray[np.float32], bins: int) -> Ints:
    """[n] slot of each confidence as torchmetrics 1.9 bins it: 0 ... bins, one slot more than `bins`.

    A value on an edge belongs to the bin above, so a confidence of exactly 1 has a bin of its own.
    """
    edges = _torch_edges(bins)
    slots = (confidence * np.float32(bins)).astype(np.int64)
    # The product may round across an edge, by one bin at most.
    slots -= confidence < edges[slots]
    slots += confidence >= np.append(edges, np.float32(np.inf))[slots + 1]
    return slots


def _torch_edges(bins: int) -> NDArray[np.float32]:
    """torch.linspace(0, 1, bins + 1) in float32: a float32 step, fused multiply-add, from both ends."""
    step, edge = float(np.float32(1) / np.float32(bins)), np.arange(bins + 1)
    return np.where(edge < (bins + 1) // 2, step * edge, 1 - step * edge[::-1]).astype(np.float32)


def equal_slots(confidence: Floats, bins: int) -> Ints:
    """[n] slot of each confidence: 0 ... bins - 1. An edge belongs to the bin above it, 1 to the last bin."""
    # A product on an edge may have been rounded down: 0.29 * 100 gives 28.999999999999996.
    return np.minimum((confidence * bins * (1 + 1e-12)).astype(np.int64), bins - 1)


def mass_slots(confidence: Floats, bins: int) -> Ints:
    """[n] slot of each confidence among bins of equally many rows: floor(bins x share of rows with less).

    Equal confidences share a slot, so the order of the rows does not matter.
    """
    less = np.searchsorted(np.sort(confidence), confidence, side="left")
    return np.asarray(less * bins // len(confidence))


COLDEST, HOTTEST = 0.05, 20.0
"""Bounds of T, reached if a calibration half is all correct or all wrong. If its rows have equal logits, or
one option each, every T fits equally well: NaN."""
NODES, ZOOMS, HALVINGS = 17, 4, 40
ROWS = 1 << 16
"""How many rows, over all splits, are scaled at a time; this limits the memory needed."""


@dataclass(frozen=True)
class Scaled:
    """Per split, [splits]: the temperature; for the test half, nll in nats and bins [splits, bins].

    before: bins of the same rows without the temperature.
    """

    temperature: Array
    nll: Array
    bins: Bins
    before: Bins


def scale(ranked: Ranked, correct: Floats | Bools, splits: Splits, bins: int) -> Scaled:
    """Fits T on calibration rows, measures on test rows. correct [n]: how correct each prediction is."""
    calibrating = splits.calibrating()
    logits, answer = logs(ranked)
    fitted = fit(logits, answer, calibrating)
    temperatures = np.where(np.isnan(fitted), 1.0, fitted)
    weights = np.exp(logits)
    confidence = weights.max(axis=1) / weights.sum(axis=1)
    slots = equal_slots(confidence, bins)
    nll, tallied, before = [], [], []
    at_once = max(1, ROWS // len(logits))
    for start in range(0, len(temperatures), at_once):
        temperature = temperatures[start : start + at_once]
        split, row = np.nonzero(~calibrating[start : start + at_once])
        weights = np.exp(logits[row] / temperature[split, None])
        total = weights.sum(axis=1)
        each = np.log(total) - answer[row] / temperature[split]
        ends = [0, *(np.flatnonzero(np.diff(split)) + 1).tolist(), len(each)]
        nll += [np.add.reduce(each[first:end]) / (end - first) for first, end in pairwise(ends)]
        sure = weights.max(axis=1) / total
        first, every, right = split * bins, len(temperature) * bins, correct[row]
        tallied.append(tally(first + equal_slots(sure, bins), every, sure, right))
        before.append(tally(first + slots[row], every, confidence[row], right))
    return Scaled(fitted, np.array(nll), by_split(tallied, bins), by_split(before, bins))


def logs(ranked: Ranked) -> tuple[Floats, Floats]:
    """[n, k] log p, -inf for a missing letter; [n] log p of the answer (if several, the largest).

    A letter with p = 0 has the log of the least float64, or less if another letter has less.
    """
    impossible = np.isneginf(ranked.log_p)
    least = ranked.log_p.min(axis=1, where=~impossible, initial=np.log(np.finfo(np.float64).tiny))
    log_p = np.where(impossible, least[:, None], ranked.log_p)
    log_p = np.where(ranked.present, log_p, -np.inf)
    return log_p, np.where(ranked.answers, log_p, -np.inf).max(axis=1)


def fit(logits: Floats, answer: Floats, calibrating: NDArray[np.bool_]) -> Array:
    """[splits] T of each row of `calibrating` [splits, n], to about 1e-7 of itself; to 2e-3 if another split
    has no T within the bounds. NaN if every T fits equally well.

    logits [n, k], -inf for a missing letter; answer [n]: the answer's logit (if several, the largest).
    Slopes of all rows are taken at a few values of beta, which the splits share, and averaged over each
    split's rows; the interval that holds all roots shrinks until it is as narrow as the splits allow. If
    the roots lie far apart it stays wide, so each is taken from a cubic through the four nodes around it.
    """
    low, high = 1 / HOTTEST, 1 / COLDEST
    weights = calibrating.astype(np.float64)
    for _ in range(ZOOMS):
        grid = np.geomspace(low, high, NODES)
        slopes = _slopes(logits, answer, grid)
        means = np.einsum("sn,gn->sg", weights, slopes)
        above = (means > 0).argmax(axis=1)
        above[~(means > 0).any(axis=1)] = NODES - 1
        above = np.maximum(above, 1)
        low, high = float(grid[above.min() - 1]), float(grid[above.max()])
    informative = logits.max(axis=1) > np.where(np.isneginf(logits), np.inf, logits).min(axis=1)
    return np.where((weights * informative).any(axis=1), 1 / _roots(grid, means, above), np.nan)


def _roots(grid: Floats, means: Floats, above: Ints) -> Array:
    """[splits] the beta, just below node `above`, at which the slopes [splits, g] on a grid of beta cross 0.

    Halves the interval by the sign of the polynomial through four nodes (Lagrange).
    """
    nodes = np.clip(above - 2, 0, NODES - 4) + np.arange(4)[:, None]
    log_beta, values = np.log(grid)[nodes], means[np.arange(len(means)), nodes]
    others = [[other for other in range(4) if other != own] for own in range(4)]
    beside = np.ascontiguousarray(log_beta[others].swapaxes(0, 1))  # [3, 4, splits]
    spans = log_beta - beside
    left, right = np.log(grid)[above - 1], np.log(grid)[above]
    for _ in range(HALVINGS):
        middle = (left + right) / 2
        away = ((middle - beside) / spans).prod(axis=0)
        rises = (values * away).sum(axis=0) > 0
        left, right = np.where(rises, left, middle), np.where(rises, middle, right)
    return np.asarray(np.exp((left + right) / 2))


def _slopes(logits: Floats, answer: Floats, betas: Floats) -> Array:
    """[g, n] derivative of the negative log-likelihood with respect to beta, at each of betas [g]."""
    slopes = np.empty((len(betas), len(logits)))
    at_once = ROWS // len(betas)
    for start in range(0, len(logits), at_once):
        rows = slice(start, start + at_once)
        columns = np.ascontiguousarray(logits[rows].T)[:, None]  # [k, 1, rows]
        scaled = betas[:, None] * columns
        weights = np.exp(scaled - scaled.max(axis=0))
        finite = np.where(np.isneginf(columns), 0, columns)
        slopes[:, rows] = (weights * finite).sum(axis=0) / weights.sum(axis=0) - answer[rows]
    return slopes

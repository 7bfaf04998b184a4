"""Confidences in equal bins, the raw material of the calibration errors."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.intervals import group_sums, resampled
from vouch.metrics.responses import Array, Bools, Floats, Ints


@dataclass(frozen=True)
class Bins:
    """Per bin, [..., bins]: how many rows, the sum of their confidence, and of their correctness."""

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
    """Sums over the rows [n] of each slot, row after row in the dtype of `confidence`."""

    def total(values: Floats | Bools) -> Array:
        sums = np.zeros(bins, dtype=confidence.dtype)
        np.add.at(sums, slots, values.astype(sums.dtype, copy=False))
        return sums.astype(np.float64)

    return Bins(np.bincount(slots, minlength=bins).astype(np.float64), total(confidence), total(correct))


def resampled_bins(
    slots: Ints, bins: int, confidence: Floats, correct: Floats | Bools, groups: Ints, seed: int
) -> Bins:
    """Bins [RESAMPLES, bins] of a bootstrap over whole groups; arguments [n] as for `tally`."""
    columns = (np.ones(len(slots)), confidence, correct)
    sums = group_sums(groups, [(slots, values, bins) for values in columns])
    return Bins(*np.split(resampled(sums, seed), len(columns), axis=1))


def by_split(parts: Sequence[Bins], bins: int) -> Bins:
    """Tallies in which the splits' bins stand one after the other as one, [splits, bins]."""
    columns = ([getattr(part, column.name) for part in parts] for column in fields(Bins))
    return Bins(*(np.concatenate(each).reshape(-1, bins) for each in columns))


def torchmetrics_slots(confidence: NDArray[np.float32], bins: int) -> Ints:
    """[n] slot of each confidence as torchmetrics 1.9 bins it: 0 ... bins, one more than asked for.

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
    """[n] slot of each confidence: 0 ... bins - 1, edges belong to the bin above, 1 to the last."""
    # A number on an edge may have been rounded down, 0.29 of 100 bins to 28.999999999999996.
    return np.minimum((confidence * bins * (1 + 1e-12)).astype(np.int64), bins - 1)


def mass_slots(confidence: Floats, bins: int) -> Ints:
    """[n] slot of each confidence among bins of equally many rows: floor(bins x share of rows with less).

    Equal confidences share a slot, so that the order of the rows does not matter.
    """
    less = np.searchsorted(np.sort(confidence), confidence, side="left")
    return np.asarray(less * bins // len(confidence))

"""Figures of how honest confidence is: calibration errors, selective prediction, temperature, answer bias."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.calibration.bins import Bins, equal_slots, mass_slots, tally
from vouch.metrics.calibration.metrics import (
    OF_BINS,
    OF_LETTERS,
    OF_MASS,
    OF_ORDER,
    OF_SCALED,
    Letters,
    Order,
)
from vouch.metrics.calibration.probabilities import Probabilities
from vouch.metrics.calibration.temperature import scale
from vouch.metrics.config import Config
from vouch.metrics.conformal.set_figures import Rows
from vouch.metrics.conformal.splits import Splits
from vouch.metrics.intervals import SHARES, centred, group_sums, resampled
from vouch.metrics.protocols import Figure
from vouch.metrics.registry import Formula, named
from vouch.metrics.responses import Ints

BLOCKS = 200
"""Blocks of confidence at most that are drawn: rows between two of their edges count as equally sure."""


def confidence_figures(
    probabilities: Probabilities, rows: Rows, groups: Ints, splits: Splits, config: Config
) -> list[Figure]:
    """Calibration errors, selective prediction and answer bias with bootstrap intervals over groups, about
    their median; what follows from temperature scaling with the percentiles over the splits.
    """
    number = len(groups)
    figures = []
    if splits.sizes.min() > 0 and splits.sizes.max() < number:
        scaled = scale(rows.ranked, rows.correct, splits, config.bins)
        for name, formula in OF_SCALED.items():
            values = formula.of(scaled)
            low, high = np.percentile(values, SHARES)
            figures.append(Figure("", name, float(values.mean()), number, float(low), float(high)))
    return figures + _resampled(probabilities, groups, config)


def _resampled(probabilities: Probabilities, groups: Ints, config: Config) -> list[Figure]:
    """Metrics of sums over rows: all sums of a group are drawn together."""
    bins, letters = config.bins, probabilities.p.shape[1]
    wide, mass = equal_slots(probabilities.confidence, bins), mass_slots(probabilities.confidence, bins)
    surest = min(BLOCKS, len(groups))
    places = mass_slots(-probabilities.confidence, surest)
    cells = _Cells(groups)
    for slots in (wide, mass):
        for values in (np.ones(len(groups)), probabilities.confidence, probabilities.correct):
            cells.add(slots, np.asarray(values, dtype=np.float64), bins)
    right = probabilities.answers / probabilities.answers.sum(axis=1, keepdims=True)
    for shares in (np.asarray(probabilities.picked, dtype=np.float64), right):
        for letter in range(letters):
            cells.add(np.zeros(len(groups), dtype=np.int64), shares[:, letter], 1)
    for values in (np.ones(len(groups)), probabilities.correct):
        cells.add(places, np.asarray(values, dtype=np.float64), surest)
    draws = resampled(group_sums(*cells.all()), config.seed)
    exact = (
        tally(wide, bins, probabilities.confidence, probabilities.correct),
        tally(mass, bins, probabilities.confidence, probabilities.correct),
        Letters(np.asarray(probabilities.picked).mean(axis=0), right.mean(axis=0)),
        _order(probabilities),
    )
    drawn = _views(draws, [bins] * 6 + [letters] * 2 + [surest] * 2)
    tables: tuple[Mapping[str, Formula[Any]], ...] = (OF_BINS, OF_MASS, OF_LETTERS, OF_ORDER)
    figures = []
    for table, of_all, of_draws in zip(tables, exact, drawn, strict=True):
        for metric, formula in table.items():
            draws_of = named(metric, formula.of(of_draws))
            for name, value in named(metric, formula.of(of_all)).items():
                if not np.isnan(value):
                    ends = centred(float(value), draws_of[name])
                    figures.append(Figure("", name, float(value), len(groups), *ends))
    return figures


class _Cells:
    """Columns of sums a group, collected one after the other."""

    def __init__(self, groups: Ints) -> None:
        self.groups, self.width = groups, 0
        self.cells: list[Ints] = []
        self.values: list[NDArray[np.float64]] = []

    def add(self, slots: Ints, values: NDArray[np.float64], width: int) -> None:
        """Values [n] summed in slots [n] of 0 ... width - 1."""
        self.cells.append(slots + self.width)
        self.values.append(values)
        self.width += width

    def all(self) -> tuple[Ints, Ints, NDArray[np.float64], int]:
        """Arguments of group_sums."""
        return (
            np.tile(self.groups, len(self.cells)),
            np.concatenate(self.cells),
            np.concatenate(self.values),
            self.width,
        )


def _views(sums: NDArray[np.float64], widths: Sequence[int]) -> tuple[Bins, Bins, Letters, Order]:
    """Sums [..., width] in the order in which they were collected."""
    parts = np.split(sums, np.cumsum(widths)[:-1], axis=-1)
    total = parts[0].sum(axis=-1, keepdims=True)
    return (
        Bins(*parts[:3]),
        Bins(*parts[3:6]),
        Letters(parts[6] / total, parts[7] / total),
        Order(parts[8], parts[9]),
    )


def _order(probabilities: Probabilities) -> Order:
    """Every block of equal confidence."""
    confidence, block = np.unique(-probabilities.confidence, return_inverse=True)
    number = len(confidence)
    return Order(
        np.bincount(block, minlength=number).astype(np.float64),
        np.bincount(block, probabilities.correct, minlength=number).astype(np.float64),
    )

"""Figures of how honest confidence is: calibration errors, selective prediction, temperature, answer bias."""

from collections.abc import Iterator
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from stages.score.beliefs import Beliefs
from stages.score.bins import Bins, equal_slots, mass_slots, tally
from stages.score.config import Config
from stages.score.intervals import SHARES, centred, group_sums, resampled
from stages.score.metrics import Letters, Order
from stages.score.plugins import load
from stages.score.readings import Figure
from stages.score.responses import Ints
from stages.score.set_figures import Rows, named
from stages.score.splits import Splits
from stages.score.temperature import scale


def confidence_figures(
    beliefs: Beliefs, rows: Rows, groups: Ints, splits: Splits, config: Config
) -> list[Figure]:
    """Calibration errors and answer bias with bootstrap intervals over groups, about their median.

    Metrics of ordered rows have no interval; those after temperature scaling the percentiles over the splits.
    """
    number = len(groups)
    order = _order(beliefs)
    figures = []
    for metric, module in _modules("of_order"):
        for name, value in named(metric, module.of_order(order)):
            if value is not None:
                figures.append(Figure("", name, float(value), number))
    if splits.sizes.min() > 0 and splits.sizes.max() < number:
        scaled = scale(rows.ranked, rows.correct, splits, config.bins)
        for name, module in _modules("of_scaled"):
            values = module.of_scaled(scaled)
            low, high = np.percentile(values, SHARES)
            figures.append(Figure("", name, float(values.mean()), number, float(low), float(high)))
    return figures + _resampled(beliefs, groups, config)


def _resampled(beliefs: Beliefs, groups: Ints, config: Config) -> list[Figure]:
    """Metrics of sums over rows: all sums of a group are drawn together."""
    bins, letters = config.bins, beliefs.p.shape[1]
    wide, mass = equal_slots(beliefs.confidence, bins), mass_slots(beliefs.confidence, bins)
    cells = _Cells(groups)
    for slots in (wide, mass):
        for values in (np.ones(len(groups)), beliefs.confidence, beliefs.correct):
            cells.add(slots, np.asarray(values, dtype=np.float64), bins)
    right = beliefs.answers / beliefs.answers.sum(axis=1, keepdims=True)
    for shares in (np.asarray(beliefs.picked, dtype=np.float64), right):
        for letter in range(letters):
            cells.add(np.zeros(len(groups), dtype=np.int64), shares[:, letter], 1)
    draws = resampled(group_sums(*cells.all()), config.seed)
    exact = {
        "of_bins": tally(wide, bins, beliefs.confidence, beliefs.correct),
        "of_mass": tally(mass, bins, beliefs.confidence, beliefs.correct),
        "of_letters": Letters(np.asarray(beliefs.picked).mean(axis=0), right.mean(axis=0)),
    }
    drawn = _views(draws, bins, letters)
    figures = []
    for kind in exact:
        for metric, module in _modules(kind):
            value_of = dict(named(metric, getattr(module, kind)(exact[kind])))
            for name, of_draws in named(metric, getattr(module, kind)(drawn[kind])):
                low, high = centred(float(value_of[name]), of_draws)
                figures.append(Figure("", name, float(value_of[name]), len(groups), low, high))
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


def _views(sums: NDArray[np.float64], bins: int, letters: int) -> dict[str, Bins | Letters]:
    """Sums [..., width] in the order in which they were collected."""
    parts = np.split(sums, np.cumsum([bins] * 6 + [letters]), axis=-1)
    total = parts[0].sum(axis=-1, keepdims=True)
    return {
        "of_bins": Bins(*parts[:3]),
        "of_mass": Bins(*parts[3:6]),
        "of_letters": Letters(parts[6] / total, parts[7] / total),
    }


def _order(beliefs: Beliefs) -> Order:
    order = np.argsort(-beliefs.confidence, kind="stable")
    confidence = beliefs.confidence[order].astype(np.float64)
    first = np.flatnonzero(np.r_[True, confidence[1:] != confidence[:-1]])
    counts = np.diff(np.r_[first, len(order)])
    means = np.add.reduceat(np.asarray(beliefs.correct, dtype=np.float64)[order], first) / counts
    return Order(confidence, np.repeat(means, counts))


def _modules(kind: str) -> Iterator[tuple[str, ModuleType]]:
    yield from ((name, module) for name, module in load("metrics").items() if hasattr(module, kind))

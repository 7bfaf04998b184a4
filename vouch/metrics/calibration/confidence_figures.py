"""Figures of confidence: calibration errors, selective prediction, temperature, answer bias."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

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
from vouch.metrics.conformal.set_figures import Rows
from vouch.metrics.conformal.splits import Splits
from vouch.metrics.intervals import centred, group_sums, resampled
from vouch.metrics.protocols import Figure, split_figure
from vouch.metrics.registry import named
from vouch.metrics.responses import Ints

if TYPE_CHECKING:
    from vouch.metrics.config import Config

BLOCKS = 200
"""Blocks of confidence at most that are drawn: rows between two of their edges count as equally sure."""


def confidence_figures(
    probabilities: Probabilities, rows: Rows, groups: Ints, splits: Splits, config: "Config"
) -> list[Figure]:
    """Calibration errors, selective prediction and answer bias with bootstrap intervals over groups, about
    their median; what follows from temperature scaling with the percentiles over the splits.
    """
    figures = []
    if splits.sizes.min() > 0 and splits.sizes.max() < len(groups):
        scaled = scale(rows.ranked, rows.correct, splits, config.bins)
        found = {name: formula(scaled) for name, formula in OF_SCALED.items()}
        figures = [
            split_figure(name, values, len(groups))
            for name, values in found.items()
            if not np.isnan(values).any()
        ]
    return figures + _resampled(probabilities, groups, config)


def _resampled(probabilities: Probabilities, groups: Ints, config: "Config") -> list[Figure]:
    """Metrics of sums over rows: all sums of a group are drawn together."""
    confidence, correct = probabilities.confidence, probabilities.correct
    bins, letters, surest = config.bins, probabilities.p.shape[1], min(BLOCKS, len(groups))
    wide, mass, places = (
        equal_slots(confidence, bins),
        mass_slots(confidence, bins),
        mass_slots(-probabilities.sureness, surest),
    )
    ones, picked = np.ones(len(groups)), np.asarray(probabilities.picked)
    right = probabilities.answers / probabilities.answers.sum(axis=1, keepdims=True)
    sums = group_sums(
        groups,
        [
            *((slots, values, bins) for slots in (wide, mass) for values in (ones, confidence, correct)),
            *((0, shares[:, letter], 1) for shares in (picked, right) for letter in range(letters)),
            *((places, values, surest) for values in (ones, correct)),
        ],
    )
    widths = np.cumsum([bins] * 6 + [letters] * 2 + [surest] * 2)
    parts = np.split(resampled(sums, config.seed), widths[:-1], axis=-1)
    total = parts[0].sum(axis=-1, keepdims=True)
    rests_on: tuple[tuple[Mapping[str, Callable[[Any], Any]], Any, Any], ...] = (
        (OF_BINS, tally(wide, bins, confidence, correct), Bins(*parts[:3])),
        (OF_MASS, tally(mass, bins, confidence, correct), Bins(*parts[3:6])),
        (
            OF_LETTERS,
            Letters(picked.mean(axis=0), right.mean(axis=0)),
            Letters(parts[6] / total, parts[7] / total),
        ),
        (OF_ORDER, _order(probabilities), Order(parts[8], parts[9])),
    )
    figures = []
    for table, of_all, of_draws in rests_on:
        for metric, formula in table.items():
            draws = named(metric, formula(of_draws))
            for name, value in named(metric, formula(of_all)).items():
                if not np.isnan(value):
                    ends = centred(float(value), draws[name])
                    figures.append(Figure("", name, float(value), len(groups), *ends))
    return figures


def _order(probabilities: Probabilities) -> Order:
    """Every block of equal confidence."""
    levels, block = np.unique(-probabilities.sureness, return_inverse=True)
    counts, correct = (
        np.bincount(block, values, minlength=len(levels)).astype(np.float64)
        for values in (None, probabilities.correct)
    )
    return Order(counts, correct)

"""Metrics of numbered prompts: the tests of a question and the turns of a conversation (Li et al. 2023).

faithful: all rows, no interval. clean: rows without defects; 95 % intervals over groups, of single accuracies
and instability by the sandwich formula, of what several accuracies make by the bootstrap.
"""

from collections.abc import Iterator

import numpy as np

from vouch.metrics.intervals import centred, percentiles, resampled
from vouch.metrics.protocols import CLEAN, Figure, mean_figure
from vouch.metrics.responses import Array, Ints
from vouch.metrics.robustness.metrics import OF_TESTS, OF_TURNS, instability
from vouch.metrics.robustness.predictions import Predictions

TEST, TURN = "test", "turn"


def number_figures(predictions: Predictions, protocol: str, seed: int) -> Iterator[Figure]:
    """Figures of one variation and output; nothing where prompts are not numbered."""
    rows = predictions.counted(protocol)
    if rows.tests.any():
        yield from _instability(rows, protocol)
        whole = _whole(rows.take(~np.isnan(rows.correct)))
        yield from _cells(whole, whole.tests - 1, TEST, protocol, seed)
    known = rows.take(~np.isnan(rows.correct))
    yield from _cells(known, known.turns - 1, TURN, protocol, seed)


def _instability(rows: Predictions, protocol: str) -> Iterator[Figure]:
    """Questions with two answered tests or more."""
    again = np.bincount(rows.items)[rows.items] > 1
    if again.any():
        _, first, number = np.unique(rows.items[again], return_index=True, return_inverse=True)
        values = instability(number, rows.answers[again])
        yield mean_figure("instability", values, rows.groups[again][first], protocol)


def _whole(rows: Predictions) -> Predictions:
    """The questions that have every test."""
    if not len(rows):
        return rows
    return rows.take((np.bincount(rows.items) == rows.tests.max())[rows.items])


def _cells(rows: Predictions, cells: Ints, over: str, protocol: str, seed: int) -> Iterator[Figure]:
    """Accuracy by test or turn, and what is made of them; nothing where there is but one."""
    number = int(cells.max(initial=0)) + 1
    counts = np.bincount(cells, minlength=number)
    if number < 2 or not counts.all():
        return
    for cell in range(number):
        here = cells == cell
        yield mean_figure(f"accuracy_{over}_{cell + 1}", rows.correct[here], rows.groups[here], protocol)
    sums = _sums(rows, cells, number)
    draws = resampled(sums, seed) if protocol == CLEAN and len(sums) > 1 else None
    for name, formula in (OF_TESTS if over == TEST else OF_TURNS).items():
        value = float(formula(_means(sums.sum(axis=0)[None]))[0])
        drawn = None if draws is None else formula(_means(draws))
        if not np.isnan(value):
            # Noise in the means widens a range, and leaves a slope or correlation where it is on average.
            yield Figure("", name, value, len(rows), *_ends(drawn, value, resting=over == TURN))


def _sums(rows: Predictions, cells: Ints, number: int) -> Array:
    """[G, 2 * cells] by group the sums of the accuracies and the numbers of rows."""
    groups = np.unique(rows.groups, return_inverse=True)[1]
    place, size = groups * number + cells, (int(groups.max()) + 1) * number
    columns = [np.bincount(place, weights, size).reshape(-1, number) for weights in (rows.correct, None)]
    return np.concatenate(columns, axis=1).astype(np.float64)


def _means(totals: Array) -> Array:
    sums, counts = np.split(totals, 2, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums / counts)


def _ends(draws: Array | None, value: float, resting: bool) -> tuple[float | None, float | None]:
    """2.5 and 97.5 percentiles of the draws in which the value is known; none where they are all alike.

    resting: whether noise leaves the value where it is; else the percentiles are taken about their median.
    """
    known = None if draws is None else draws[~np.isnan(draws)]
    if known is None or not len(known) or known.min() == known.max():
        return None, None
    return percentiles(known) if resting else centred(value, known)

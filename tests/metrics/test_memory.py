"""Memory of the sets of many rows."""

import tracemalloc

import numpy as np

from tests.metrics.simulated import CONFIG, simulate
from vouch.metrics.conformal.set_figures import Calibrations, rows_of
from vouch.metrics.conformal.splits import group_splits


def test_sets_of_a_million_rows_take_less_than_three_times_their_logits() -> None:
    rows = simulate(7, 1_000_000)
    assert rows.logits.dtype == np.float32
    tracemalloc.start()
    splits = group_splits(rows.groups, 0.5, 42, 100)
    calibrations = Calibrations(rows_of(rows, np.zeros(len(rows), dtype=bool), CONFIG), splits)
    calibrations.of(calibrations.rows.strata("marginal"), 0.1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * rows.logits.nbytes

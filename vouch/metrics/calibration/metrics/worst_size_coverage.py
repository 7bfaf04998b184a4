"""Size-stratified coverage: the lowest coverage among sets of one size (Angelopoulos et al. 2021).

Sets of a size that fewer than one test row in twenty has are left out: a handful of rows says nothing.
"""

from typing import Any

import numpy as np

from vouch.metrics.calibration.metrics import SetCounts

SHARE = 0.05


def of_sets(sets: SetCounts) -> Any:
    """[...] minimum over the sizes of the share of sets of that size that hold an answer."""
    worst = np.ones(sets.counted.shape[:-1])
    for size in range(1, int(sets.size.max()) + 1):
        share = sets.mean(sets.size == size)
        covered = sets.mean((sets.size == size) & (sets.covered == 1))
        enough = share >= SHARE
        worst = np.where(enough, np.minimum(worst, covered / np.where(enough, share, 1)), worst)
    return worst

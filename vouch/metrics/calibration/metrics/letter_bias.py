"""Answer bias: how far the letters that are chosen are distributed unlike the letters that are right.

Total variation distance; on such biases Zheng et al. 2024.
"""

from typing import Any

import numpy as np

from vouch.metrics.calibration.metrics import Letters


def of_letters(letters: Letters) -> Any:
    """[...] half the sum over the letters of |share chosen - share right|, in 0 ... 1."""
    return np.abs(letters.chosen - letters.right).sum(axis=-1) / 2

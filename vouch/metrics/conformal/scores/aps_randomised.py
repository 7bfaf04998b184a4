"""APS with its random term: the letter's own probability counts in part (Romano, Sesia and Candes 2020).

The part is a uniform number a row that hangs on the item alone (see noise), so it is the same in every
order of rows, every variation and every split.
"""

import numpy as np

from vouch.metrics.conformal.ranked import Ranked
from vouch.metrics.conformal.scores import Settings
from vouch.metrics.responses import Floats


def nonconformity(ranked: Ranked, settings: Settings) -> Floats:
    """[n, k] sum of all p_j > p_k, plus u times the sum of all p_j = p_k."""
    return np.asarray(ranked.before + ranked.noise[:, None] * (ranked.upto - ranked.before))

"""RAPS: APS with its random term and a penalty on far places (Angelopoulos, Bates, Malik and Jordan 2021)."""

import numpy as np

from vouch.metrics.conformal.ranked import Ranked
from vouch.metrics.conformal.scores import Settings
from vouch.metrics.responses import Floats


def nonconformity(ranked: Ranked, settings: Settings) -> Floats:
    """[n, k] sum of all p_j > p_k, plus u times that of all equals, plus penalty (place - k_reg)_+."""
    extra = settings.raps.penalty * np.maximum(ranked.place - settings.raps.k_reg, 0)
    return np.asarray(ranked.before + ranked.noise[:, None] * (ranked.upto - ranked.before) + extra)

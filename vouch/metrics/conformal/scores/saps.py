"""SAPS: of the probabilities only the largest counts, then places (Huang et al. 2024)."""

import numpy as np

from vouch.metrics.conformal.ranked import Ranked
from vouch.metrics.conformal.scores import Settings
from vouch.metrics.responses import Floats


def nonconformity(ranked: Ranked, settings: Settings) -> Floats:
    """[n, k] u p_max for the most probable letters, p_max + (place - 2 + u) penalty for the others."""
    noise, top = ranked.noise[:, None], ranked.p[:, :1]
    below = top + (ranked.place - 2 + noise) * settings.saps.penalty
    return np.asarray(np.where(ranked.place == 1, noise * top, below))

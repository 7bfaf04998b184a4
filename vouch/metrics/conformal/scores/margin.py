"""Margin: the largest other probability minus one's own (Löfström, Boström, Linusson and Johansson 2015).

Two-sided: negative for the most probable letter. Where nearly all answers are on top the threshold is
negative too, a set may be empty, and `negative_threshold_rate` says how often.
"""

import numpy as np

from vouch.metrics.conformal.ranked import Ranked
from vouch.metrics.conformal.scores import Settings
from vouch.metrics.responses import Floats


def nonconformity(ranked: Ranked, settings: Settings) -> Floats:
    """[n, k] max_{j != k} p_j - p_k, in -1 ... 1; -p_k for a letter that stands alone."""
    scores = ranked.p[:, :1] - ranked.p
    second = ranked.p[:, 1] if ranked.p.shape[1] > 1 else 0.0
    scores[:, 0] = second - ranked.p[:, 0]
    return np.asarray(scores)

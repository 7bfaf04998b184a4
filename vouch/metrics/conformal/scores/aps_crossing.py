"""APS that keeps the letter with which the running sum crosses the threshold, without a random term.

The deterministic set of Romano, Sesia and Candes (2020): letters in descending order until their sum reaches
a level. A letter is in it when the sum before it is below that level, so that sum is its score. The most
probable letter has score 0: no set is empty.
"""

from vouch.metrics.conformal.ranked import Ranked
from vouch.metrics.conformal.scores import Settings
from vouch.metrics.responses import Floats


def nonconformity(ranked: Ranked, settings: Settings) -> Floats:
    """[n, k] sum of all p_j > p_k."""
    return ranked.before

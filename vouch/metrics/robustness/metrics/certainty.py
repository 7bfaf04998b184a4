"""How small the prediction sets are over the classes of options (Schmalfuss et al. 2025), see classes.py."""

from vouch.metrics.robustness.metrics import PROMPTS, Array, Means

FIELD, AVERAGED = "certainty", PROMPTS


def of_means(means: Means) -> Array:
    """[..., v] in 0 ... 1; 1 where every set holds one class."""
    return means.certainty

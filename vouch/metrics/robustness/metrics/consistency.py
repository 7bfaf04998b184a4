"""Share of the prompts that are answered as the original prompt's answer demands (Schmalfuss et al. 2025).

The same answer where the variation keeps what is correct, another one where it turns it, right or wrong.
What could not be read is never consistent.
"""

from vouch.metrics.robustness.metrics import Array, Means

FIELD, AVERAGED = "consistency", ""


def of_means(means: Means) -> Array:
    """[..., v] in 0 ... 1."""
    return means.consistency

"""Flags of vouch/tables/letters.py that follow from an answer's values."""

import math
from collections.abc import Sequence

LOW_MASS = 0.5
CLOSE = 0.25  # logits; half-precision logits near 18 have steps of 0.125


def letter_flags(logits: Sequence[float], letter_mass: float) -> list[str]:
    """logits: of the letters read, -inf where left out. letter_mass: probability on the letters, 0 to 1."""
    flags = ["low_mass"] if letter_mass < LOW_MASS else []
    best = sorted(logits, reverse=True)[:2]
    if len(best) == 2 and best[1] > -math.inf and best[0] - best[1] < CLOSE:
        flags.append("close")
    return flags

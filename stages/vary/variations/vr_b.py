"""vr_b: every picture blurred (VR-B of PARC, Schmalfuss et al. 2025)."""

from stages.contracts.prompts import KEPT
from stages.vary.disturbed import DEFAULT_LEVEL, LEVELS, disturbed
from stages.vary.variation import PICTURES, Draft, Step

__all__ = ["CHANGES", "DEFAULT_LEVEL", "EFFECT", "FAMILY", "LEVELS", "vary"]

CHANGES = (PICTURES,)
EFFECT = KEPT
FAMILY = "VR"


def vary(draft: Draft, level: int) -> Draft | None:
    """Every picture blurred, level 1 to LEVELS; None without a picture."""
    return disturbed(draft, Step("blur", level))

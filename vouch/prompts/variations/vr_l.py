"""vr_l: every picture under more light (VR-L of PARC, Schmalfuss et al. 2025)."""

from vouch.prompts.build.disturbed import DEFAULT_LEVEL, LEVELS, disturbed
from vouch.prompts.build.variation import PICTURES, Draft, Step
from vouch.tables.prompts import KEPT

__all__ = ["CHANGES", "DEFAULT_LEVEL", "EFFECT", "FAMILY", "LEVELS", "vary"]

CHANGES = (PICTURES,)
EFFECT = KEPT
FAMILY = "VR"


def vary(draft: Draft, level: int) -> Draft | None:
    """Every picture brightened, level 1 to LEVELS; None without a picture."""
    return disturbed(draft, Step("brighten", level))

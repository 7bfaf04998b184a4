"""jpeg: every picture compressed and decoded again, at the qualities of ImageNet-C."""

from vouch.prompts.build.disturbed import DEFAULT_LEVEL, LEVELS, disturbed
from vouch.prompts.build.variation import PICTURES, Draft, Step
from vouch.tables.prompts import KEPT

__all__ = ["CHANGES", "DEFAULT_LEVEL", "EFFECT", "FAMILY", "LEVELS", "vary"]

CHANGES = (PICTURES,)
EFFECT = KEPT
FAMILY = ""


def vary(draft: Draft, level: int) -> Draft | None:
    """Every picture compressed, level 1 to LEVELS; None without a picture."""
    return disturbed(draft, Step("jpeg", level))

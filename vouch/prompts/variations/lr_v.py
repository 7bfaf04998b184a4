"""lr_v: the question in more words (LR-V of PARC, Schmalfuss et al. 2025)."""

from vouch.prompts.build.accepted_rewrites import reworded
from vouch.prompts.build.variation import WORDS, Draft
from vouch.tables.prompts import KEPT

CHANGES = (WORDS,)
EFFECT = KEPT
FAMILY = "LR"


def vary(draft: Draft) -> Draft | None:
    """The words of the rewrites table; None where it has none that may be asked."""
    return reworded(draft, "lr_v")

"""lr_c: the question in fewer words (LR-C of PARC, Schmalfuss et al. 2025)."""

from stages.contracts.prompts import KEPT
from stages.vary.rewrites import reworded
from stages.vary.variation import WORDS, Draft

CHANGES = (WORDS,)
EFFECT = KEPT
FAMILY = "LR"


def vary(draft: Draft) -> Draft | None:
    """The words of the rewrites table; None where it has none that may be asked."""
    return reworded(draft, "lr_c")

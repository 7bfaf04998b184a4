"""original: the item as its source has it, every other variation's baseline."""

from stages.contracts.prompts import KEPT
from stages.vary.variation import Draft

CHANGES = ()
EFFECT = KEPT
FAMILY = ""


def vary(draft: Draft) -> Draft:
    """Options in their own order, pictures untouched."""
    return draft

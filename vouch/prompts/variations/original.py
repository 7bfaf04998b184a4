"""original: the item as its source has it, every other variation's baseline."""

from vouch.prompts.build.variation import Draft
from vouch.tables.prompts import KEPT

CHANGES, EFFECT, FAMILY = (), KEPT, ""


def vary(draft: Draft) -> Draft:
    """Options in their own order, pictures untouched."""
    return draft

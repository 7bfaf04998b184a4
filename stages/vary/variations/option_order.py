"""option_order: the item's own options in reversed order; those that the style adds stay last."""

from dataclasses import replace

from stages.contracts.prompts import KEPT
from stages.vary.variation import ORDER, Draft

CHANGES = (ORDER,)
EFFECT = KEPT
FAMILY = ""


def vary(draft: Draft) -> Draft | None:
    """None with fewer than two options."""
    return replace(draft, order=draft.order[::-1]) if len(draft.order) > 1 else None

"""option_order: the item's own options in reversed order; those that the template adds stay last."""

from vouch.prompts.build.variation import ORDER, Draft
from vouch.tables.prompts import KEPT

CHANGES, EFFECT, FAMILY = (ORDER,), KEPT, ""


def vary(draft: Draft) -> Draft | None:
    """None with fewer than two options."""
    return draft._replace(order=draft.order[::-1]) if len(draft.order) > 1 else None

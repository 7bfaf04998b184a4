"""circular: the item's own options in every rotation, a prompt for each; the first is the source's order."""

from vouch.prompts.build.variation import ORDER, Draft
from vouch.tables.prompts import KEPT

CHANGES, EFFECT, FAMILY = (ORDER,), KEPT, ""


def vary(draft: Draft) -> list[Draft] | None:
    """As many drafts as options; those that the template adds stay last. None with fewer than two options."""
    order = draft.order
    if len(order) < 2:
        return None
    return [draft._replace(order=order[first:] + order[:first]) for first in range(len(order))]

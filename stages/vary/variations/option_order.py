"""option_order: the item's own options in reversed order; those that the style adds stay last."""

from dataclasses import replace

from stages.vary.style import Style
from stages.vary.variation import Draft, Item
from stages.vary.variations import original


def vary(item: Item, style: Style) -> Draft | None:
    """Pictures untouched; None with fewer than two options."""
    if len(item.options) < 2:
        return None
    draft = original.vary(item, style)
    return replace(draft, order=draft.order[::-1])

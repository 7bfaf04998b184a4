"""original: the item as its source has it, every other variation's baseline."""

from stages.vary.style import Style
from stages.vary.variation import Draft, Item, shown


def vary(item: Item, style: Style) -> Draft:
    """Options in their own order, pictures untouched."""
    return Draft(item, style, tuple(range(len(item.options))), shown(item.images, style))

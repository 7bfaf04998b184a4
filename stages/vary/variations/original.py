"""original: the item as its source has it, every other variation's baseline."""

from stages.vary.style import Style
from stages.vary.variation import Draft, Item, Picture


def vary(item: Item, style: Style) -> Draft:
    """Options in their own order, pictures untouched."""
    pictures = tuple(Picture((digest,)) for digest in item.images)
    return Draft(item, style, tuple(range(len(item.options))), pictures)

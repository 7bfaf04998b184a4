"""blank: a control; every picture is a grey sheet of its size, so only words are left to answer by."""

from stages.vary.disturbed import disturbed
from stages.vary.style import Style
from stages.vary.variation import Draft, Item


def vary(item: Item, style: Style) -> Draft | None:
    """Options in their own order, pictures without content; None without a picture."""
    return disturbed(item, style, "blank")

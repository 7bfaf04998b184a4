"""vr_r: every picture turned by 90 degrees clockwise (VR-R of PARC, Schmalfuss et al. 2025).

It takes the answer to be the same afterwards. Questions about places in the picture (`in which corner`)
get another answer, and nothing in an item says which these are: not for datasets that hold them.
"""

from stages.vary.disturbed import disturbed
from stages.vary.style import Style
from stages.vary.variation import Draft, Item


def vary(item: Item, style: Style) -> Draft | None:
    """Options in their own order, each picture turned by itself; None without a picture."""
    return disturbed(item, style, "rotate")

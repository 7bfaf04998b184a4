"""vr_l: every picture under more light (VR-L of PARC, Schmalfuss et al. 2025)."""

from stages.vary.disturbed import DEFAULT_SEVERITY, disturbed
from stages.vary.style import Style
from stages.vary.variation import Draft, Item


def vary(item: Item, style: Style) -> Draft | None:
    """Options in their own order, pictures brightened; None without a picture."""
    return disturbed(item, style, "brighten", DEFAULT_SEVERITY)

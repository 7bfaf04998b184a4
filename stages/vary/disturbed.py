"""Variations that disturb the pictures of an item and leave its words alone.

A level of severity is a file of its own: `vr_b.py` has the middle one, 3; `vr_b_5.py` would be the same
two lines with 5.
"""

from stages.vary.style import Style
from stages.vary.variation import Draft, Item, Picture

DEFAULT_SEVERITY = 3  # of 1 to 5


def disturbed(item: Item, style: Style, operation: str, severity: int = 0, revision: int = 1) -> Draft | None:
    """The item with every picture put through an operation by itself; None without a picture.

    operation, severity, revision: as stages/extract/pictures.py defines them.
    """
    if not item.images:
        return None
    pictures = tuple(Picture((digest,), operation, severity, revision) for digest in item.images)
    return Draft(item, style, tuple(range(len(item.options))), pictures)

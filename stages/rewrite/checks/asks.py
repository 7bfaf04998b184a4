"""asks: what asked still asks."""

from stages.contracts.rewrites import KINDS as ALL

KINDS = tuple(kind for kind in ALL if kind != "lr_i")

_CLOSING = "\"'”’ "


def problem(original: str, rewrite: str) -> str:
    """See stages/rewrite/checking.py."""
    asked = original.rstrip(_CLOSING).endswith("?")
    # a cloze that cleaning puts into a question stands behind it, in quotation marks
    asks = rewrite.rstrip(_CLOSING).endswith("?") or "? ‘" in rewrite
    return "is no question any more" if asked and not asks else ""

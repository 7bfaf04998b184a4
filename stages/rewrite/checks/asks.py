"""asks: what asked still asks."""

from stages.contracts.rewrites import KINDS as ALL
from stages.rewrite.checking import asks

KINDS = tuple(kind for kind in ALL if kind != "lr_i")


def problem(original: str, rewrite: str) -> str:
    """See stages/rewrite/checking.py."""
    # a cloze that cleaning puts into a question stands behind it, in quotation marks
    still = asks(rewrite) or "? ‘" in rewrite
    return "is no question any more" if asks(original) and not still else ""

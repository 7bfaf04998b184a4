"""asks: what asked still asks."""

from vouch.prompts.rewrites.checking import asks
from vouch.tables.rewrites import KINDS as ALL

KINDS = tuple(kind for kind in ALL if kind != "lr_i")


def problem(original: str, rewrite: str) -> str:
    """See vouch/prompts/rewrites/checking.py."""
    # a cloze that cleaning puts into a question stands behind it, in quotation marks
    still = asks(rewrite) or "? ‘" in rewrite
    return "is no question any more" if asks(original) and not still else ""

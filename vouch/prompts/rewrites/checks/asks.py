"""asks: what asked still asks."""

from vouch.prompts.rewrites.checking import outputs
from vouch.tables.rewrites import KINDS as ALL

KINDS = tuple(kind for kind in ALL if kind != "lr_i")


def problem(original: str, rewrite: str) -> str:
    """See vouch/prompts/rewrites/checking.py."""
    # a cloze that cleaning puts into a question stands behind it, in quotation marks
    still = outputs(rewrite) or "? ‘" in rewrite
    return "is no question any more" if outputs(original) and not still else ""

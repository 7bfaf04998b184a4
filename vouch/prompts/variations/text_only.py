"""text_only: a control; the pictures are taken away, only words are left to answer by."""

from vouch.prompts.build.variation import PICTURES, Draft, changed
from vouch.tables.prompts import KEPT

CHANGES = (PICTURES,)
EFFECT = KEPT
FAMILY = ""


def vary(draft: Draft) -> Draft | None:
    """The same words without a picture, and asked all the same; None where there was none."""
    return changed(draft, pictures=()) if draft.pictures else None

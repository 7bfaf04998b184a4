"""text_only: a control; the pictures are taken away, only words are left to answer by."""

from vouch.prompts.build.variation import PICTURES, Draft
from vouch.tables.prompts import KEPT

CHANGES, EFFECT, FAMILY = (PICTURES,), KEPT, ""


def vary(draft: Draft) -> Draft | None:
    """The same words without a picture, and asked all the same; None where there was none."""
    return draft._replace(pictures=()) if draft.pictures else None

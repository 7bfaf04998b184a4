"""image_only: a control; question and hint are taken away, pictures and options are left."""

from dataclasses import replace

from vouch.prompts.build.variation import WORDS, Draft
from vouch.tables.prompts import KEPT

CHANGES, EFFECT, FAMILY = (WORDS,), KEPT, ""


def vary(draft: Draft) -> Draft | None:
    """None without a picture or without options: nothing would be left.

    With the pictures taken away as well (`image_only+text_only`) the options stand alone.
    """
    if not draft.item.images or not draft.order:
        return None
    return draft._replace(item=replace(draft.item, question="", hint=None))

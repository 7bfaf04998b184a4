"""blank: a control; every picture is a grey sheet of its size, so only words are left to answer by."""

from vouch.prompts.build.disturbed import disturbed
from vouch.prompts.build.variation import PICTURES, Draft, Step
from vouch.tables.prompts import KEPT

CHANGES = (PICTURES,)
EFFECT = KEPT
FAMILY = ""


def vary(draft: Draft) -> Draft | None:
    """Pictures without content; None without a picture."""
    return disturbed(draft, Step("blank"))

"""blank: a control; every picture is a grey sheet of its size, so only words are left to answer by."""

from stages.contracts.prompts import KEPT
from stages.vary.disturbed import disturbed
from stages.vary.variation import PICTURES, Draft, Step

CHANGES = (PICTURES,)
EFFECT = KEPT
FAMILY = ""


def vary(draft: Draft) -> Draft | None:
    """Pictures without content; None without a picture."""
    return disturbed(draft, Step("blank"))

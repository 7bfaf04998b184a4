"""vr_r: every picture turned by 90 degrees clockwise (VR-R of PARC, Schmalfuss et al. 2025).

It takes the answer to be the same afterwards. Questions about places in the picture (`in which corner`)
get another answer, and nothing in an item says which these are: not for datasets that hold them. Two
pictures that a template joins are turned before, so the left one stays left.
"""

from vouch.prompts.build.disturbed import disturbed
from vouch.prompts.build.variation import PICTURES, Draft, Step
from vouch.tables.prompts import KEPT

CHANGES = (PICTURES,)
EFFECT = KEPT
FAMILY = "VR"


def vary(draft: Draft) -> Draft | None:
    """Each picture turned by itself; None without a picture."""
    return disturbed(draft, Step("rotate"))

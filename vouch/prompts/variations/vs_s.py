"""vs_s: the two pictures swap places and the answer turns (VS-S of PARC, Schmalfuss et al. 2025).

For items with two pictures whose two options name them: left and right, first and second, image 1 and
image 2. Whether `left` means the picture or a direction within it, an item does not say: not for
datasets that ask for directions.
"""

from dataclasses import replace

from vouch.prompts.build.image_references import sides
from vouch.prompts.build.variation import PICTURES, Draft
from vouch.tables.prompts import SWAPPED

CHANGES = (PICTURES,)
EFFECT = SWAPPED
FAMILY = "VS"


def vary(draft: Draft) -> Draft | None:
    """None where the options do not name the two pictures."""
    if len(draft.pictures) != 2 or sides(draft.item.options) is None:
        return None
    return replace(draft, pictures=draft.pictures[::-1])

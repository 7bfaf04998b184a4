"""vs_s: the two pictures swap places and the answer flips (VS-S of PARC, Schmalfuss et al. 2025).

For items with two pictures whose two options name them: left and right, first and second, image 1 and
image 2. Whether `left` means the picture or a direction within it, an item does not say: not for
datasets that ask for directions.
"""

from vouch.prompts.build.exchange import sides
from vouch.prompts.build.variation import PICTURES, Draft
from vouch.tables.asked import SWAPPED

CHANGES, EFFECT, FAMILY = (PICTURES,), SWAPPED, "VS"


def vary(draft: Draft) -> Draft | None:
    """None where the options do not name the two pictures."""
    if len(draft.pictures) != 2 or sides(draft.item.options) is None:
        return None
    return draft._replace(pictures=draft.pictures[::-1])

"""vs_e: a picture is exchanged so that the answer flips (VS-E of PARC, Schmalfuss et al. 2025).

Which picture takes whose place is part of the item (`exchange`). Where each side has one, the item's id
decides, so that both sides come up.
"""

from hashlib import sha256

from vouch.prompts.build.variation import PICTURES, Draft
from vouch.tables.asked import SWAPPED

CHANGES, EFFECT, FAMILY = (PICTURES,), SWAPPED, "VS"


def vary(draft: Draft) -> Draft | None:
    """None where the item has no picture to exchange for."""
    spare = [(place, digest) for place, digest in enumerate(draft.item.exchange) if digest is not None]
    if not spare or len(draft.item.exchange) != len(draft.pictures):
        return None
    drawn = int.from_bytes(sha256(draft.item.id.encode()).digest()[:8])
    place, digest = spare[drawn % len(spare)]
    pictures = list(draft.pictures)
    pictures[place] = pictures[place]._replace(image=digest)
    return draft._replace(pictures=tuple(pictures))

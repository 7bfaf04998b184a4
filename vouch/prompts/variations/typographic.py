"""typographic: a wrong option's text is painted into every picture (typographic attack, Goh et al. 2021).

Which option, and where, how large and in which colours it is painted, follow from the item's id.
"""

from hashlib import sha256

from vouch.prompts.build.variation import PICTURES, Draft, Picture, Step
from vouch.tables.asked import KEPT, painted_option

CHANGES, EFFECT, FAMILY = (PICTURES,), KEPT, ""


def vary(draft: Draft) -> Draft | None:
    """None without a picture or a wrong option, and where the font lacks a letter of it."""
    item = draft.item
    place = painted_option(item.id, len(item.options), item.answers)
    return None if place is None else painted(draft, item.options[place])


def painted(draft: Draft, text: str) -> Draft | None:
    """The words painted as the item's id says."""
    if not draft.pictures or not text.strip() or not text.isascii() or not text.isprintable():
        return None
    look = int.from_bytes(sha256(f"look/{draft.item.id}".encode()).digest()[:4]) % 1000
    step = Step(f"write:{look}:{text}")
    return draft._replace(pictures=tuple([Picture(image, (*steps, step)) for image, steps in draft.pictures]))

"""typographic_control: a harmless word is painted where `typographic` paints a wrong option, and as it does.

What the two differ by is what the words say, not that something is painted.
"""

from vouch.prompts.build.variation import PICTURES, Draft
from vouch.prompts.variations import typographic
from vouch.tables.asked import KEPT

CHANGES, EFFECT, FAMILY = (PICTURES,), KEPT, ""
WORD = "example"


def vary(draft: Draft) -> Draft | None:
    """None where `typographic` does not apply, so that both are asked of the same items."""
    return None if typographic.vary(draft) is None else typographic.painted(draft, WORD)

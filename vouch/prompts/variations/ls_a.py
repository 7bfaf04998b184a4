"""ls_a: a word of the question switched for its antonym (LS-A of PARC, Schmalfuss et al. 2025).

Correct are all options that were not.
"""

from vouch.prompts.build.accepted_rewrites import reworded
from vouch.prompts.build.variation import WORDS, Draft
from vouch.tables.prompts import COMPLEMENT

CHANGES = (WORDS,)
EFFECT = COMPLEMENT
FAMILY = "LS"


def vary(draft: Draft) -> Draft | None:
    """The words of the rewrites table; None where it has none that may be asked."""
    return reworded(draft, "ls_a")

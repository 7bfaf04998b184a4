"""instruction: one prompt for each wording of the instruction, or of the question; options keep their order.

ReForm-Eval (Li et al. 2023) measures so how much of a model's instability comes from the instruction.
"""

from vouch.prompts.build.trials import worded, wordings
from vouch.prompts.build.variation import STYLE, WORDS, Draft
from vouch.tables.prompts import KEPT

CHANGES = (WORDS, STYLE)
EFFECT = KEPT
FAMILY = ""


def vary(draft: Draft) -> list[Draft] | None:
    """Prompt k has the k-th wording; None where there is but one."""
    count = wordings(draft)
    return [worded(draft, test) for test in range(1, count + 1)] if count > 1 else None

"""tests: five prompts, each with another instruction and the options in an order of its own; `tests_10`: ten.

The main evaluation of ReForm-Eval (Li et al. 2023); what a model answers in only some of them is unstable.
"""

from vouch.prompts.build.variation import ORDER, TEMPLATE, WORDS, Draft
from vouch.prompts.variations import shuffled
from vouch.prompts.variations.instruction import worded
from vouch.tables.asked import KEPT

CHANGES, EFFECT, FAMILY = (WORDS, ORDER, TEMPLATE), KEPT, ""
LEVELS, DEFAULT_LEVEL = shuffled.LEVELS, shuffled.DEFAULT_LEVEL


def vary(draft: Draft, level: int) -> list[Draft]:
    """Test k of `level` has the k-th instruction and the k-th wording of the question; they go round."""
    return [shuffled.shuffled(worded(draft, test), test) for test in range(1, level + 1)]

"""tests: five prompts, each with another instruction and the options in an order of its own; `tests_10`: ten.

The main evaluation of ReForm-Eval (Li et al. 2023); what a model answers in only some of them is unstable.
"""

from vouch.prompts.build.trials import MOST, TESTS, shuffled, worded
from vouch.prompts.build.variation import ORDER, STYLE, WORDS, Draft
from vouch.tables.prompts import KEPT

CHANGES = (WORDS, ORDER, STYLE)
EFFECT = KEPT
FAMILY = ""
LEVELS, DEFAULT_LEVEL = MOST, TESTS


def vary(draft: Draft, level: int) -> list[Draft]:
    """Test k of `level` has the k-th instruction and the k-th wording of the question; they go round."""
    return [shuffled(worded(draft, test), test) for test in range(1, level + 1)]

"""tests: five prompts, each with another instruction and the options in an order of its own.

The main evaluation of ReForm-Eval (Li et al. 2023); what a model answers in only some of them is unstable.
"""

from stages.contracts.prompts import KEPT
from stages.vary.tests_of import TESTS, shuffled, worded
from stages.vary.variation import ORDER, STYLE, WORDS, Draft

CHANGES = (WORDS, ORDER, STYLE)
EFFECT = KEPT
FAMILY = ""


def vary(draft: Draft) -> list[Draft]:
    """Test k has the k-th instruction and the k-th wording of the question."""
    return [shuffled(worded(draft, test), test) for test in range(1, TESTS + 1)]

"""Coverage under prompt shift: sets calibrated on originals, questions asked in another way."""

from typing import Literal

from vouch.report.costs import is_control
from vouch.report.evidence import Evidence
from vouch.report.numbers import Number
from vouch.tables.prompts import ORIGINAL

SCORE = "lac"
COVERAGE = "shift_coverage"
Guarantee = Literal["violated", "met", "exceeded"]


def shifted(evidence: Evidence, dataset: str, model: str) -> dict[str, Number]:
    """Coverage of a model by variation before empty sets are filled, in alphabetical order, controls last."""
    names = sorted(evidence.variations(dataset), key=lambda name: (is_control(name), name))
    return {
        name: number
        for name in names
        if name != ORIGINAL and (number := evidence.number(dataset, model, COVERAGE, SCORE, variation=name))
    }


def guarantee(evidence: Evidence, number: Number) -> Guarantee:
    """What becomes of the coverage guarantee: violated or exceeded where the interval excludes the target."""
    low = number.value if number.low is None else number.low
    high = number.value if number.high is None else number.high
    return "violated" if high < evidence.target else "exceeded" if low > evidence.target else "met"

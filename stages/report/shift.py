"""Coverage under prompt shift: sets calibrated on originals, questions asked in another way."""

from typing import Literal

from stages.contracts.prompts import ORIGINAL
from stages.report.costs import is_control
from stages.report.evidence import Evidence
from stages.report.numbers import Number

SCORE = "lac"
COVERAGE = "shift_coverage"
Promise = Literal["broken", "kept", "exceeded"]


def shifted(evidence: Evidence, dataset: str, model: str) -> dict[str, Number]:
    """Coverage of a model by variation before empty sets are filled, in alphabetical order, controls last."""
    names = sorted(evidence.variations(dataset), key=lambda name: (is_control(name), name))
    return {
        name: number
        for name in names
        if name != ORIGINAL and (number := evidence.number(dataset, model, COVERAGE, SCORE, variation=name))
    }


def promise(evidence: Evidence, number: Number) -> Promise:
    """What has become of the promise: broken or exceeded where the interval leaves out the target."""
    low = number.value if number.low is None else number.low
    high = number.value if number.high is None else number.high
    return "broken" if high < evidence.target else "exceeded" if low > evidence.target else "kept"

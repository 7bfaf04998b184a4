"""Coverage under prompt shift, and by the share of the questions that calibrate."""

import re
from typing import Literal, NamedTuple

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


_SHARE = re.compile(r"coverage_calibrated_on_(\d+)")


class Point(NamedTuple):
    """share: per cent of the questions that calibrate. coverage, size: of LAC sets on the others."""

    share: int
    coverage: Number
    size: Number


def shares(evidence: Evidence, dataset: str) -> tuple[int, ...]:
    """Shares in per cent that were tried on a dataset, the main one among them; none if it is alone."""
    tried = {int(found[1]) for name in evidence.metrics(dataset) if (found := _SHARE.fullmatch(name))}
    return tuple(sorted(tried | {round(100 * evidence.scoring.calibration)})) if tried else ()


def points(evidence: Evidence, dataset: str, model: str) -> list[Point]:
    """What each share gives a model, small shares first."""
    main = round(100 * evidence.scoring.calibration)
    found = []
    for share in shares(evidence, dataset):
        end = "" if share == main else f"_calibrated_on_{share}"
        coverage = evidence.number(dataset, model, f"coverage{end}", SCORE)
        size = evidence.number(dataset, model, f"set_size{end}", SCORE)
        if coverage and size:
            found.append(Point(share, coverage, size))
    return found

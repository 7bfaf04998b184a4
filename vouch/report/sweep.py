"""Sets that are calibrated on another share of the questions than the main one."""

import re
from typing import NamedTuple

from vouch.report.evidence import Evidence
from vouch.report.numbers import Number

SCORE = "lac"
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

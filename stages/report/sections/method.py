"""How the numbers were made: the settings that the text of the template needs."""

from dataclasses import dataclass

from stages.report import words
from stages.report.evidence import Evidence
from stages.report.numbers import SIGNIFICANCE

TITLE = "Method"


@dataclass(frozen=True)
class Method:
    """Settings, as text."""

    alpha: str
    target: str
    calibration: str
    splits: str
    bins: str
    significance: str


def build(evidence: Evidence) -> Method:
    """The scoring parameters."""
    scoring = evidence.scoring
    return Method(
        alpha=f"{scoring.alpha:g}",
        target=words.percent(evidence.target, 0),
        calibration=words.percent(scoring.calibration, 0),
        splits=words.plural(scoring.splits, "split"),
        bins=str(scoring.bins),
        significance=f"{SIGNIFICANCE:g}",
    )

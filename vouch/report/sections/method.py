"""How the numbers were made: the settings that the text of the template needs."""

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.gates import MINIMUM
from vouch.report.numbers import SIGNIFICANCE

TITLE = "Method"


def build(evidence: Evidence) -> dict[str, str]:
    """The scoring parameters, as text."""
    scoring = evidence.scoring
    return {
        "alpha": f"{scoring.alpha:g}",
        "target": formatting.percent(evidence.target, 0),
        "calibration": formatting.percent(scoring.calibration, 0),
        "splits": formatting.plural(scoring.splits, "split"),
        "bins": str(scoring.bins),
        "significance": f"{SIGNIFICANCE:g}",
        "minimum": str(MINIMUM),
    }

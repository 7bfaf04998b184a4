"""Whether prediction sets contain the correct answer as often as their target says, and the words for it.

Coverage is *above* or *below* its target if it differs significantly (gates.py). If it does not, it is
consistent with the target, and one of two things is known: its interval lies within a tolerance of the target
(*on target*), or it is too wide to tell (*inconclusive*). Only *above* and *below* are corrected for the
number of comparisons. The tolerance is half of the errors that the target allows: 5 points for a target of
90 %.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from vouch.report import formatting
from vouch.report.claims import claim_of_share, once
from vouch.report.evidence import Evidence
from vouch.report.gates import MINIMUM, Claim, share_claim, significant

CoverageVerdict = Literal["above", "on target", "inconclusive", "below"]
TRANSFER_KEY = ("output", "from_model", "from_dataset", "model", "dataset", "weighting")
SCORE = "lac"


def tolerance(evidence: Evidence) -> float:
    """How far from the target coverage may be and still count as on target."""
    return evidence.scoring.alpha / 2


def tolerated(evidence: Evidence) -> str:
    """`5 points`: the tolerance in words."""
    points = f"{100 * tolerance(evidence):.3g}"
    return f"{points} point{'' if points == '1' else 's'}"


@once
def _verdicts(evidence: Evidence) -> dict[tuple[str, str, str], CoverageVerdict]:
    """By dataset, model and variation; variations have the thresholds of the original prompts."""
    tried: dict[tuple[str, str, str], Claim] = {}
    for name in evidence.datasets:
        for change in evidence.variations(name):
            metric = "coverage" if change == evidence.variations(name)[0] else "shift_coverage"
            for model, number in evidence.numbers(name, metric, SCORE, variation=change).items():
                if evidence.calibrated(name, model):
                    tried[name, model, change] = claim_of_share(evidence, name, number, evidence.target)
    shown, within = significant(tried), tolerance(evidence)
    return {place: _verdict(claim, place in shown, within) for place, claim in tried.items()}


def _verdict(claim: Claim, shown: bool, within: float) -> CoverageVerdict:
    """shown: whether the claim is made. within: the tolerance."""
    if shown:
        return "above" if claim.above else "below"
    known = claim.p is not None and claim.groups >= MINIMUM
    near = claim.null - within <= claim.low and claim.high <= claim.null + within
    return "on target" if known and near else "inconclusive"


def coverage_verdict(evidence: Evidence, dataset: str, model: str, variation: str = "") -> CoverageVerdict:
    """The verdict on a model's LAC sets; in a variation, with the thresholds of the original prompts."""
    place = (dataset, model, variation or evidence.variations(dataset)[0])
    return _verdicts(evidence).get(place, "inconclusive")


def counted(evidence: Evidence, verdicts: Iterable[CoverageVerdict]) -> str:
    """`consistent with the target in 16 (95 % interval within 5 points of it in 9, not corrected), ...`."""
    of = Counter(verdicts)
    text = f"consistent with the target in {of['on target'] + of['inconclusive']}"
    if of["on target"]:
        within = f"95{formatting.NARROW}% interval within {tolerated(evidence)} of it"
        text += f" ({within} in {of['on target']}, not corrected)"
    return f"{text}, above it in {of['above']} and below it in {of['below']}"


def in_words(evidence: Evidence, verdict: CoverageVerdict, low: float | None, high: float | None) -> str:
    """`consistent with the target of 90 % and within 5 points of it (88.0–92.0)`: after `coverage is`."""
    target = f"the target of {formatting.percent(evidence.target, 0)}"
    near = f"within {tolerated(evidence)} of it"
    ends = formatting.bracketed(low, high, 1, 100)
    return {
        "above": f"above {target}{ends}",
        "below": f"below {target}{ends}",
        "on target": f"consistent with {target} and {near}{ends}",
        "inconclusive": f"consistent with {target}, but the interval is too wide to tell{ends}",
    }[verdict]


@once
def transfer_coverages(evidence: Evidence) -> dict[tuple[str, ...], Claim]:
    """Coverage with thresholds of another dataset or model against its target, by TRANSFER_KEY."""
    tried = {}
    for row in evidence.transfer.dropna(subset=["coverage"]).to_dict("records"):
        home = row["from_model"] == row["model"] and row["from_dataset"] == row["dataset"]
        if not home and {row["dataset"], row["from_dataset"]} <= set(evidence.large):
            groups = min(evidence.groups(row["dataset"]), row["items"])
            claim = share_claim(row["coverage"], row["low"], row["high"], groups, evidence.target)
            tried[tuple(str(row[name]) for name in TRANSFER_KEY)] = claim
    return significant(tried)

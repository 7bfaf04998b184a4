"""Calibration: whether confidence matches accuracy, and whether it tells right answers from wrong ones."""

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.section import Block, Figures, Folded, Section, folding, said
from vouch.report.table import Column, Measured, TableSpec

TITLE = "Confidence"
HEADING = "Does confidence match accuracy?"
TEXT = Markup("""\
A model is calibrated if answers given with 80&#8239;% confidence are right 80&#8239;% of the time. A single
temperature, fitted on the calibration half, corrects a model that is overconfident everywhere. Judge its
effect by the NLL: ECE grows as questions get fewer, and only the test half is left after the fit. AUROC and
AURC measure something else: whether more confident answers are more often right.""")
TABLE = TableSpec(
    "calibration",
    "confidence against accuracy, clean protocol",
    (Column("Model"),),
    (
        Measured("ece"),
        Measured("temperature", help="best temperature; above 1 the model is overconfident"),
        Measured("nll"),
        Measured("nll_scaled"),
        Measured("ece_test"),
        Measured("ece_scaled"),
        Measured("brier"),
        Measured("auroc", help="how often a right answer has more confidence than a wrong one"),
        Measured("aurc", help="mean error of the most confident questions over all shares; lower is better"),
        Measured(
            "selective_accuracy_80",
            label="Most confident 80 %, accuracy %",
            help="accuracy when the least confident fifth is declined",
        ),
    ),
)
MORE = TableSpec(
    "calibration-more",
    "other bins, clean protocol",
    (Column("Model"),),
    (
        Measured("mce"),
        Measured("ece_mass"),
        Measured("mce_mass"),
    ),
)


def build(evidence: Evidence) -> Section | None:
    """One part per dataset on which confidence was compared with accuracy."""
    wanted = [
        dataset
        for dataset in evidence.datasets
        if any(evidence.number(dataset, model, "ece") for model in evidence.models(dataset))
    ]
    parts = [(dataset, _blocks(evidence, dataset)) for dataset in wanted]
    return Section(HEADING, TEXT, folding(parts, 1)) if parts else None


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    blocks: list[Block] = said(_sentence(evidence, dataset, model) for model in evidence.models(dataset))
    blocks.append(TABLE.known(evidence, dataset).grid(evidence, dataset))
    blocks.append(Figures([f"reliability-{dataset}"]))
    more = MORE.known(evidence, dataset)
    return [*blocks, Folded("Other bins", [more.grid(evidence, dataset)])] if more.measures else blocks


def _sentence(evidence: Evidence, dataset: str, model: str) -> str:
    """What one temperature corrects, where its interval excludes 1."""
    fitted = evidence.number(dataset, model, "temperature")
    if fitted is None or fitted.low is None or fitted.high is None or fitted.low <= 1 <= fitted.high:
        return ""
    manner = "overconfident" if fitted.value > 1 else "underconfident"
    text = f"{model} is {manner}: temperature {formatting.number(fitted.value, 2)} fits best"
    before, after = (evidence.number(dataset, model, metric) for metric in ("nll", "nll_scaled"))
    if before and after:
        nll = [formatting.number(found.value, 3) for found in (before, after)]
        text += f"; NLL {nll[0]} before, {nll[1]} after"
    # Of the test half: ECE on all questions is smaller whatever the temperature.
    before, after = (evidence.number(dataset, model, metric) for metric in ("ece_test", "ece_scaled"))
    if before and after:
        ece = [formatting.percent(found.value) for found in (before, after)]
        text += f"; ECE on the test half {ece[0]} before, {ece[1]} after"
    return f"{text}."

"""Calibration: whether confidence matches accuracy, and whether it tells right answers from wrong ones."""

from functools import partial

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.claims import chosen, miscalibrated
from vouch.report.evidence import Evidence
from vouch.report.section import Block, Figures, Folded, by_dataset, said
from vouch.report.table import Column, Measured, TableSpec

TITLE = "Confidence"
TEXT = Markup("""\
A model is calibrated if answers given with 80&#8239;% confidence are right 80&#8239;% of the time. A single
temperature, fitted on the calibration half, corrects a model that is overconfident everywhere. See its
effect in the NLL: ECE grows as questions get fewer, and only the test half is left after the fit. AUROC and
AURC measure something else: whether more confident answers are more often right.""")
TABLE = TableSpec(
    "calibration",
    "confidence against accuracy, clean protocol",
    (Column("Model"),),
    (
        Measured("ece"),
        Measured("temperature", help="best temperature; above 1 the model is overconfident"),
        Measured("nll"),
        Measured("auroc", help="how often a right answer has more confidence than a wrong one"),
        Measured(
            "selective_accuracy_80",
            label="Most confident 80 %, accuracy %",
            help="accuracy when the least confident fifth is declined",
        ),
    ),
)
MORE = TableSpec(
    "calibration-more",
    "after one temperature, other measures and other bins, clean protocol",
    (Column("Model"),),
    (
        Measured("nll_scaled"),
        Measured("ece_test"),
        Measured("ece_scaled"),
        Measured("brier"),
        Measured("aurc", help="mean error of the most confident questions over all shares; lower is better"),
        Measured("mce"),
        Measured("ece_mass"),
        Measured("mce_mass"),
    ),
)


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where confidence was not compared with accuracy."""
    if not evidence.numbers(dataset, "ece"):
        return []
    more = MORE.known(evidence, dataset)
    return [
        *said(
            [
                _counted(evidence, dataset),
                *(_sentence(evidence, dataset, m) for m in chosen(evidence, dataset)),
            ]
        ),
        TABLE.known(evidence, dataset).grid(evidence, dataset),
        Figures([f"reliability-{dataset}"]),
        *([Folded("Other measures", [more.grid(evidence, dataset)])] if more.measures else []),
    ]


def _counted(evidence: Evidence, dataset: str) -> str:
    """How many models one temperature corrects, where not all of them get a sentence."""
    models, found = evidence.models(dataset), miscalibrated(evidence)
    above = [found[dataset, model].above for model in models if (dataset, model) in found]
    if len(models) == len(chosen(evidence, dataset)) or not above:
        return ""
    return (
        f"Of {len(models)} models {sum(above)} are shown to be overconfident, {len(above) - sum(above)} "
        "underconfident."
    )


def _sentence(evidence: Evidence, dataset: str, model: str) -> str:
    """What one temperature corrects, where it significantly is not 1."""
    fitted = evidence.number(dataset, model, "temperature")
    if fitted is None or (dataset, model) not in miscalibrated(evidence):
        return ""
    manner = "overconfident" if fitted.value > 1 else "underconfident"
    text = f"{model} is {manner}: temperature {formatting.number(fitted.value, 2)} fits best"
    # ECE of the test half: on all questions it is smaller whatever the temperature.
    for label, metrics, form in (
        ("NLL", ("nll", "nll_scaled"), partial(formatting.number, digits=3)),
        ("ECE on the test half", ("ece_test", "ece_scaled"), formatting.percent),
    ):
        before, after = (evidence.number(dataset, model, metric) for metric in metrics)
        if before and after:
            text += f"; {label} {form(before.value)} before, {form(after.value)} after"
    return f"{text}."


build = by_dataset("Does confidence match accuracy?", TEXT, _blocks, opened=1)

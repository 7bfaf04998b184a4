"""Whether confidence matches accuracy, and which uncertainty estimate tells right answers from wrong ones.

answering.py, transfer.py and protocols.py have the other sections of the page.
"""

import re
from functools import partial
from typing import Any

import pandas as pd
from markupsafe import Markup

from vouch.metrics.calibration.uncertainty import CONFIDENCE
from vouch.metrics.text.texts import VERBALISED
from vouch.report import formatting
from vouch.report import vegalite as alt
from vouch.report.claims import MOST_CHOSEN, chosen, miscalibrated
from vouch.report.evidence import Evidence
from vouch.report.page import Block, DatasetFigure, Figures, Folded, Page, PageSection, by_dataset, said
from vouch.report.pages.answering import ANSWERING_SECTION
from vouch.report.pages.protocols import PROTOCOLS_SECTION
from vouch.report.pages.transfer import SWEEP_SECTION, TRANSFER_SECTION
from vouch.report.table import MISSING, Cell, Column, Grid, Measured, TableSpec, cells, whole
from vouch.report.table_files import reliability_bins
from vouch.tables.asked import P_TRUE

RELIABILITY_TIPS = [
    *alt.tips(".1%", confidence="Confidence", accuracy="Accuracy"),
    *alt.tips(",", answers="Answers"),
]


def _reliability_panel(data: pd.DataFrame, heading: str, named: bool, side: int) -> Any:
    domain = alt.Scale(domain=[0, 1])
    ticks = alt.Axis(format=".0%", values=[0, 0.5, 1])
    across = alt.X("confidence:Q", title="Confidence", scale=domain, axis=ticks)
    up = alt.Y("accuracy:Q", title="Accuracy" if named else None, scale=domain, axis=ticks)
    line = alt.Chart(pd.DataFrame({"confidence": [0.0, 1.0], "accuracy": [0.0, 1.0]}))
    base = alt.Chart(data)
    size = alt.Size("answers:Q", scale=alt.Scale(range=[12, 160]), legend=None)
    return alt.layer(
        line.mark_line(strokeDash=[4, 3], color=alt.INK, strokeWidth=1).encode(x=across, y=up),
        base.mark_rule(color=alt.BLUE, opacity=0.4, strokeWidth=1.5).encode(
            x=across, y=alt.Y("low:Q", scale=domain), y2="high:Q"
        ),
        base.mark_line(color=alt.BLUE, strokeWidth=1.2, opacity=0.6).encode(x=across, y=up),
        base.mark_circle(color=alt.BLUE, opacity=1).encode(
            x=across, y=up, size=size, tooltip=RELIABILITY_TIPS
        ),
    ).properties(width=side, height=side, title=heading)


def reliability_chart(evidence: Evidence, dataset: str, columns: int = MOST_CHOSEN, side: int = 210) -> Any:
    """One panel per model: points under the dashed line are over-confident. None without outcomes."""
    data = reliability_bins(evidence, dataset)
    if data.empty:
        return None
    panels = [
        _reliability_panel(group.drop(columns=["panel"]), str(heading), index % columns == 0, side)
        for index, (heading, group) in enumerate(data.groupby("panel", sort=False))
    ]
    return alt.concat(*panels, columns=columns, spacing=alt.SPACING)


def reliability_in_words(evidence: Evidence, dataset: str) -> str:
    """The picture in words."""
    data = reliability_bins(evidence, dataset)
    if data.empty:
        return ""
    said = []
    for model, group in data.groupby("model", sort=False):
        gap = ((group["confidence"] - group["accuracy"]) * group["answers"]).sum() / group["answers"].sum()
        manner = "over-confident" if gap > 0 else "under-confident"
        said.append(f"{model} is {manner} by {formatting.number(100 * abs(gap), 1)} points on average")
    return f"Reliability diagrams on {dataset}: {'; '.join(said)}."


RELIABILITY_FIGURE = DatasetFigure(
    "reliability",
    "Reliability diagram",
    reliability_chart,
    reliability_in_words,
    narrow={"columns": 2, "side": 120},
)


CALIBRATION_TEXT = Markup("""\
A model is calibrated if answers given with 80&#8239;% confidence are right 80&#8239;% of the time. A single
temperature, fitted on the calibration half, corrects a model that is overconfident everywhere. See its
effect in the NLL: ECE grows as questions get fewer, and only the test half is left after the fit. AUROC and
AURC measure something else: whether more confident answers are more often right.""")
CALIBRATION_TABLE = TableSpec(
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
CALIBRATION_MORE = TableSpec(
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


def _calibration_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where confidence was not compared with accuracy."""
    if not evidence.numbers(dataset, "ece"):
        return []
    more = CALIBRATION_MORE.known(evidence, dataset)
    return [
        *said(
            [
                _counted(evidence, dataset),
                *(_calibration_sentence(evidence, dataset, m) for m in chosen(evidence, dataset)),
            ]
        ),
        CALIBRATION_TABLE.known(evidence, dataset).grid(evidence, dataset),
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


def _calibration_sentence(evidence: Evidence, dataset: str, model: str) -> str:
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


CALIBRATION_SECTION = PageSection(
    "calibration",
    "Confidence",
    by_dataset("Does confidence match accuracy?", CALIBRATION_TEXT, _calibration_blocks, opened=1),
)


UNCERTAINTY_TEXT = Markup("""\
AUROC of every uncertainty estimate on the same answers to the original prompts, and in small print
how much that is over plain confidence, in points, with a paired 95&#8239;% interval; in bold where it leaves
out 0.""")
ESTIMATES = {
    CONFIDENCE: ("Confidence", "probability of the option; of a text exp(−NLL) of its tokens"),
    "entropy": ("Entropy", "of the options; of a text the mean before its tokens"),
    "corrected": ("Without words", "confidence after what the words alone say is divided out"),
    "vauq": ("VAUQ", "entropy minus half the image information"),
    "variations": ("Variations", "semantic entropy of the answers to reworded and disturbed prompts"),
    "agreement": ("Agreement", "share of the samples that give the same answer"),
    "semantic_entropy": ("Semantic entropy", "of the answers of the samples"),
    "vase": ("VASE", "semantic entropy with what samples for a blurred picture say taken off"),
    P_TRUE: ("P(true)", "probability that the model gives to its answer being true when asked"),
    VERBALISED: ("Stated", "confidence that the text states"),
}
_SAMPLED = re.compile(r"(.+)_t([0-9.e-]+)")


def _column(estimate: str) -> Column:
    sampled = _SAMPLED.fullmatch(estimate)
    label, help = ESTIMATES[sampled[1] if sampled else estimate]
    at = f", temperature {sampled[2]}" if sampled else ""
    return Column(f"{label} AUROC %", help + at, True)


def _uncertainty_cell(evidence: Evidence, dataset: str, model: str, output: str, estimate: str) -> Cell:
    number = evidence.number(dataset, model, "uncertainty_auroc", estimate, output=output)
    gain = evidence.number(dataset, model, "uncertainty_gain", estimate, output=output)
    if number is None:
        return MISSING
    text = formatting.number(100 * number.value, 1)
    if gain is None:
        return Cell(text, key=number.value)
    ends = formatting.bracketed(gain.low, gain.high, 1, 100)
    note = f"{formatting.number(100 * gain.value, 1)}{ends}"
    return Cell(text, note, number.value, tone="strong" if gain.excludes_zero else "")


def _uncertainty_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where there is but one sign."""
    frame = evidence.headlines
    frame = frame[(frame["dataset"] == dataset) & (frame["metric"] == "uncertainty_auroc")]
    blocks: list[Block] = []
    for output in evidence.outputs(dataset):
        known = set(frame.loc[frame["output"] == output, "score"])
        order = list(ESTIMATES)
        estimates = sorted(
            known, key=lambda name: (order.index(m[1] if (m := _SAMPLED.fullmatch(name)) else name), name)
        )
        rows = []
        for model in evidence.models(dataset):
            plain = evidence.number(dataset, model, "uncertainty_auroc", CONFIDENCE, output=output)
            if plain is not None:
                values = (
                    _uncertainty_cell(evidence, dataset, model, output, estimate) for estimate in estimates
                )
                rows.append(cells(model, whole(plain.items), *values))
        if rows:
            columns = [Column("Model"), Column("Items", "of which all estimates are known", True)]
            caption = f"{dataset}: uncertainty estimates, {output}"
            blocks.append(Grid(f"uncertainty-{output}", caption, [*columns, *map(_column, estimates)], rows))
    return blocks


UNCERTAINTY_SECTION = PageSection(
    "uncertainty",
    "Uncertainty estimates",
    by_dataset(
        "Which uncertainty estimate tells right from wrong?", UNCERTAINTY_TEXT, _uncertainty_blocks, opened=1
    ),
)

PAGE = Page(
    "calibration",
    "Calibration",
    "Whether confidence matches accuracy, and how much of a number is due to the protocol.",
    place=50,
    sections=(
        CALIBRATION_SECTION,
        UNCERTAINTY_SECTION,
        ANSWERING_SECTION,
        TRANSFER_SECTION,
        SWEEP_SECTION,
        PROTOCOLS_SECTION,
    ),
)

"""The page Calibration: whether confidence matches accuracy, and which estimate predicts correct answers.

answering.py, transfer.py and protocols.py have its other sections.
"""

import re
from functools import partial
from typing import Any

import pandas as pd
from markupsafe import Markup

from vouch.metrics.uncertainty import CONFIDENCE, ESTIMATES
from vouch.report import formatting
from vouch.report import vegalite as alt
from vouch.report.claims import MOST_CHOSEN, chosen, miscalibrated
from vouch.report.evidence import Evidence
from vouch.report.page import (
    Block,
    DatasetFigure,
    Figures,
    Folded,
    Page,
    PageSection,
    by_dataset,
    sentence_list,
)
from vouch.report.pages.answering import ANSWERING_SECTION
from vouch.report.pages.protocols import PROTOCOLS_SECTION
from vouch.report.pages.transfer import SWEEP_SECTION, TRANSFER_SECTION
from vouch.report.table import MISSING, Cell, Column, Grid, Measured, TableSpec, cells, whole
from vouch.report.table_files import reliability_bins

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
    """One panel per model: points below the dashed line are overconfident. None without outcomes."""
    data = reliability_bins(evidence, dataset)
    if data.empty:
        return None
    panels = [
        _reliability_panel(group.drop(columns=["panel"]), str(heading), index % columns == 0, side)
        for index, (heading, group) in enumerate(data.groupby("panel", sort=False))
    ]
    return alt.concat(*panels, columns=columns, spacing=alt.SPACING)


def reliability_in_words(evidence: Evidence, dataset: str) -> str:
    """The figure in words."""
    data = reliability_bins(evidence, dataset)
    if data.empty:
        return ""
    parts = []
    for model, group in data.groupby("model", sort=False):
        gap = ((group["confidence"] - group["accuracy"]) * group["answers"]).sum() / group["answers"].sum()
        manner = "overconfident" if gap > 0 else "underconfident"
        parts.append(f"{model} is {manner} by {formatting.number(100 * abs(gap), 1)} points on average")
    return f"Reliability diagrams on {dataset}: {'; '.join(parts)}."


RELIABILITY_FIGURE = DatasetFigure(
    "reliability",
    "Reliability diagram",
    reliability_chart,
    reliability_in_words,
    narrow={"columns": 2, "side": 120},
)


CALIBRATION_TEXT = Markup("""\
A model is calibrated if answers given with 80&#8239;% confidence are correct 80&#8239;% of the time. A single
temperature, fitted on the calibration half, corrects a model that is overconfident everywhere. The NLL shows
its effect best: after the fit only the test half is left, and ECE grows when there are fewer questions. AUROC
and AURC measure something else: whether more confident answers are more often correct.""")
CALIBRATION_TABLE = TableSpec(
    "calibration",
    "confidence against accuracy, clean protocol",
    (Column("Model"),),
    (
        Measured("ece"),
        Measured("temperature", help="the best-fitting temperature; above 1, the model is overconfident"),
        Measured("nll"),
        Measured("auroc", help="how often a correct answer has more confidence than a wrong one"),
        Measured(
            "selective_accuracy_80",
            label="Most confident 80 %, accuracy %",
            help="accuracy if the least confident fifth is left unanswered",
        ),
    ),
)
CALIBRATION_MORE = TableSpec(
    "calibration-more",
    "after one temperature; other measures; other bins; clean protocol",
    (Column("Model"),),
    (
        Measured("nll_scaled"),
        Measured("ece_test"),
        Measured("ece_scaled"),
        Measured("brier"),
        Measured(
            "aurc", help="mean error among the most confident questions, over all shares; lower is better"
        ),
        Measured("mce"),
        Measured("ece_mass"),
        Measured("mce_mass"),
    ),
)


def _calibration_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing if confidence was not compared with accuracy."""
    if not evidence.numbers(dataset, "ece"):
        return []
    more = CALIBRATION_MORE.known(evidence, dataset)
    return [
        *sentence_list(
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
    """How many models are miscalibrated, if not all of them get a sentence."""
    models, found = evidence.models(dataset), miscalibrated(evidence)
    above = [found[dataset, model].above for model in models if (dataset, model) in found]
    if len(models) == len(chosen(evidence, dataset)) or not above:
        return ""
    return (
        f"Of {len(models)} models, {sum(above)} are shown to be overconfident and {len(above) - sum(above)} "
        "underconfident."
    )


def _calibration_sentence(evidence: Evidence, dataset: str, model: str) -> str:
    """What one temperature corrects, if it differs significantly from 1."""
    fitted = evidence.number(dataset, model, "temperature")
    if fitted is None or (dataset, model) not in miscalibrated(evidence):
        return ""
    manner = "overconfident" if fitted.value > 1 else "underconfident"
    text = f"{model} is {manner}: a temperature of {formatting.number(fitted.value, 2)} fits best"
    # ECE of the test half before the fit too: on all questions it is smaller whatever the temperature.
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
AUROC of every uncertainty estimate on the same answers to the original prompts. In small print: the gain over
plain confidence, in points, with a paired 95&#8239;% interval; in bold if the interval excludes 0.""")
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
    """A table for each request type with uncertainty estimates."""
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
            columns = [Column("Model"), Column("Items", "for which all estimates are known", True)]
            caption = f"{dataset}: uncertainty estimates, {output}"
            blocks.append(Grid(f"uncertainty-{output}", caption, [*columns, *map(_column, estimates)], rows))
    return blocks


UNCERTAINTY_SECTION = PageSection(
    "uncertainty",
    "Uncertainty estimates",
    by_dataset(
        "Which uncertainty estimate tells correct answers from wrong ones?",
        UNCERTAINTY_TEXT,
        _uncertainty_blocks,
        opened=1,
    ),
)

PAGE = Page(
    "calibration",
    "Calibration",
    "Whether confidence matches accuracy, what thresholds are worth elsewhere, and what the protocol "
    "changes.",
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

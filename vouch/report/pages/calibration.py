"""The page Calibration: whether confidence matches accuracy.

Its other sections are in answering.py, transfer.py and protocols.py.
"""

import re
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
from markupsafe import Markup

from vouch.metrics.uncertainty import CONFIDENCE, ESTIMATES
from vouch.report import formatting, summaries
from vouch.report import vegalite as alt
from vouch.report.caveats import apart
from vouch.report.claims import chosen, miscalibrated
from vouch.report.evidence import Evidence
from vouch.report.gates import MINIMUM, ONLY_SHARES, Claim
from vouch.report.page import (
    Beside,
    Block,
    DatasetFigure,
    Figures,
    Folded,
    Page,
    PageSection,
    Text,
    by_dataset,
    sentence_list,
)
from vouch.report.table import (
    MISSING,
    Cell,
    Column,
    Grid,
    Measured,
    TableSpec,
    cells,
    whole,
)
from vouch.report.table_files import reliability_bins

RELIABILITY_TIPS = [
    *alt.tips(".1%", confidence="Confidence", accuracy="Accuracy"),
    *alt.tips(",", answers="Answers"),
]
PERFECT = "perfectly calibrated"
RELIABILITY_LINES = {alt.INTERVAL: alt.SOLID, PERFECT: alt.DASHED}
RELIABILITY_SIDE = 285  # two panels fit into a window of 800 pixels
COUNTS_HEIGHT = 56
WIDEST_COUNT = 15  # pixels that the count of a bin needs
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def _reliability_panel(data: pd.DataFrame, heading: str, looks: dict[str, Any], side: int) -> Any:
    """Accuracy by confidence; below it, how many answers each bin holds."""
    domain = alt.Scale(domain=[0, 1])
    across = alt.X(
        "confidence:Q", title=None, scale=domain, axis=alt.Axis(values=TICKS, labels=False, ticks=False)
    )
    up = alt.Y("accuracy:Q", title="Accuracy", scale=domain, axis=alt.Axis(format=".0%", values=TICKS))
    line = alt.Chart(pd.DataFrame({"confidence": [0.0, 1.0], "accuracy": [0.0, 1.0]}))
    base = alt.Chart(data).encode(x=across, color=looks["color"])
    perfect = line.mark_line(color=alt.INK, strokeWidth=1).encode(x=across, y=up)
    whiskers = base.mark_rule(opacity=0.4, strokeWidth=1.5)
    whiskers = whiskers.encode(y=alt.Y("low:Q", scale=domain), y2="high:Q")
    diagram = alt.layer(
        alt.in_legend(perfect, PERFECT, RELIABILITY_LINES),
        alt.in_legend(whiskers, alt.INTERVAL, RELIABILITY_LINES),
        base.mark_line(strokeWidth=1.2, opacity=0.6).encode(y=up),
        base.mark_point(filled=True, size=50, opacity=1).encode(
            y=up, shape=looks["shape"], tooltip=RELIABILITY_TIPS
        ),
    )
    return alt.vconcat(
        diagram.properties(width=side, height=side, title=heading), _counts(data, looks, side), spacing=8
    )


def _counts(data: pd.DataFrame, looks: dict[str, Any], side: int) -> Any:
    """A bar for each bin with the number of its answers, if there is room for it."""
    bins = alt.Axis(format=".0%", values=TICKS, grid=False)
    across = alt.X("start:Q", title="Confidence", scale=alt.Scale(domain=[0, 1]), axis=bins)
    room = alt.Scale(domain=[0, 1.25 * float(data["answers"].max())], nice=False)
    bare = alt.Axis(labels=False, ticks=False, grid=False, domain=False)
    up = alt.Y("answers:Q", title="Answers", scale=room, axis=bare)
    base = alt.Chart(data).encode(y=up)
    bars = base.mark_rect(opacity=0.45).encode(
        x=across, x2="end:Q", y2=alt.datum(0), color=looks["color"], tooltip=RELIABILITY_TIPS
    )
    texts = base.mark_text(baseline="bottom", dy=-2, fontSize=9, color=alt.INK).encode(
        x=alt.X("middle:Q"), text="count:N"
    )
    wide = side * float((data["end"] - data["start"]).min()) >= WIDEST_COUNT
    return alt.layer(bars, *([texts] if wide else [])).properties(width=side, height=COUNTS_HEIGHT)


def _short(count: int) -> str:
    """A count in at most four characters: 999, 1.2k, 12k."""
    return str(count) if count < 1000 else f"{count / 1000:.1f}k" if count < 9950 else f"{count / 1000:.0f}k"


def reliability_chart(
    evidence: Evidence, dataset: str, columns: int = 2, side: int = RELIABILITY_SIDE
) -> Any:
    """A panel for each model: points below the dashed line are overconfident. None without outcomes."""
    data, bins = reliability_bins(evidence, dataset), evidence.scoring.bins
    if data.empty:
        return None
    data = data.assign(start=data["bin"] / bins, middle=(data["bin"] + 0.5) / bins)
    data = data.assign(end=(data["bin"] + 1) / bins, count=data["answers"].map(_short))
    panels = []
    for (heading, model), own in data.groupby(["panel", "model"], sort=False):
        looks = alt.by_model(evidence.all_models, [model], legend=None)
        looks = {name: alt.value(channel["scale"]["range"][0]) for name, channel in looks.items()}
        panels.append(_reliability_panel(own.drop(columns=["panel", "model", "bin"]), heading, looks, side))
    return alt.concat(*panels, columns=columns, spacing=alt.SPACING)


def reliability_in_words(evidence: Evidence, dataset: str) -> str:
    """The figure in words."""
    data, shown = reliability_bins(evidence, dataset), miscalibrated(evidence)
    if data.empty:
        return ""
    parts = []
    for (panel, model), group in data.groupby(["panel", "model"], sort=False):
        answers = group["answers"].sum()
        confident, correct = (
            formatting.percent((group[name] * group["answers"]).sum() / answers)
            for name in ("confidence", "accuracy")
        )
        claim = shown.get((dataset, model))
        manner = f", shown to be {_manner(claim)}" if claim else ""
        parts.append(f"{panel}, {confident} confident and {correct} correct on average{manner}")
    return f"Reliability diagrams on {dataset}: {'; '.join(parts)}."


def _manner(temperature: Claim) -> str:
    return "overconfident" if temperature.above else "underconfident"


RELIABILITY_FIGURE = DatasetFigure(
    "reliability",
    "Reliability diagram",
    reliability_chart,
    reliability_in_words,
    narrow={"columns": 1, "side": 270},
)


CALIBRATION_TEXT = Markup("""\
A model is calibrated if answers given with 80&#8239;% confidence are correct 80&#8239;% of the time. A single
temperature, fitted on the calibration half, corrects a model that is overconfident everywhere. Its effect is
measured on the test half, best by the NLL, because ECE grows if there are fewer questions. AUROC and AURC
measure something else: whether more confident answers are more often correct.""")
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
    """Reliability of each model; no blocks if confidence was not compared with accuracy."""
    elsewhere: list[Block] = [Text(each) for each in apart(evidence, dataset)]
    if not evidence.numbers(dataset, "ece"):
        return elsewhere
    more = CALIBRATION_MORE.known(evidence, dataset)
    sentences = sentence_list(
        [
            _counted(evidence, dataset),
            *(_calibration_sentence(evidence, dataset, m) for m in chosen(evidence, dataset)),
        ]
    )
    few = [Text(f"{ONLY_SHARES}.")] if evidence.is_small(dataset) else []
    return [
        *elsewhere,
        *few,
        CALIBRATION_TABLE.known(evidence, dataset).grid(evidence, dataset),
        Beside([*sentences, Figures([f"reliability-{dataset}"])]),
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
    """How much one temperature corrects, if it differs significantly from 1."""
    fitted = evidence.number(dataset, model, "temperature")
    claim = miscalibrated(evidence).get((dataset, model))
    if fitted is None or claim is None:
        return ""
    text = f"{model} is {_manner(claim)}: a temperature of {formatting.number(fitted.value, 2)} fits best"
    # Both ECEs are of the test half: on all questions, ECE is smaller whatever the temperature.
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
    page="calibration",
    place=10,
    summary=summaries.confidence,
)


UNCERTAINTY_TEXT = Markup(
    """\
AUROC of every uncertainty estimate on the same answers to the original prompts. In small print: the gain over
plain confidence, in points, with a paired 95&#8239;% interval. In bold if it is better than plain confidence:
the whole interval is above 0. FESTA needs prompts that keep the answer and prompts that change it. It is
compared on the answers that have both; the number of the others is in small print. With fewer than {MINIMUM}
independent questions there is no interval, and nothing is in bold.""".replace("{MINIMUM}", str(MINIMUM))
)
_SAMPLED = re.compile(r"(.+)_t([0-9.e-]+)")


def _column(estimate: str) -> Column:
    sampled = _SAMPLED.fullmatch(estimate)
    label, help, _ = ESTIMATES[sampled[1] if sampled else estimate]
    at = f", temperature {sampled[2]}" if sampled else ""
    return Column(f"{label} AUROC %", help + at, True)


def _uncertainty_cell(evidence: Evidence, dataset: str, model: str, output: str, estimate: str) -> Cell:
    number, gain, unknown = (
        evidence.number(dataset, model, f"uncertainty_{what}", estimate, output=output)
        for what in ("auroc", "gain", "unknown")
    )
    few = f"too few prompts for {formatting.count(int(unknown.value))}" if unknown and unknown.value else ""
    if number is None:
        return replace(MISSING, note=few)
    text = formatting.number(100 * number.value, 1)
    if gain is None:
        return Cell(text, key=number.value)
    ends = formatting.bracketed(gain.low, gain.high, 1, 100)
    note = ", ".join(filter(None, (f"{formatting.number(100 * gain.value, 1)}{ends}", few)))
    better = gain.excludes_zero and gain.value > 0
    return Cell(text, note, number.value, tone="strong" if better else "")


def _uncertainty_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """A table for each request type that has uncertainty estimates."""
    frame = evidence.headlines
    shown = ("uncertainty_auroc", "uncertainty_unknown")
    frame = frame[(frame["dataset"] == dataset) & frame["metric"].isin(shown)]
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
    page="calibration",
    place=20,
    summary=summaries.uncertainty,
)

PAGE = Page(
    "calibration",
    "Calibration",
    "Whether confidence matches accuracy, what thresholds are worth elsewhere, and what the protocol "
    "changes.",
    place=50,
    folds=True,
)

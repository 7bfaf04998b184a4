"""Two protocols on the same answers: that of the authors' code, and a clean analysis."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pandas as pd
from markupsafe import Markup

from vouch.report import formatting, summaries
from vouch.report import vegalite as alt
from vouch.report.evidence import Evidence
from vouch.report.gates import headline_columns
from vouch.report.page import (
    Beside,
    Block,
    DatasetFigure,
    Figures,
    Folded,
    PageSection,
    by_dataset,
    sentence_list,
)
from vouch.report.table import MISSING, Cell, Column, Measured, Row, TableSpec, rank_cell

# heading, metric, score, format and smallest distance of the ticks
PROTOCOLS_PANELS = {
    "accuracy": ("Accuracy", "accuracy", "", ".0%", 0.01),
    "coverage": ("Coverage, LAC", "coverage", "lac", ".0%", 0.01),
    "size": ("Options in a set, LAC", "set_size", "lac", ".1f", 0.1),
}
PROTOCOLS_DRAWN = {"clean": "clean", "faithful": "faithful"}
PROTOCOLS_STEP, PROTOCOLS_WIDTH = 20, 195
PROTOCOLS_TIPS = alt.tips(".3f", model_n="Model", protocol_n="Protocol", value="Value")


def protocols_frame(evidence: Evidence, dataset: str, panel: str) -> pd.DataFrame:
    """One row per model and protocol."""
    _, metric, score, _, _ = PROTOCOLS_PANELS[panel]
    rows = [
        {"model": model, "protocol": name, "value": number.value}
        | ({"low": number.low, "high": number.high} if protocol == "clean" else {})
        for model in evidence.models(dataset)
        for protocol, name in PROTOCOLS_DRAWN.items()
        if (number := Measured(metric, score, protocol=protocol).number(evidence, dataset, model))
    ]
    return pd.DataFrame(rows, columns=["model", "protocol", "value", "low", "high"])


def _protocols_panel(evidence: Evidence, dataset: str, panel: str, named: bool) -> Any:
    title, _, _, form, step = PROTOCOLS_PANELS[panel]
    data = protocols_frame(evidence, dataset, panel)
    models = list(evidence.models(dataset))
    narrow = not alt.fits(models, alt.NARROW_LIMIT)
    rows = alt.rows("model", models, 230, labels=named, narrow=narrow, ticks=named)
    scale = alt.Scale(zero=False, nice=True)
    ticks = alt.Axis(format=form, tickCount=4, tickMinStep=step)
    across = alt.X("value:Q", title=title, scale=scale, axis=ticks)
    kinds = alt.two_kinds("protocol", list(PROTOCOLS_DRAWN.values()))
    base = alt.Chart(data).encode(y=rows, color=kinds["color"])
    target = alt.target_name(evidence.target)
    names = {f"{alt.INTERVAL}, clean": alt.SOLID, target: alt.DASHED}
    interval = alt.whiskers(base).mark_rule(strokeWidth=2, opacity=0.5).encode(x=across, x2="high:Q")
    points = base.mark_point(size=42, strokeWidth=1.6, opacity=1)
    layers = [
        alt.in_legend(interval, next(iter(names)), names),
        points.encode(x=across, **kinds, tooltip=PROTOCOLS_TIPS),
    ]
    if panel == "coverage":
        rule = alt.target(evidence.target).encode(x=across)
        layers.insert(0, alt.in_legend(rule, target, names))
    return alt.layer(*layers).properties(
        width=PROTOCOLS_WIDTH, height=alt.row_step(PROTOCOLS_STEP, models, narrow)
    )


def protocols_chart(evidence: Evidence, dataset: str, beside: bool = True) -> Any:
    """Three panels, one line per model; None if one would be empty. beside: in a row, not in a column."""
    if any(protocols_frame(evidence, dataset, panel).empty for panel in PROTOCOLS_PANELS):
        return None
    first = next(iter(PROTOCOLS_PANELS))
    panels = [
        _protocols_panel(evidence, dataset, panel, panel == first or not beside) for panel in PROTOCOLS_PANELS
    ]
    if beside:
        return alt.hconcat(*panels, spacing=alt.SPACING, bounds="flush")
    return alt.vconcat(*panels, spacing=alt.SPACING)


def protocols_in_words(evidence: Evidence, dataset: str) -> str:
    """The figure in words."""
    gaps = []
    for panel, (title, *_) in PROTOCOLS_PANELS.items():
        data = protocols_frame(evidence, dataset, panel).pivot(
            index="model", columns="protocol", values="value"
        )
        if data.shape[1] == len(PROTOCOLS_DRAWN):
            gap = (data.iloc[:, 0] - data.iloc[:, 1]).abs().max()
            gaps.append(f"{title} {formatting.number(gap, 3)}")
    return f"Both protocols for each model on {dataset}. Largest differences between them: {'; '.join(gaps)}."


PROTOCOLS_FIGURE = DatasetFigure(
    "protocols", "Faithful against clean", protocols_chart, protocols_in_words, narrow={"beside": False}
)


PROTOCOLS_TEXT = Markup("""\
<em>Faithful</em> repeats the published procedure with its defects, so that published numbers are reproduced
exactly. <em>Clean</em> repairs what can be repaired without asking a model again. A difference between the
two is an artefact of the procedure, not a property of a model.""")
PROTOCOLS = ("faithful", "clean")
PROTOCOLS_COLUMNS = tuple(Measured(*column) for column in headline_columns(3))
PROTOCOLS_TABLE = TableSpec(
    "protocols",
    "both protocols side by side",
    (
        Column("Model"),
        *(Column(f"Rank, {protocol}", "by accuracy", True) for protocol in PROTOCOLS),
    ),
    tuple(
        replace(each, label=f"{each.column.label}, {protocol}", protocol=protocol)
        for each in PROTOCOLS_COLUMNS
        for protocol in PROTOCOLS
    ),
)


def _protocols_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    rows: list[Row] = [
        ((model, *(_rank(evidence, dataset, model, protocol) for protocol in PROTOCOLS)), {"model": model})
        for model in evidence.models(dataset)
    ]
    return [
        Beside([*sentence_list(_protocols_sentences(evidence, dataset)), Figures([f"protocols-{dataset}"])]),
        Folded("Both protocols as a table", [PROTOCOLS_TABLE.grid(evidence, dataset, rows)]),
    ]


def _most(evidence: Evidence, dataset: str, metric: str, protocol: str) -> float | None:
    """The largest value over the models, for facts about rows rather than about a model."""
    numbers = evidence.numbers(dataset, metric, protocol=protocol).values()
    return max((number.value for number in numbers), default=None)


def _protocols_sentences(evidence: Evidence, dataset: str) -> Iterator[str]:
    share = _most(evidence, dataset, "sibling_share", "faithful")
    if share:
        yield (
            f"In the faithful split, {formatting.percent(share, 0)} of the test rows have a sibling (a copy "
            "of the same question) among the calibration rows; the clean protocol keeps siblings on one "
            "side."
        )
    elif share is not None:
        yield "No question has copies on both sides of the faithful split."
    dropped = _most(evidence, dataset, "rows_dropped", "clean")
    if dropped is not None:
        rows = formatting.plural(int(dropped), "row") if dropped else "no row"
        yield f"The clean protocol leaves out {rows} as defective."
    yield _moves(evidence, dataset)
    yield _infinite(evidence, dataset)
    yield _uncertainty(evidence, dataset)


def _moves(evidence: Evidence, dataset: str) -> str:
    """How much the choice of protocol changes numbers and ranks."""
    both = {
        metric: [
            (clean, faithful[model])
            for faithful in [evidence.numbers(dataset, metric, score, protocol="faithful")]
            for model, clean in evidence.numbers(dataset, metric, score).items()
            if model in faithful and (not score or evidence.calibrated_by_both(dataset, model))
        ]
        for metric, score in (("accuracy", ""), ("set_size", "lac"))
    }
    if not both["accuracy"]:
        return ""

    def most(metric: str) -> float:
        return max(abs(clean.value - faithful.value) for clean, faithful in both[metric])

    text = f"Accuracy changes by at most {formatting.number(100 * most('accuracy'), 1)} points"
    if both["set_size"]:
        text += f" and LAC set size by {formatting.number(most('set_size'), 2)} options"
    ranked = [(clean.rank, faithful.rank) for clean, faithful in both["accuracy"] if clean.rank is not None]
    known, changed = len(ranked), sum(clean != faithful for clean, faithful in ranked)
    named = known > 1 and not evidence.is_small(dataset)
    return f"{text}; {changed} of {known} models change rank." if named else f"{text}."


def _infinite(evidence: Evidence, dataset: str) -> str:
    """Why models have no sets here; nothing if all have."""
    none = [
        model
        for model in evidence.numbers(dataset, "set_size", "lac")
        if not evidence.calibrated_by_both(dataset, model)
    ]
    if not none:
        return ""
    return (
        f"The calibration half of {formatting.listed(none)} is too small for a finite threshold in some "
        "splits or in all: without one, every set holds all options. Coverage and set sizes are left out."
    )


def _uncertainty(evidence: Evidence, dataset: str) -> str:
    numbers = evidence.numbers(dataset, "accuracy").values()
    widths = [(n.high - n.low) / 2 for n in numbers if n.low is not None and n.high is not None]
    spans = [
        n.rank_high - n.rank_low + 1 for n in numbers if n.rank_low is not None and n.rank_high is not None
    ]
    if not widths:
        return ""
    reach = formatting.number(100 * sum(widths) / len(widths), 1)
    text = f"The clean interval of an accuracy is ±{reach} points on average"
    if len(spans) > 1 and not evidence.is_small(dataset):
        text += f", which leaves a model {formatting.number(sum(spans) / len(spans), 1)} possible ranks"
    return f"{text}; the faithful protocol has no intervals."


def _rank(evidence: Evidence, dataset: str, model: str, protocol: str) -> Cell:
    number = evidence.number(dataset, model, "accuracy", protocol=protocol)
    if evidence.is_small(dataset) or len(evidence.candidates(dataset)) < 2:
        return MISSING
    return rank_cell(number, exact=protocol == "faithful")


PROTOCOLS_SECTION = PageSection(
    "protocols",
    "Two protocols",
    by_dataset("Two protocols on the same answers", PROTOCOLS_TEXT, _protocols_blocks, opened=1),
    page="calibration",
    place=60,
    summary=summaries.protocols,
)

"""The page Models: for each dataset the headline table with its two figures.

Its other sections are in models_detail.py.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import pandas as pd
from markupsafe import Markup

from vouch.metrics.conformal.scores import SCORES
from vouch.report import formatting
from vouch.report import vegalite as alt
from vouch.report.blind import NOTE as BLIND_NOTE
from vouch.report.blind import answered, beaten
from vouch.report.caveats import NOTE, left_out, undecided
from vouch.report.claims import above_chance, baselines, leaders, why_no_leader
from vouch.report.evidence import Evidence, Number
from vouch.report.gates import MINIMUM
from vouch.report.page import (
    Beside,
    Block,
    DatasetFigure,
    Figures,
    Page,
    PageSection,
    Part,
    Section,
    Text,
    by_dataset,
)
from vouch.report.pages.ranking import said_detectable
from vouch.report.table import (
    MISSING,
    Cell,
    Column,
    Grid,
    Row,
    TableSpec,
    Tone,
    cells,
    figure,
    model_cell,
    ranges,
    rank_cell,
    rounded,
)
from vouch.report.table_files import HEADLINES, OPTIONAL
from vouch.tables import HEADLINE
from vouch.tables.asked import TEXT as OUTPUT

CHART_SIZE = (520.0, 430.0)
FONT = 11
CHARACTER = 0.56  # mean width of a character, in font sizes
POINT = 5.0  # half the side of the square that a point keeps free, pixels
Axis = Callable[[str], Any]
"""A channel of a column, `x:Q`, on an axis of the chart."""
ACCURACY_AND_SET_SIZE_TIPS = [
    *alt.tips(".1%", model_n="Model", y="Accuracy", y_low="from", y_high="to"),
    *alt.tips(".2f", x="Options in a set"),
]


def accuracy_and_set_size_frame(evidence: Evidence, dataset: str) -> pd.DataFrame:
    """One row per model that has both numbers: x, y, their intervals, and whether it leads.

    Models that could not be calibrated in some split are left out, because the size of their sets means
    nothing.
    """
    rows = []
    leading, sizes = leaders(evidence, dataset), evidence.numbers(dataset, "set_size", "lac")
    for model, accuracy in evidence.numbers(dataset, "accuracy").items():
        if model in sizes and evidence.calibrated(dataset, model):
            row: dict[str, Any] = {"model": model, "leads": model in leading}
            for name, number in (("x", sizes[model]), ("y", accuracy)):
                row |= {name: number.value, f"{name}_low": number.ends[0], f"{name}_high": number.ends[1]}
            rows.append(row)
    return pd.DataFrame(rows)


def _domain(data: pd.DataFrame, name: str, *shown: float) -> list[float]:
    low, high = min([*data[f"{name}_low"], *shown]), max([*data[f"{name}_high"], *shown])
    margin = 0.05 * (high - low) or 0.05
    return [low - margin, high + margin]


class Label(NamedTuple):
    """x, y: anchor of the text, pixels. align: `left` or `right`. linked: has a line to its point."""

    x: float
    y: float
    align: str
    linked: bool


def place_labels(
    points: Sequence[tuple[float, float]], names: Sequence[str], size: tuple[float, float]
) -> list[Label | None]:
    """A label for each point (pixels, y downwards), earlier points first; None if there is no free position.

    Deterministic: each point takes the first of a fixed list of positions that overlaps no other label and no
    point and stays inside the chart.
    """
    taken = [(x - POINT, y - POINT, x + POINT, y + POINT) for x, y in points]
    labels: list[Label | None] = []
    for (x, y), name in zip(points, names, strict=True):
        width = len(name) * CHARACTER * FONT
        for label in _places(x, y):
            start = label.x if label.align == "left" else label.x - width
            left, right = start - 1, start + width + 1
            top, bottom = label.y - FONT * 0.6, label.y + FONT * 0.6
            inside = left >= 0 and right <= size[0] and top >= 0 and bottom <= size[1]
            if inside and not any(left < c and a < right and top < d and b < bottom for a, b, c, d in taken):
                taken.append((left, top, right, bottom))
                labels.append(label)
                break
        else:
            labels.append(None)
    return labels


def _places(x: float, y: float) -> Iterator[Label]:
    """Positions to try: between the arms of the point's intervals, then further and further away."""
    steps = [sign * step * 0.5 * (FONT + 1) for step in range(1, 11) for sign in (-1, 1)]
    beside = 0.6 * FONT + POINT + 0.5
    yield from (Label(x + 5, y + dy, "left", False) for dy in (-beside, beside))
    yield from (Label(x - 5, y + dy, "right", False) for dy in (-beside, beside))
    for reach in (16, 30, 48, 72):
        for dy in steps:
            yield Label(x + reach, y + dy, "left", True)
            yield Label(x - reach, y + dy, "right", True)


def _labelled(data: pd.DataFrame, x: list[float], y: list[float], size: tuple[float, float]) -> pd.DataFrame:
    """Adds the position of each label, in the units of the axes."""
    width, height = size
    pixels = [
        ((row.x - x[0]) / (x[1] - x[0]) * width, (y[1] - row.y) / (y[1] - y[0]) * height)
        for row in data.itertuples()
    ]
    placed = place_labels(pixels, data["model"].tolist(), size)
    rows = [
        {"model": model, "leads": leads, "x": px, "y": py, "label_x": at.x, "label_y": at.y}
        | {"align": at.align, "linked": at.linked}
        for model, leads, (px, py), at in zip(data["model"], data["leads"], pixels, placed, strict=True)
        if at is not None
    ]
    found = pd.DataFrame(rows, columns=["model", "leads", "x", "y", "label_x", "label_y", "align", "linked"])
    for name in ("x", "label_x"):
        found[name] = x[0] + found[name] / width * (x[1] - x[0])
    for name in ("y", "label_y"):
        found[name] = y[1] - found[name] / height * (y[1] - y[0])
    return found


def accuracy_and_set_size_chart(
    evidence: Evidence, dataset: str, size: tuple[float, float] = CHART_SIZE
) -> Any:
    """Points with 95 % intervals in both directions, the leaders in colour, and the accuracy of a guess.

    None if there is no model to show.
    """
    data = accuracy_and_set_size_frame(evidence, dataset)
    if data.empty:
        return None
    chance = evidence.chance(dataset)
    x, y = _domain(data, "x"), _domain(data, "y", chance)
    fixed = {"nice": False, "zero": False}
    across: Axis = partial(
        alt.X,
        title="Mean set size, options (LAC)",
        scale=alt.Scale(domain=x, **fixed),
        axis=alt.Axis(tickCount=size[0] // 65),
    )
    up: Axis = partial(
        alt.Y,
        title="Accuracy",
        scale=alt.Scale(domain=y, **fixed),
        axis=alt.Axis(format=".0%", tickMinStep=0.01),
    )
    colour = alt.condition("datum.leads", alt.value(alt.BLUE), alt.value(alt.FAINT))
    base = alt.Chart(data).encode(x=across("x:Q"), y=up("y:Q"), color=colour)
    guess = alt.Chart(pd.DataFrame({"x": x[1:], "y": [chance], "text": ["guess"]})).encode(y=up("y:Q"))
    style = {"align": "right", "baseline": "bottom", "dy": -3, "fontSize": FONT, "color": alt.MUTED}
    links, *names = _names(_labelled(data, x, y, size), across, up)
    return alt.layer(
        guess.mark_rule(color=alt.MUTED, strokeDash=[4, 3]),
        guess.mark_text(**style).encode(x=across("x:Q"), text="text:N"),
        base.mark_rule(strokeWidth=1.5, opacity=0.4).encode(x=across("x_low:Q"), x2="x_high:Q"),
        base.mark_rule(strokeWidth=1.5, opacity=0.4).encode(y=up("y_low:Q"), y2="y_high:Q"),
        links,
        base.mark_circle(size=60, opacity=1).encode(tooltip=ACCURACY_AND_SET_SIZE_TIPS),
        *names,
    ).properties(width=size[0], height=size[1])


def _names(labels: pd.DataFrame, across: Axis, up: Axis) -> Iterator[Any]:
    """Lines from distant labels to their points, then the labels."""
    links = alt.Chart(labels[labels["linked"]]).mark_rule(color=alt.FAINT, strokeWidth=0.7)
    yield links.encode(x=across("x:Q"), y=up("y:Q"), x2="label_x:Q", y2="label_y:Q")
    ink = alt.condition("datum.leads", alt.value(alt.INK), alt.value(alt.MUTED))
    for align in ("left", "right"):
        text = alt.Chart(labels[labels["align"] == align]).encode(
            x=across("label_x:Q"), y=up("label_y:Q"), text="model:N"
        )
        style = {"align": align, "baseline": "middle", "fontSize": FONT}
        # A wide stroke in the background colour keeps the name readable over lines.
        yield text.mark_text(**style, color=alt.PAPER, stroke=alt.PAPER, strokeWidth=3, opacity=0.85)
        yield text.mark_text(**style).encode(color=ink)


def accuracy_and_set_size_in_words(evidence: Evidence, dataset: str) -> str:
    """The figure in words."""
    data = accuracy_and_set_size_frame(evidence, dataset)
    leading = data.loc[data["leads"].astype(bool), "model"].tolist()
    best = f" Best or tied for best: {formatting.listed(leading)}." if leading else ""
    return (
        f"Scatter plot of {formatting.plural(len(data), 'model')} on {dataset}: accuracy "
        f"{formatting.span(data['y'].min(), data['y'].max(), 1, 100)}{formatting.NARROW}%, "
        f"{formatting.span(data['x'].min(), data['x'].max(), 2)} options in a set; guessing is correct for "
        f"{formatting.percent(evidence.chance(dataset))}.{best}"
    )


ACCURACY_AND_SET_SIZE_FIGURE = DatasetFigure(
    "accuracy_and_set_size",
    "Accuracy against set size",
    accuracy_and_set_size_chart,
    accuracy_and_set_size_in_words,
    narrow={"size": (270.0, 270.0)},  # together with its axes, it fits a phone held upright
)


SET_SCORES = {name: SCORES[name].label for name in HEADLINE}
COVERAGE_STEP = 17
COVERAGE_TIPS = alt.tips(".1%", model_n="Model", score_n="Score", value="Coverage", low="from", high="to")


def coverage_frame(evidence: Evidence, dataset: str) -> pd.DataFrame:
    """One row per model and nonconformity score, for models that were calibrated in every split."""
    rows = [
        {"model": model, "score": name, "value": number.value, "low": number.low, "high": number.high}
        for model in evidence.models(dataset)
        if evidence.calibrated(dataset, model)
        for score, name in SET_SCORES.items()
        if (number := evidence.number(dataset, model, "coverage", score))
    ]
    return pd.DataFrame(rows, columns=["model", "score", "value", "low", "high"])


def coverage_chart(evidence: Evidence, dataset: str, width: int = 420, ticks: int = 7) -> Any:
    """A point with its interval per model and score; None if no model has coverage."""
    data = coverage_frame(evidence, dataset)
    if data.empty:
        return None
    least = min(float(data[["value", "low"]].astype(float).min().min()), evidence.target) - 0.01
    across = alt.shares("Coverage", least, ticks)
    kinds = alt.two_kinds("score", list(SET_SCORES.values()))
    rows = alt.rows("model", list(dict.fromkeys(data["model"])), 230)
    base = alt.Chart(data).encode(x=across, y=rows, color=kinds["color"])
    return alt.layer(
        alt.target(evidence.target).encode(x=across),
        alt.whiskers(base).mark_rule(strokeWidth=2, opacity=0.5).encode(x2="high:Q"),
        base.mark_point(filled=True, size=45, opacity=1).encode(**kinds, tooltip=COVERAGE_TIPS),
    ).properties(width=width, height=alt.Step(COVERAGE_STEP))


def coverage_in_words(evidence: Evidence, dataset: str) -> str:
    """The figure in words."""
    data = coverage_frame(evidence, dataset)
    parts = []
    for name, group in data.groupby("score", sort=False):
        low, high = formatting.percent(group["value"].min()), formatting.percent(group["value"].max())
        parts.append(f"{name} sets cover {low} to {high} of the questions")
    return (
        f"Coverage on {dataset}: {'; '.join(parts)}. The target is {formatting.percent(evidence.target, 0)}."
    )


COVERAGE_FIGURE = DatasetFigure(
    "coverage",
    "Does coverage reach the target?",
    coverage_chart,
    coverage_in_words,
    narrow={"width": 230, "ticks": 4},
)


RESULTS_HEADING = "Results"
RESULTS_TEXT = Markup("""\
Clean protocol: copies of a question stay on one side of every split, and numbers have intervals. A rank of
<em>1–3</em> means that the intervals allow any of the three; a single model has no rank, and if no model
beats guessing, none has one.{paired} Models in bold beat guessing and are not significantly worse than the
best. Click a heading to sort. All numbers of whole datasets are in
<a href="../tables/metrics.csv">tables/metrics.csv</a>; numbers by category or with separate thresholds are in
<code>data/compare/leaderboard.parquet</code>.""")
PAIRED_TEXT = Markup("""\
 Paired comparisons on the same questions (page <em>Ranking</em>) separate more models.""")
RESULTS_TABLE = TableSpec(
    "headline",
    f"clean protocol, 95{formatting.NARROW}% intervals in small print",
    (Column("Model"), Column("Rank", "by accuracy: the ranks that the intervals allow", True)),
    HEADLINES,
)
RESULTS_FIGURES = ("accuracy_and_set_size", "coverage")


def _results_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    why = why_no_leader(evidence, dataset)
    detectable = f"{why[:1].upper()}{why[1:]}." if why else said_detectable(evidence, dataset).strip()
    return [
        *(Text(w, "warning") for w in left_out(evidence, [dataset])),
        *(Text(w, "warning") for w in _warnings(evidence, dataset)),
        *([Text(detectable)] if detectable else []),
        *_beside_the_blind(evidence, dataset),
        _headline(evidence, dataset),
        Beside([Figures([f"{name}-{dataset}"]) for name in RESULTS_FIGURES]),
    ]


def _beside_the_blind(evidence: Evidence, dataset: str) -> list[Block]:
    """What the blind baseline answers, and who beats it; nothing without one."""
    baseline = baselines(evidence).get(dataset)
    if baseline is None:
        return []
    sentences = [answered(dataset, baseline), *beaten(baseline, evidence.candidates(dataset))]
    return [Text(" ".join(sentences))]


def _headline(evidence: Evidence, dataset: str) -> Grid:
    leading, away = leaders(evidence, dataset), evidence.left_out(dataset)
    note = NOTE.get(evidence.outputs(dataset)[0], "")
    small = evidence.is_small(dataset)
    candidates = evidence.candidates(dataset)
    unranked = small or len(candidates) < 2 or not above_chance(evidence, dataset)
    blind = [model for model in evidence.blind(dataset) if model not in away]
    models = (*(sorted(candidates) if small else candidates), *away, *blind)
    accuracies = [evidence.number(dataset, model, "accuracy") for model in models]
    rows: list[Row] = []
    for model, accuracy in zip(models, accuracies, strict=True):
        tone: Tone = "strong" if model in leading else ""
        name = model_cell(evidence, dataset, model, tone)
        if model in away and note:
            name = Cell(model, note, tone="quiet")
        rows.append(((name, MISSING if unranked else rank_cell(accuracy)), {"model": model}))
    known = [
        each for each in HEADLINES if each.metric not in OPTIONAL or evidence.numbers(dataset, each.metric)
    ]
    grid = replace(RESULTS_TABLE, measures=known).grid(evidence, dataset, rows)
    body = [
        [*row[:3], replace(row[3], range=drawing), *row[4:]]
        for row, drawing in zip(grid.rows, ranges(accuracies), strict=True)
    ]
    return replace(grid, rows=body)


def _warnings(evidence: Evidence, dataset: str) -> list[str]:
    outcomes = evidence.plain_outcomes(dataset)
    silent = outcomes["predicted"].isna() & outcomes["parser"].isna()
    lost = outcomes[silent].groupby("model").size()
    warnings = undecided(evidence, dataset) if evidence.outputs(dataset)[0] == OUTPUT else []
    warnings += [
        f"{model} gave no readable answer to {formatting.plural(int(number), 'prompt')}."
        for model, number in lost.items()
    ]
    for model, number in evidence.numbers(dataset, "infinite_threshold_rate").items():
        if number.value > 0:
            warnings.append(
                f"In {formatting.percent(number.value, 0)} of the splits {model} has too few calibration "
                "rows: every set then contains every option."
            )
    return warnings


def _overview(evidence: Evidence) -> Grid:
    """Accuracy on every dataset, and for models that answered all large datasets its mean over these."""
    datasets, large, models = evidence.datasets, evidence.large, evidence.all_models
    accuracy, uacc = (
        {m: [_claimed(evidence, dataset, m, metric, score) for dataset in large] for m in models}
        for metric, score in (("accuracy", ""), ("uacc", "mean"))
    )
    complete = bool(large) and any(all(numbers) for numbers in uacc.values())
    columns = [
        Column("Model"),
        *(
            Column(
                name, f"accuracy in per cent on {formatting.plural(evidence.questions(name), 'item')}", True
            )
            for name in datasets
        ),
        Column(
            "Mean",
            f"over the datasets with at least {MINIMUM} questions, each counted once whatever its size; only "
            "for models that answered all of them",
            True,
        ),
        *([Column("Mean UAcc", "over the same datasets", True)] if complete else []),
    ]
    blind = {m for m in models if any(evidence.is_blind(name, m) for name in datasets)}
    rows = [
        cells(
            Cell(model, BLIND_NOTE if model in blind else ""),
            *(figure(_claimed(evidence, name, model, "accuracy", ""), 1, 100) for name in datasets),
            _results_mean(accuracy[model], 1, 100),
            *([_results_mean(uacc[model], 2)] if complete else []),
        )
        for model in models
    ]
    mean = len(datasets) + 1
    rows.sort(key=lambda row: (row[0].text in blind, -(row[mean].key or 0)))
    return Grid("overview", "Accuracy on every dataset", columns, rows)


def _claimed(evidence: Evidence, dataset: str, model: str, metric: str, score: str) -> Number | None:
    """A number of a model, unless claims leave the model out."""
    found = evidence.number(dataset, model, metric, score)
    return None if model in evidence.left_out(dataset) else found


def _results_mean(numbers: list[Number | None], digits: int, scale: float = 1.0) -> Cell:
    known = [n.value for n in numbers if n is not None]
    return rounded(sum(known) / len(known), digits, scale) if len(known) == len(numbers) > 0 else MISSING


_results_parts = by_dataset(RESULTS_HEADING, RESULTS_TEXT, _results_blocks, opened=1)


def build_results(evidence: Evidence) -> Section | None:
    """All results of the clean protocol: an overview if there are several datasets, then one by one."""
    section = _results_parts(evidence)
    if section is None:
        return None
    paired = Markup("") if evidence.comparisons.frame.empty else PAIRED_TEXT
    section = replace(section, text=RESULTS_TEXT.replace("{paired}", paired))
    if len(evidence.datasets) < 2:
        return section
    return replace(section, parts=[Part("", [_overview(evidence)]), *section.parts])


RESULTS_SECTION = PageSection("results", RESULTS_HEADING, build_results, page="models", place=10)

PAGE = Page(
    "models",
    "Models",
    "How accurate each model is, how large its prediction sets are, and how its answers were read.",
    place=20,
)

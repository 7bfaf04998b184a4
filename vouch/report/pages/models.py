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
from vouch.report.caveats import NOTE, by_letters_elsewhere, left_out, undecided
from vouch.report.claims import above_chance, baselines, leaders, why_no_leader
from vouch.report.evidence import Evidence, Number
from vouch.report.gates import MINIMUM, ONLY_SHARES
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
from vouch.report.pages.ranking import detectable_in_words
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
MARGIN = 26.0  # pixels that are free of data on each side
BETTER = (8.0, 0.0, 62.0, 18.0)
"""The rectangle in the top left corner with the word `better`, pixels."""
HALO = {"color": alt.PAPER, "stroke": alt.PAPER, "strokeWidth": 3, "opacity": 0.85}
"""A wide stroke in the background colour below a text keeps it readable over lines."""
BEST = "best, or tied for best"
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


def _domain(data: pd.DataFrame, name: str, size: float, *shown: float) -> list[float]:
    """The ends of an axis that is `size` pixels long. shown: further values that it must hold."""
    low, high = min([*data[f"{name}_low"], *shown]), max([*data[f"{name}_high"], *shown])
    margin = MARGIN / (size - 2 * MARGIN) * (high - low) or 0.05
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
    taken = [BETTER, *((x - POINT, y - POINT, x + POINT, y + POINT) for x, y in points)]
    labels: list[Label | None] = []
    for (x, y), name in zip(points, names, strict=True):
        width = alt.letters(name) * CHARACTER * FONT
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
    beside = 0.6 * FONT + POINT + 2.5
    yield from (Label(x + 7, y + dy, "left", False) for dy in (-beside, beside))
    yield from (Label(x - 7, y + dy, "right", False) for dy in (-beside, beside))
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
    """Points with intervals in both directions, those of the leaders in a ring, and the accuracy of a guess.

    None if there is no model to show.
    """
    data = accuracy_and_set_size_frame(evidence, dataset)
    if data.empty:
        return None
    chance = evidence.chance(dataset)
    x, y = _domain(data, "x", size[0]), _domain(data, "y", size[1], chance)
    fixed = {"nice": False, "zero": False}
    across: Axis = partial(
        alt.X,
        title="Mean set size, options (LAC)",
        scale=alt.Scale(domain=x, **fixed),
        axis=alt.Axis(tickCount=4),
    )
    up: Axis = partial(
        alt.Y,
        title="Accuracy",
        scale=alt.Scale(domain=y, **fixed),
        axis=alt.Axis(format=".0%", tickCount=5, tickMinStep=0.01),
    )
    guess = f"guess, {formatting.number(100 * chance, 0)} %"
    names = {alt.INTERVAL: alt.SOLID, guess: alt.DASHED}
    models, labels = data["model"].tolist(), _labelled(data, x, y, size)
    # A name that finds no free place beside its point is in a legend.
    legend = None if len(labels) == len(models) else alt.legend_columns(models, size[0])
    looks = alt.by_model(evidence.all_models, models, legend=legend)
    base = alt.Chart(data).encode(x=across("x:Q"), y=up("y:Q"), color=looks["color"])
    whiskers = alt.in_legend(base.mark_rule(strokeWidth=1.5, opacity=0.4), alt.INTERVAL, names, size[0])
    links, *texts = _names(labels, across, up)
    return alt.layer(
        alt.in_legend(alt.target(chance).encode(y=up("value:Q")), guess, names, size[0]),
        whiskers.encode(x=across("x_low:Q"), x2="x_high:Q"),
        whiskers.encode(y=up("y_low:Q"), y2="y_high:Q"),
        links,
        *([alt.ring(base.transform_filter("datum.leads"), BEST)] if data["leads"].any() else []),
        base.mark_point(filled=True, size=70, opacity=1).encode(
            shape=looks["shape"], tooltip=ACCURACY_AND_SET_SIZE_TIPS
        ),
        *texts,
        *_better(),
    ).properties(width=size[0], height=size[1])


def _better() -> Iterator[Any]:
    """An arrow to the corner of high accuracy and small sets."""
    corner = alt.Chart(pd.DataFrame({"text": ["better"]}))
    arrow = corner.mark_point(shape="arrow", filled=True, angle=315, size=150, color=alt.MUTED, opacity=1)
    yield arrow.encode(x=alt.value(14), y=alt.value(10))
    for style in (HALO, {"color": alt.MUTED}):
        text = corner.mark_text(align="left", baseline="middle", fontSize=FONT, **style)
        yield text.encode(x=alt.value(24), y=alt.value(10), text="text:N")


def _names(labels: pd.DataFrame, across: Axis, up: Axis) -> Iterator[Any]:
    """Lines from distant labels to their points, then the labels."""
    links = alt.Chart(labels[labels["linked"]]).mark_rule(color=alt.FAINT, strokeWidth=0.7)
    yield links.encode(x=across("x:Q"), y=up("y:Q"), x2="label_x:Q", y2="label_y:Q")
    for align in ("left", "right"):
        text = alt.Chart(labels[labels["align"] == align]).encode(
            x=across("label_x:Q"), y=up("label_y:Q"), text="model:N"
        )
        style = {"align": align, "baseline": "middle", "fontSize": FONT}
        yield text.mark_text(**style, **HALO)
        yield text.mark_text(**style, color=alt.INK)


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
COVERAGE_STEP = 28
COVERAGE_TIPS = alt.tips(".1%", model_n="Model", value="Coverage", low="from", high="to")


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


def coverage_chart(evidence: Evidence, dataset: str, beside: bool = True, width: int = 235) -> Any:
    """A panel for each score, a row for each model; None if no model has coverage.

    beside: panels in a row, not in a column.
    """
    data = coverage_frame(evidence, dataset)
    if data.empty:
        return None
    least = min(float(data[["value", "low"]].astype(float).min().min()), evidence.target) - 0.01
    models = list(dict.fromkeys(data["model"]))
    across, narrow = alt.shares("Coverage", least, 4), not alt.fits(models, alt.NARROW_LIMIT)
    colours = alt.by_model(evidence.all_models, models, legend=None)
    target = alt.target_name(evidence.target)
    names = {alt.INTERVAL: alt.SOLID, target: alt.DASHED}
    panels: list[Any] = []
    for score, own in data.groupby("score", sort=False):
        labels = not beside or not panels
        rows = alt.rows("model", models, 300, labels=labels, narrow=narrow, ticks=False)
        base = alt.Chart(own.drop(columns=["score"])).encode(x=across, y=rows, color=colours["color"])
        whiskers = alt.whiskers(base).mark_rule(strokeWidth=2, opacity=0.5).encode(x2="high:Q")
        chart = alt.layer(
            alt.in_legend(alt.target(evidence.target).encode(x=across), target, names),
            alt.in_legend(whiskers, alt.INTERVAL, names),
            base.mark_point(filled=True, size=60, opacity=1).encode(
                shape=colours["shape"], tooltip=COVERAGE_TIPS
            ),
        )
        step = alt.row_step(COVERAGE_STEP, models, narrow)
        panels.append(chart.properties(width=width, height=step, title=str(score)))
    join = alt.hconcat if beside else alt.vconcat
    return join(*panels, spacing=alt.SPACING + 10, **({"bounds": "flush"} if beside else {}))


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
    narrow={"beside": False, "width": 200},
)


RESULTS_HEADING = "Results"
RESULTS_TEXT = Markup("""\
Clean protocol: copies of a question stay on one side of every split, and numbers have intervals. A rank of
<em>1–3</em> means that the intervals allow any of the three; a single model has no rank, and if no model
beats guessing, none has one.{paired} Models in bold are best or tied for best: they beat guessing, use the
image as far as that was tested, and none is shown to be better. Click a heading to sort. All numbers of whole
datasets are in
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
    detectable = f"{why[:1].upper()}{why[1:]}." if why else detectable_in_words(evidence, dataset)
    return [
        *(Text(w, "warning") for w in left_out(evidence, [dataset])),
        *(Text(w, "warning") for w in _warnings(evidence, dataset)),
        *map(Text, by_letters_elsewhere(evidence, dataset)),
        *([Text(detectable)] if detectable else []),
        *([Text(f"{ONLY_SHARES}.")] if evidence.is_small(dataset) else []),
        *_beside_the_blind(evidence, dataset),
        _headline(evidence, dataset),
        Beside([Figures([f"{name}-{dataset}"]) for name in RESULTS_FIGURES]),
    ]


def _beside_the_blind(evidence: Evidence, dataset: str) -> list[Block]:
    """What the blind baseline answers, and who beats it; nothing without one."""
    baseline = baselines(evidence).get(dataset)
    if baseline is None:
        return []
    sentences = [answered(baseline), *beaten(baseline, evidence.candidates(dataset))]
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
    unread = outcomes["predicted"].isna() & outcomes["parser"].isna()
    lost = outcomes[unread].groupby("model").size()
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
    caption = "Accuracy on every dataset"
    if any(cell is MISSING for row in rows for cell in row):
        caption += "; a dash if the model was not asked, or is left out of comparisons there"
    return Grid("overview", caption, columns, rows)


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

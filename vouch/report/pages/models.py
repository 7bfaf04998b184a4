"""The page Models: for each dataset the headline table with its two figures.

models_detail.py has the other sections.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from markupsafe import Markup

from vouch.metrics.conformal.scores import SCORES
from vouch.report import formatting
from vouch.report import vegalite as alt
from vouch.report.caveats import NOTE, left_out, undecided
from vouch.report.claims import leaders, why_no_leader
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
from vouch.report.pages.differences import said_detectable
from vouch.report.pages.models_detail import (
    CATEGORIES_SECTION,
    DIMENSIONS_SECTION,
    GENERATED_SECTION,
    OUTPUTS_SECTION,
    SCORES_SECTION,
)
from vouch.report.table import (
    MISSING,
    Cell,
    Column,
    Grid,
    Row,
    TableSpec,
    cells,
    figure,
    ranges,
    rounded,
)
from vouch.report.table_files import HEADLINES, OPTIONAL
from vouch.tables import HEADLINE
from vouch.tables.asked import TEXT as OUTPUT

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
    across = alt.X(
        "value:Q",
        title="Coverage",
        scale=alt.Scale(domain=[least, 1.0], nice=False, zero=False),
        axis=alt.Axis(format=".0%", tickCount=ticks, tickMinStep=0.01),
    )
    order = list(dict.fromkeys(data["model"]))
    rows = alt.Y("model:N", sort=order, title=None, axis=alt.Axis(labelLimit=230, labelColor=alt.INK))
    colour = alt.Color(
        "score:N", scale=alt.Scale(domain=list(SET_SCORES.values()), range=[alt.BLUE, alt.ORANGE])
    )
    shape = alt.Shape(
        "score:N", scale=alt.Scale(domain=list(SET_SCORES.values()), range=["circle", "diamond"])
    )
    base = alt.Chart(data).encode(x=across, y=rows, color=colour)
    return alt.layer(
        alt.target(evidence.target).encode(x=across),
        alt.whiskers(base).mark_rule(strokeWidth=2, opacity=0.5).encode(x2="high:Q"),
        base.mark_point(filled=True, size=45, opacity=1).encode(shape=shape, tooltip=COVERAGE_TIPS),
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
<em>1–3</em> means that the intervals allow any of the three. Paired comparisons on the same questions (page
<em>Ranking</em>) separate more models. Models in bold beat guessing and are not significantly worse than the
best. Click a heading to sort. All numbers of whole datasets are in
<a href="../tables/metrics.csv">tables/metrics.csv</a>; numbers by category or with separate thresholds are in
<code>data/compare/leaderboard.parquet</code>.""")
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
        _headline(evidence, dataset),
        Beside([Figures([f"{name}-{dataset}"]) for name in RESULTS_FIGURES]),
    ]


def _headline(evidence: Evidence, dataset: str) -> Grid:
    leading, away = leaders(evidence, dataset), evidence.left_out(dataset)
    note = NOTE.get(evidence.outputs(dataset)[0], "")
    small = evidence.is_small(dataset)
    candidates = evidence.candidates(dataset)
    models = (*(sorted(candidates) if small else candidates), *away)
    accuracies = [evidence.number(dataset, model, "accuracy") for model in models]
    rows: list[Row] = [
        (
            (_name(model, leading, note if model in away else ""), MISSING if small else _rank(accuracy)),
            {"model": model},
        )
        for model, accuracy in zip(models, accuracies, strict=True)
    ]
    known = [
        each for each in HEADLINES if each.metric not in OPTIONAL or evidence.numbers(dataset, each.metric)
    ]
    grid = replace(RESULTS_TABLE, measures=known).grid(evidence, dataset, rows)
    body = [
        [*row[:3], replace(row[3], range=drawing), *row[4:]]
        for row, drawing in zip(grid.rows, ranges(accuracies), strict=True)
    ]
    return replace(grid, rows=body)


def _name(model: str, leading: Sequence[str], note: str) -> Cell:
    if note:
        return Cell(model, note, tone="quiet")
    return Cell(model, tone="strong" if model in leading else "")


def _rank(number: Number | None) -> Cell:
    if number is None or number.rank is None:
        return MISSING
    return Cell(formatting.ranks(number.rank_low, number.rank_high), key=number.rank)


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
    rows = [
        cells(
            model,
            *(figure(_claimed(evidence, name, model, "accuracy", ""), 1, 100) for name in datasets),
            _results_mean(accuracy[model], 1, 100),
            *([_results_mean(uacc[model], 2)] if complete else []),
        )
        for model in models
    ]
    place = len(datasets) + 1
    rows.sort(key=lambda row: -(row[place].key or 0))
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
    if section is None or len(evidence.datasets) < 2:
        return section
    return replace(section, parts=[Part("", [_overview(evidence)]), *section.parts])


RESULTS_SECTION = PageSection("results", RESULTS_HEADING, build_results)

PAGE = Page(
    "models",
    "Models",
    "How accurate each model is, how large its prediction sets are, and how its answers were read.",
    place=20,
    sections=(
        RESULTS_SECTION,
        SCORES_SECTION,
        CATEGORIES_SECTION,
        DIMENSIONS_SECTION,
        OUTPUTS_SECTION,
        GENERATED_SECTION,
    ),
)

"""How well thresholds work on another dataset or model, and how many questions calibration needs."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pandas as pd
from markupsafe import Markup

from vouch.metrics.conformal.selective import TOLERATED
from vouch.report import formatting, summaries
from vouch.report import vegalite as alt
from vouch.report.claims import answers_alone, chosen, errors_elsewhere
from vouch.report.costs import shaded
from vouch.report.coverage import TRANSFER_KEY, transfer_coverages
from vouch.report.evidence import Evidence
from vouch.report.leaders import representative
from vouch.report.numbers import Number
from vouch.report.page import (
    Beside,
    Block,
    DatasetFigure,
    Figures,
    Folded,
    PageSection,
    Part,
    Section,
    Text,
    by_dataset,
    sentence_list,
)
from vouch.report.table import ITEMS, MISSING, Column, Grid, cells, figure, interval, percent, rounded
from vouch.tables.asked import TEXT as OF_TEXT
from vouch.tables.results import NONE

TRANSFER_TEXT = Markup("""\
A threshold's guarantee holds for questions like those that calibrated it. Here, one half of a dataset gives
the threshold for LAC sets, which is then applied to the other half of another dataset, or to another model's
answers. Coloured cells differ significantly from the target, corrected for all of them. For <em>weighted</em>
sets, each calibration question is weighted by how much likelier its image or text is in the other dataset.
This corrects for a shift of images or texts only. It does not help if the same images come with other text or
a harder task. If the datasets differ so much that few questions keep their weight, sets contain every
option.""")
NEARER = 0.01
WEIGHT_KINDS = {"images": "image", "questions": "text"}
MOST_HEATS = 4


def build_transfer(evidence: Evidence) -> Section | None:
    """The section on transfer; None if there is no other dataset or model, or none is large enough."""
    frame = evidence.transfer
    large = frame["dataset"].isin(evidence.large) & frame["from_dataset"].isin(evidence.large)
    frame = frame[large & (frame["output"] != OF_TEXT)].dropna(subset=["coverage"])
    if frame.empty:
        return None
    plain = frame[frame["weighting"] == NONE]
    between = plain[plain["model"] == plain["from_model"]]
    home = plain[plain["dataset"] == plain["from_dataset"]]
    away = sentence_list([*_broken(evidence, between), *_weighted(evidence, frame)])
    parts = [
        Part(title, [*sentences, *_beside(grids)], folds=True, opens=opens)
        for title, sentences, grids, opens in (
            ("To another dataset", away, _heats(evidence, between, "model", evidence.all_models), True),
            ("To another model", [], _heats(evidence, home, "dataset", evidence.large), False),
        )
        if grids
    ]
    every = Part("Every transfer", [_transfer_grid(evidence, frame)], folds=True)
    return Section("Do thresholds hold elsewhere?", TRANSFER_TEXT, [*parts, every]) if parts else None


TRANSFER_SECTION = PageSection(
    "transfer", "Transfer", build_transfer, page="calibration", place=40, summary=summaries.transfer
)


def _beside(grids: list[Grid]) -> list[Block]:
    more = [Folded("Others", [Beside(grids[MOST_HEATS:])])] if len(grids) > MOST_HEATS else []
    return [Beside(grids[:MOST_HEATS]), *more]


def _heats(evidence: Evidence, frame: pd.DataFrame, by: str, names: Sequence[str]) -> list[Grid]:
    """A heat map for each model or dataset, as `by` says, that has several of the other."""
    other = "dataset" if by == "model" else "model"
    parts = {name: frame[frame[by] == name] for name in names}
    return [
        _transfer_heat(
            evidence, part, f"{name}: coverage %, with thresholds of the {other} in the first column", other
        )
        for name, part in parts.items()
        if part[other].nunique() > 1
    ]


def _transfer_heat(evidence: Evidence, frame: pd.DataFrame, caption: str, kind: str) -> Grid:
    shown, cell = transfer_coverages(evidence), {}
    for _, row in frame.iterrows():
        coverage, text = row["coverage"], formatting.number(100 * row["coverage"], 1)
        of_pair = shaded(text, coverage, coverage - evidence.target, _key(row) in shown)
        cell[row[f"from_{kind}"], row[kind]] = of_pair
    names = sorted({name for pair in cell for name in pair})
    rows = [cells(name, *(cell.get((name, other), MISSING) for other in names)) for name in names]
    heads = (Column("From"), *(Column(name, "", True) for name in names))
    return Grid("transfer", caption, heads, rows, heat=True)


def _broken(evidence: Evidence, between: pd.DataFrame) -> Iterator[str]:
    """How often coverage is too low elsewhere, where it is lowest, and the cost of answering alone."""
    away = between[between["dataset"] != between["from_dataset"]]
    shown = transfer_coverages(evidence)
    lost = away[[_key(row) in shown and not shown[_key(row)].above for _, row in away.iterrows()]]
    target = formatting.percent(evidence.target, 0)
    if lost.empty:
        yield (
            f"Coverage is not shown to be below the target of {target} in any of "
            f"{formatting.plural(len(away), 'transfer')}."
        )
    else:
        row = lost.loc[lost["coverage"].idxmin()]
        yield (
            f"Coverage is shown to be below the target of {target} in {formatting.count(len(lost))} of "
            f"{formatting.plural(len(away), 'transfer')}; the lowest is "
            f"{formatting.percent(row['coverage'])}, {_where(row)}."
        )
    if costs := [
        (claim.estimate, f"{model} from {source} to {name}")
        for (source, model), limit in answers_alone(evidence).items()
        for name, (claim, _) in errors_elsewhere(evidence, source, model, limit.threshold).items()
    ]:
        most, where = max(costs)
        yield (
            f"A threshold for answering alone with at most {formatting.percent(TOLERATED, 0)} wrong answers, "
            f"for all models and datasets together, lets up to {formatting.percent(most, 0)} through "
            f"elsewhere: {where}."
        )


def _where(row: pd.Series) -> str:
    return f"{row['model']} from {row['from_dataset']} to {row['dataset']}"


def _key(row: pd.Series) -> tuple[str, ...]:
    return tuple(row[name] for name in TRANSFER_KEY)


def _weighted(evidence: Evidence, frame: pd.DataFrame) -> Iterator[str]:
    """Whether weights bring coverage closer to the target."""
    keys = [name for name in TRANSFER_KEY if name != "weighting"]
    plain = frame[frame["weighting"] == NONE]
    for kind, part in frame[frame["weighting"] != NONE].groupby("weighting"):
        both = plain.merge(part, on=keys, suffixes=("", "_weighted"))
        before, after = ((both[name] - evidence.target).abs() for name in ("coverage", "coverage_weighted"))
        closer, further = (before - after > NEARER).sum(), (after - before > NEARER).sum()
        full = both.loc[before - after > NEARER, "infinite_weighted"]
        text = (
            f"Weighting by {WEIGHT_KINDS[str(kind)]} brings coverage closer to the target in {closer} of "
            f"{formatting.plural(len(both), 'transfer')}, and further from it in {further}"
        )
        if len(full):
            text += (
                f"; in the closer ones, {formatting.percent(full.mean(), 0)} of the sets contain every option"
            )
        yield f"{text}."


def _transfer_grid(evidence: Evidence, frame: pd.DataFrame) -> Grid:
    columns = (
        *(Column(name) for name in ("Model", "From", "On", "Weights")),
        ITEMS,
        Column("Coverage %", f"of LAC sets, target {formatting.percent(evidence.target, 0)}", True),
        Column("Set size", "mean number of options in a set", True),
        Column("Every option %", "sets with too little calibration weight", True),
        Column("Effective", "effective number of calibration questions, (sum w)² / sum w²", True),
        Column(
            "Alone from %",
            f"confidence from which at most {100 * TOLERATED:g} % are wrong where it comes from; shown for "
            "this model and dataset by themselves",
            True,
        ),
        Column("Alone %", "share of the questions with that confidence", True),
        Column("Wrong %", "of these answers", True),
    )
    rows = []
    for _, row in frame[frame["dataset"] != frame["from_dataset"]].iterrows():
        coverage = interval(row["coverage"], row["low"], row["high"], 1, 100)
        rows.append(
            cells(
                *(row[name] for name in ("model", "from_dataset", "dataset", "weighting", "items")),
                coverage,
                *(rounded(row["set_size"], 2), percent(row["infinite"]), rounded(row["effective"], 0)),
                *map(percent, row[["threshold", "answered", "wrong"]]),
            )
        )
    return Grid("transfer-all", "thresholds of one dataset on another", columns, rows)


SWEEP_PANELS = {"coverage": ("Coverage, LAC", ".0%"), "size": ("Options in a set, LAC", ".1f")}
SWEEP_TIPS = [
    *alt.tips(model_n="Model", share="Share %"),
    *alt.tips(".3f", value="Value", low="from", high="to"),
]


_TRIED = re.compile(r"coverage_calibrated_on_(\d+)")


class Point(NamedTuple):
    """share: per cent of the questions used for calibration. coverage, size: of LAC sets on the others."""

    share: int
    coverage: Number
    size: Number


def points(evidence: Evidence, dataset: str) -> dict[str, list[Point]]:
    """The results of each model by calibration share, small shares first; empty if only the main one was
    tried."""
    tried = {int(match[1]) for name in evidence.metrics(dataset) if (match := _TRIED.fullmatch(name))}
    main = round(100 * evidence.scoring.calibration)
    found: dict[str, list[Point]] = {model: [] for model in evidence.models(dataset) if tried}
    for share in sorted(tried | {main}):
        end = "" if share == main else f"_calibrated_on_{share}"
        for model, of_model in found.items():
            coverage, size = (
                evidence.number(dataset, model, f"{metric}{end}", "lac")
                for metric in ("coverage", "set_size")
            )
            if coverage and size:
                of_model.append(Point(share, coverage, size))
    return found


def sweep_frame(evidence: Evidence, dataset: str, panel: str) -> pd.DataFrame:
    """One row per model and share: value and its interval; `at` keeps the models beside each other."""
    models, found = chosen(evidence, dataset), points(evidence, dataset)
    rows = []
    for index, model in enumerate(models):
        for point in found.get(model, ()):
            number = getattr(point, panel)
            at = point.share + 0.8 * (index - (len(models) - 1) / 2)
            row = {"model": model, "share": point.share, "at": at, "value": number.value}
            rows.append(row | {"low": number.low, "high": number.high})
    return pd.DataFrame(rows, columns=["model", "share", "at", "value", "low", "high"])


def sweep_chart(
    evidence: Evidence, dataset: str, join: Callable[..., Any] = alt.hconcat, width: int = 385
) -> Any:
    """Two panels, a line per model; None if only one share was tried."""
    data = {panel: sweep_frame(evidence, dataset, panel) for panel in SWEEP_PANELS}
    if data["size"].empty:
        return None
    target = alt.target_name(evidence.target)
    names = {alt.INTERVAL: alt.SOLID, target: alt.DASHED}
    panels = []
    for panel, (title, form) in SWEEP_PANELS.items():
        x = {
            "title": "Calibration questions, %",
            "scale": alt.Scale(nice=False, padding=12, zero=False),
            "axis": alt.Axis(values=sorted(set(data[panel]["share"])), grid=False),
        }
        y = {"title": title, "scale": alt.Scale(zero=False), "axis": alt.Axis(format=form, tickCount=5)}
        layers = alt.model_lines(data[panel], evidence.all_models, x, y, SWEEP_TIPS, names, width)
        if panel == "coverage":
            rule = alt.target(evidence.target).encode(y=alt.Y("value:Q", **y))
            layers.insert(0, alt.in_legend(rule, target, names, width))
        panels.append(alt.layer(*layers).properties(width=width, height=190))
    return join(*panels, spacing=alt.SPACING)


def sweep_in_words(evidence: Evidence, dataset: str) -> str:
    """The figure in words."""
    found = points(evidence, dataset)
    parts = [
        f"{model} covers {formatting.percent(own[0].coverage.value)} if {own[0].share} % are used for "
        f"calibration, {formatting.percent(own[-1].coverage.value)} if {own[-1].share} % are"
        for model in chosen(evidence, dataset)
        if (own := found.get(model))
    ]
    return f"Coverage and set size by calibration share on {dataset}: {'; '.join(parts)}."


SWEEP_FIGURE = DatasetFigure(
    "sweep",
    "Coverage and set size by calibration share",
    sweep_chart,
    sweep_in_words,
    narrow={"join": alt.vconcat, "width": 270},
)


SWEEP_TEXT = Markup("""\
Sets from fewer calibration questions have the same coverage guarantee, but the coverage of a single split
varies more; the intervals are over the splits. With too few questions, every set contains every option
(Kostumov et al. 2024, section VI-E).""")


def _sweep_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Results by calibration share; no blocks if only one share was tried."""
    of_models = points(evidence, dataset)
    if not of_models:
        return []
    model = representative(evidence, dataset)
    return [
        *_sweep_sentence(model, of_models[model], evidence.is_small(dataset)),
        Figures([f"sweep-{dataset}"]),
        Folded("As tables", [_sweep_grid(dataset, of_models, panel) for panel in SWEEP_TABLES]),
    ]


# panel -> caption, help of a column, digits and factor of its numbers
SWEEP_TABLES = {
    "coverage": ("coverage, %", "share of LAC sets that contain the correct answer", (1, 100.0)),
    "size": ("set size", "options in a LAC set", (2, 1.0)),
}


def _sweep_grid(dataset: str, of_models: dict[str, list[Point]], panel: str) -> Grid:
    """A row for each model, a column for each share."""
    title, help, unit = SWEEP_TABLES[panel]
    shares = sorted({point.share for found in of_models.values() for point in found})
    columns = [
        Column("Model"),
        ITEMS,
        *(Column(f"{share} %", f"{help}, with {share} % for calibration", True) for share in shares),
    ]
    rows = []
    for model, found in of_models.items():
        at = {point.share: getattr(point, panel) for point in found}
        items = max((point.coverage.items for point in found), default=0)
        rows.append(cells(model, items, *(figure(at.get(share), *unit) for share in shares)))
    caption = f"{dataset}: {title} by the share of questions used for calibration"
    return Grid(f"sweep-{panel}", caption, columns, rows)


def _sweep_sentence(model: str, found: Sequence[Point], small: bool) -> list[Text]:
    """Results of the smallest and the largest share; nothing if there is only one, or too few questions."""
    if len(found) < 2 or small:
        return []
    few, many = (
        f"{formatting.percent(point.coverage.value)}"
        f"{formatting.bracketed(point.coverage.low, point.coverage.high, 1, 100)} with "
        f"{formatting.number(point.size.value, 2)}"
        for point in (found[0], found[-1])
    )
    sentence = (
        f"Calibrated on {found[0].share}{formatting.NARROW}% of the questions, {model} covers {few} options "
        f"in a set; on {found[-1].share}{formatting.NARROW}%, {many}."
    )
    return [Text(sentence)]


SWEEP_SECTION = PageSection(
    "sweep",
    "Calibration share",
    by_dataset("How many calibration questions are needed?", SWEEP_TEXT, _sweep_blocks, opened=1),
    page="calibration",
    place=50,
    summary=summaries.shares,
)

"""Azad et al. 2025, The Art of Saying "Maybe": three conformal scores, 16 models, six benchmarks."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from string import ascii_uppercase

import numpy as np
import pandas as pd

from vouch.papers import charts
from vouch.papers.entry import (
    KEYS,
    Absent,
    Better,
    Built,
    Entry,
    Lookup,
    Measure,
    Paper,
    family,
    figure,
    listing,
    named,
    names_in,
    size,
)
from vouch.papers.pivot import SHADES, Layout, by_dataset
from vouch.report import formatting, vegalite
from vouch.report.table import Cell, Column, Grid, cells

DATASETS = names_in("azad", "datasets")


LITERAL = "MS, eq. 6"
"""Equation 6 as printed gives all options of a question the same score; MS is the usual margin."""
OVER_MODELS = "Mean over models"
Look = Callable[[Grid, Lookup], Grid]
TINY = 1e-9
"""More than rounding makes of equal numbers."""


def _of_scores(metric: str, scale: float, better: Better) -> tuple[Measure, ...]:
    """The same metric for each of the scores."""
    names = (("LAC", "lac"), ("MS", "margin"), ("APS", "aps"), (LITERAL, "margin_literal"))
    return tuple(Measure(label, metric, score, scale=scale, better=better) for label, score in names)


ACCURACY = Measure("Acc", "accuracy", better="high")
OF_SIZES, OF_COVERAGES = _of_scores("set_size", 1, "low"), _of_scores("coverage", 100, "")
SIZES, COVERAGES = OF_SIZES[:3], OF_COVERAGES[:3]
"""Those of figures, without the literal margin."""
SIZE = "Parameters, billions"
ENTROPY = Measure("Entropy", "entropy", digits=3, scale=1, better="low", only="clean")


def table(caption: str, measures: Sequence[Measure], lookup: Lookup, look: Look | None = None) -> Built:
    """Tables 1 to 4 with a row of means over the models, and a sentence on scores that were not computed.

    look: colours the numbers.
    """
    layout = Layout(caption, measures, lookup.models({}) | {OVER_MODELS: OVER_MODELS}, {})
    frame = lookup.long(measures)
    means = frame.groupby(["measure", "dataset"], sort=False)[["value", "clean"]].mean().reset_index()
    if frame["model"].nunique() > 1:
        frame = pd.concat([frame, means.assign(model=OVER_MODELS)], ignore_index=True)
    built = by_dataset(lookup, frame, DATASETS, layout)
    not_computed = [measure.label for measure in measures if lookup.of(measure).empty]
    sentences = [f"{each} was not computed (score.scores)." for each in not_computed]
    return replace(
        built,
        grids=[look(grid, lookup) if look else grid for grid in built.grids],
        sentences=[*sentences, *_printed_means(measures[0].metric, lookup)],
    )


def _numbers(grid: Grid, changed: Callable[[Cell, float], Cell]) -> Grid:
    """The table with every number changed; a dash for a missing one stays."""
    rows = [
        [
            row[0],
            *(cell if cell.key is None or cell.key < 0 else changed(cell, cell.key) for cell in row[1:]),
        ]
        for row in grid.rows
    ]
    return replace(grid, rows=rows)


def darker(grid: Grid, lookup: Lookup) -> Grid:
    """The higher a number the darker its cell, in equal steps from the lowest to the highest."""
    known = [cell.key for row in grid.rows for cell in row[1:] if cell.key is not None and cell.key >= 0]
    low, span = min(known, default=0), max(known, default=0) - min(known, default=0)

    def changed(cell: Cell, value: float) -> Cell:
        step = min(int(SHADES * (value - low) / span + TINY), SHADES - 1) if span else 0
        return replace(cell, shade=f"gain-{step + 1}")

    return _numbers(grid, changed)


def above_target(grid: Grid, lookup: Lookup) -> Grid:
    """Coverage above the target is green."""
    least = lookup.evidence.target + TINY
    return _numbers(grid, lambda cell, value: replace(cell, tone="good" if value > least else ""))


def _printed_means(metric: str, lookup: Lookup) -> list[str]:
    """A sentence on the means over the paper's models that its text states for datasets that are here."""
    labels = lookup.datasets(DATASETS)
    printed = [
        f"{labels[row['dataset']]} {row['value']} (section {row['section']})"
        for row in lookup.printed("azad_means", metric=metric)
        if row["dataset"] in labels
    ]
    return [f"Over the paper's 16 models: {formatting.listed(printed)}."] if printed else []


def counts(lookup: Lookup) -> Built:
    """Table 7, with the fewest and the most options of a question."""
    items = lookup.evidence.items
    printed = {row["dataset"]: row for row in lookup.printed("azad_7")}
    body = []
    for name, label in lookup.datasets(DATASETS).items():
        here = items[items["dataset"] == name]
        if len(here):
            options = sorted({here["options"].map(len).min(), here["options"].map(len).max()})
            flagged = int((here["flags"].map(len) > 0).sum())
            theirs, count, letters = printed.get(name), Cell("–", tone="quiet"), ""
            if theirs is not None:
                known = int(theirs["questions"])
                count = Cell(formatting.count(known), key=float(known))
                letters = f"published {theirs['options']}"
            span = Cell("–".join(map(str, options)), letters)
            body.append(cells(named(name, label), len(here), count, span, flagged))
    heads = (
        Column("Dataset"),
        Column("Questions", "", True),
        Column("Published", "in the paper, to three digits", True),
        Column("Options", "of a question, without those that the template adds and the paper counts"),
        Column("Flagged", "by cleaning, left out of the clean protocol where defective", True),
    )
    return listing("questions by dataset", heads, body, "no items of the datasets are known")


def _scored(lookup: Lookup, measures: Sequence[Measure]) -> dict[str, Measure]:
    """The measures that were computed, by the score's label. Raises Absent if there are none."""
    found = {measure.label: measure for measure in measures if len(lookup.of(measure))}
    if not found:
        raise Absent("no prediction sets were computed")
    return found


def _together(lookup: Lookup, measures: Sequence[Measure]) -> pd.DataFrame:
    """One row for each model and dataset that has all measures, one column for each measure."""
    frame = lookup.long(measures, lookup.own(DATASETS))
    wide = frame.pivot(index=KEYS, columns="measure", values="value")
    wide = wide.reindex(columns=range(len(measures))).dropna()
    if wide.empty:
        raise Absent("no model was asked for letters")
    return wide


def accuracy_and_size(lookup: Lookup) -> Built:
    """Figure 1: a point for each model, a panel for each dataset."""
    wide = _together(lookup, (ACCURACY, SIZES[0])).reset_index()
    panels = wide["dataset"].map(lookup.datasets(DATASETS))
    frame = pd.DataFrame({"name": wide["model"], "x": 100 * wide[0], "y": wide[1], "panel": panels})
    lines = [
        f"{name}: correlation {formatting.number(group['x'].corr(group['y']), 2)}"
        for name, group in frame.groupby("panel", sort=False)
        if len(group) > 2
    ]
    description = f"Accuracy against set size (LAC), a point for each model. {'; '.join(lines)}."
    points = frame.assign(series="model")
    chart = charts.scatter(points, "Accuracy (%)", "Set size", fit=True, shared=("x", "y"))
    return figure("accuracy and set size by dataset", description, chart)


def spread(lookup: Lookup) -> Built:
    """Figure 2: a box for each score that shows the set sizes of all models and datasets."""
    found = _scored(lookup, SIZES)
    wide = _together(lookup, list(found.values()))
    frame = wide.rename(columns=dict(enumerate(found))).melt(var_name="group")
    spans = frame.groupby("group", sort=False)["value"].agg(["min", "median", "max"])
    description = "; ".join(
        f"{row.Index} {formatting.span(row.min, row.max, 2)}, median {formatting.number(row.median, 2)}"
        for row in spans.itertuples()
    )
    chart = charts.boxes(frame, "Set size")
    return figure("the spread of set sizes", f"Boxes over models and datasets: {description}.", chart)


def by_size(lookup: Lookup) -> Built:
    """Figure 3: each model's mean over the datasets against its number of parameters."""
    mean = _together(lookup, (ACCURACY, SIZES[0])).groupby("model").mean()
    panels = pd.DataFrame({"Accuracy (%)": 100 * mean[0], "Set size (LAC)": mean[1]})
    sizes, kinds = lookup.sizes(mean.index)
    chart = charts.by_number(panels, sizes, kinds, "Parameters", "", line=True)
    description = (
        f"Means over the datasets of {formatting.plural(len(sizes), 'model')} by number of parameters."
    )
    return figure("size, accuracy and set size", description, chart)


def by_score(title: str, measures: Sequence[Measure], coverage: bool, lookup: Lookup) -> Built:
    """Figures 4 and 5: a row for each model, a point for each score.

    coverage: show the coverage on each dataset, with a line at the target; otherwise the mean set sizes.
    """
    found = _scored(lookup, measures)
    wide = _together(lookup, list(found.values())).rename(columns=dict(enumerate(found)))
    frame = wide.reset_index().melt(id_vars=KEYS, var_name="series").rename(columns={"model": "row"})
    frame["panel"] = frame["dataset"].map(lookup.datasets(DATASETS)) if coverage else ""
    if not coverage:
        frame = frame.groupby(["row", "series", "panel"], sort=False, as_index=False)["value"].mean()
    frame = lookup.in_order(frame[["row", "series", "panel", "value"]], ["row"], "row")
    least = frame.loc[frame["value"].idxmin()]
    where = f" on {least['panel']}" if coverage else ""
    description = (
        f"Points for {formatting.plural(frame['row'].nunique(), 'model')}. The lowest is "
        f"{formatting.number(least['value'], 2)}: {least['row']}, {least['series']}{where}."
    )
    if coverage:
        target = lookup.evidence.target
        chart = charts.dots(frame, "Coverage", (vegalite.target_name(target), target))
    else:
        chart = charts.dots(frame, "Set size, mean over the datasets")
    return figure(title, description, chart)


def correlations(lookup: Lookup) -> Built:
    """Figure 8: Pearson's correlations over pairs of a model and a dataset, with the distribution of each.

    Models of unknown size are left out if at least three pairs remain; otherwise, size is.
    """
    frame = _together(lookup, (ACCURACY, SIZES[0], COVERAGES[0]))
    frame = frame.set_axis(["Accuracy", "Set size", "Coverage"], axis=1)
    if len(frame) < 3:
        raise Absent("fewer than three pairs of a model and a dataset")
    sizes = pd.Series([size(str(model), lookup.evidence.facts) for model, _ in frame.index], frame.index)
    if sizes.nunique() > 1 and sizes.count() > 2:
        frame.insert(0, SIZE, sizes.astype(float) / 1e9)
        frame = frame.dropna()
    frame = frame.loc[:, frame.nunique() > 1]
    if frame.shape[1] < 2:
        raise Absent("nothing that differs between the pairs of a model and a dataset")
    matrix = frame.corr()
    pairs = combinations(matrix.columns, 2)
    said = "; ".join(f"{a} and {b} {formatting.number(matrix.at[a, b], 2)}" for a, b in pairs)
    if SIZE in frame:
        logs = np.log10(frame[SIZE]).corr(frame.iloc[:, 1])
        said += f"; log of size and {frame.columns[1]} {formatting.number(logs, 2)}"
    number = formatting.plural(len(frame), "pair")
    description = f"Scatter plots, histograms and Pearson's r over {number} of a model and a dataset: {said}."
    title = "correlations and distributions of size, accuracy, set size and coverage (LAC)"
    return figure(title, description, charts.pairs(frame))


def letters(lookup: Lookup) -> Built:
    """Figure 9: shares of the questions of each dataset by the letter of the correct answer, in the order of
    the source. Several correct answers share a question."""
    items = lookup.evidence.items
    correct = items["answers"].map(len)
    every = items.assign(share=1 / correct.where(correct > 0)).dropna(subset=["share"])
    parts = []
    for name, label in lookup.datasets(DATASETS).items():
        here = every[every["dataset"] == name].explode("answers")
        shares = here.groupby("answers")["share"].sum() / here["share"].sum()
        shares = shares[shares.index < len(ascii_uppercase)]
        shown = {"group": [ascii_uppercase[index] for index in shares.index], "value": shares.to_numpy()}
        parts.append(pd.DataFrame(shown).assign(panel=label, series="share"))
    frame = pd.concat(parts, ignore_index=True)
    if frame.empty:
        raise Absent("no dataset has questions with options")
    most = frame.loc[frame.groupby("panel", sort=False)["value"].idxmax()]
    description = "; ".join(
        f"{row.panel} most often {row.group}, {formatting.percent(row.value, 0)}" for row in most.itertuples()
    )
    return figure("correct answers by letter", f"Bars: {description}.", charts.bars(frame, 100, ".0%"))


def _profiles(lookup: Lookup) -> pd.DataFrame:
    """model, axis, value: means over the datasets of accuracy, coverage and 1 / set size, all from 0 to 1."""
    found = _scored(lookup, SIZES)
    covered = [measure for measure in COVERAGES if measure.label in found]
    wide = _together(lookup, (ACCURACY, *covered, *found.values()))
    axes = ["Acc", *(f"CR {label}" for label in found), *(f"1/SS {label}" for label in found)]
    sizes = list(range(1 + len(found), len(axes)))
    wide[sizes] = 1 / wide[sizes]
    mean = wide.groupby("model").mean().set_axis(axes, axis=1)
    return mean.reset_index().melt(id_vars="model", var_name="axis")


def _radar(title: str, frame: pd.DataFrame) -> Built:
    description = "; ".join(
        f"{row.model} accuracy {formatting.percent(row.value)}"
        for row in frame[frame["axis"] == "Acc"].itertuples()
    )
    note = "Radar of accuracy, coverage and one over set size; farther out is better"
    return figure(title, f"{note}. {description}.", charts.radar(frame))


def families(lookup: Lookup) -> Built:
    """Figure 6: the models of a family together, for families with at least two models of known size."""
    known = lookup.evidence.facts
    long = _profiles(lookup)
    long = long.assign(size=[size(model, known) for model in long["model"]]).dropna(subset=["size"])
    long = long.assign(panel=[family(model, known) for model in long["model"]])
    long = long[long.groupby("panel")["model"].transform("nunique") > 1]
    if long.empty:
        raise Absent("no two models of one family whose sizes are known")
    long = long.sort_values(["panel", "size", "model"], kind="stable")
    if long["panel"].nunique() == 1:
        return _radar("profiles of families, smallest first", long.assign(series=long["model"]))
    place = long[["panel", "model"]].drop_duplicates().groupby("panel").cumcount() + 1
    turn = {long.at[row, "model"]: f"size {number}" for row, number in place.items()}
    return _radar("profiles of families, smallest first", long.assign(series=long["model"].map(turn)))


def everyone(lookup: Lookup) -> Built:
    """Figure 7: a panel for each model."""
    long = lookup.in_order(_profiles(lookup), ["model"])
    return _radar("profiles of all models", long.assign(panel=long["model"], series="model"))


PAPER = Paper(
    "azad",
    'The Art of Saying "Maybe": conformal uncertainty of vision-language models',
    "Azad et al. 2025 (The Art of Saying Maybe)",
    "The paper prints its tables as images, so only its counts of questions and a few means can be compared "
    "with ours. It names neither code nor seed: all is of the faithful protocol's single split.",
    (
        Entry(
            "Table 1",
            "Accuracy by dataset; the higher, the darker.",
            partial(table, "accuracy (%)", (ACCURACY,), look=darker),
        ),
        Entry("Table 2", "Set size by dataset and score.", partial(table, "set size by score", OF_SIZES)),
        Entry(
            "Table 3",
            "Coverage by dataset and score; the target is 90 %, and what exceeds it is green.",
            partial(table, "coverage by score (%)", OF_COVERAGES, look=above_target),
        ),
        Entry(
            "Table 4",
            "Mean entropy of the probabilities of the options, nats.",
            partial(table, "entropy, nats", (ENTROPY,)),
        ),
        Entry("Table 7", "How many questions there are.", counts),
        Entry("Figure 1", "Accuracy against set size.", accuracy_and_size),
        Entry("Figure 2", "The spread of set sizes, by score.", spread),
        Entry("Figure 3", "Size of the model, accuracy and set size.", by_size),
        Entry(
            "Figure 4",
            "Set size by model and score.",
            partial(by_score, "set size by model and score", SIZES, False),
        ),
        Entry(
            "Figure 5",
            "Coverage by dataset, model and score.",
            partial(by_score, "coverage by dataset and model", COVERAGES, True),
        ),
        Entry("Figure 6", "Accuracy, coverage and set size of families.", families),
        Entry("Figure 7", "The same of every model.", everyone),
        Entry("Figure 8", "Correlations of size, accuracy, set size and coverage.", correlations),
        Entry("Figure 9", "How often each letter is the correct answer.", letters),
    ),
)

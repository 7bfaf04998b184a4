"""Azad et al. 2025, The Art of Saying "Maybe": three conformal scores, 16 models, six benchmarks."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

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
from vouch.papers.pivot import Layout, by_dataset
from vouch.report import formatting, vegalite
from vouch.report.table import Cell, Column, cells

DATASETS = names_in("azad", "datasets")


def _of_scores(metric: str, scale: float, better: Better) -> tuple[Measure, ...]:
    """The same metric for each of the scores; the faithful protocol does not have the margin score."""
    return (
        Measure("LAC", metric, "lac", scale=scale, better=better),
        Measure("MS", metric, "margin", scale=scale, better=better, only="clean"),
        Measure("APS", metric, "aps", scale=scale, better=better),
    )


ACCURACY = Measure("Acc", "accuracy", better="high")
SIZES = _of_scores("set_size", 1, "low")
COVERAGES = _of_scores("coverage", 100, "")
ENTROPY = Measure("Entropy", "entropy", digits=3, scale=1, better="low", only="clean")


def table(caption: str, measures: Sequence[Measure], lookup: Lookup) -> Built:
    """Tables 1 to 4, with a sentence on scores that were not computed."""
    layout = Layout(caption, measures, lookup.models({}), {})
    built = by_dataset(lookup, lookup.long(measures), DATASETS, layout)
    not_computed = [measure.label for measure in measures if lookup.of(measure).empty]
    sentences = []
    if not_computed:
        sentences.append(f"{formatting.listed(not_computed)} was not computed (score.scores).")
    clean = [measure.label for measure in measures if measure.only and measure.label not in not_computed]
    if clean and len(clean) + len(not_computed) < len(measures):
        sentences.append(
            f"{formatting.listed(clean)} is from the clean protocol: compare it with the small print of the "
            "others."
        )
    return replace(built, sentences=sentences)


def counts(lookup: Lookup) -> Built:
    """Table 7, with the fewest and the most options of a question."""
    items = lookup.evidence.items
    printed = {row["dataset"]: int(row["questions"]) for row in lookup.printed("azad_7")}
    body = []
    for name, label in lookup.datasets(DATASETS).items():
        here = items[items["dataset"] == name]
        if len(here):
            options = sorted({here["options"].map(len).min(), here["options"].map(len).max()})
            flagged = int((here["flags"].map(len) > 0).sum())
            known = printed.get(name)
            theirs = Cell(formatting.count(known), key=float(known)) if known else Cell("–", tone="quiet")
            body.append(cells(named(name, label), len(here), theirs, "–".join(map(str, options)), flagged))
    heads = (
        Column("Dataset"),
        Column("Questions", "", True),
        Column("Published", "in the paper, rounded to tens", True),
        Column("Options", "of a question, without those that the template adds"),
        Column("Flagged", "by cleaning, left out of the clean protocol where defective", True),
    )
    return listing("questions by dataset", heads, body, "no items of the datasets are known")


def _scored(lookup: Lookup, measures: Sequence[Measure]) -> dict[str, Measure]:
    """The measures that were computed, by the score's label. Raises Absent if there are none."""
    found = {measure.label: measure for measure in measures if len(lookup.of(measure))}
    if not found:
        raise Absent("no prediction sets were computed")
    return found


def _together(lookup: Lookup, measures: Sequence[Measure], clean: bool = False) -> pd.DataFrame:
    """One row for each model and dataset that has all measures, one column for each measure."""
    frame = lookup.long(measures, lookup.own(DATASETS))
    wide = frame.pivot(index=KEYS, columns="measure", values="clean" if clean else "value")
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
    wide = _together(lookup, list(found.values()), clean=True)
    frame = wide.rename(columns=dict(enumerate(found))).melt(var_name="group")
    spans = frame.groupby("group", sort=False)["value"].agg(["min", "median", "max"])
    description = "; ".join(
        f"{row.Index} {formatting.span(row.min, row.max, 2)}, median {formatting.number(row.median, 2)}"
        for row in spans.itertuples()
    )
    chart = charts.boxes(frame, "Set size")
    return figure(
        "the spread of set sizes, clean protocol", f"Boxes over models and datasets: {description}.", chart
    )


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
    wide = _together(lookup, list(found.values()), clean=True).rename(columns=dict(enumerate(found)))
    frame = wide.reset_index().melt(id_vars=KEYS, var_name="series").rename(columns={"model": "row"})
    frame["panel"] = frame["dataset"].map(lookup.datasets(DATASETS)) if coverage else ""
    if not coverage:
        frame = frame.groupby(["row", "series", "panel"], sort=False, as_index=False)["value"].mean()
    frame = lookup.in_order(frame[["row", "series", "panel", "value"]], ["row"], "row")
    least = frame.loc[frame["value"].idxmin()]
    where = f" on {least['panel']}" if coverage else ""
    description = (
        f"Points for {formatting.plural(frame['row'].nunique(), 'model')}, clean protocol. The lowest is "
        f"{formatting.number(least['value'], 2)}: {least['row']}, {least['series']}{where}."
    )
    if coverage:
        target = lookup.evidence.target
        chart = charts.dots(frame, "Coverage", (vegalite.target_name(target), target))
    else:
        chart = charts.dots(frame, "Set size, mean over the datasets")
    return figure(title, description, chart)


def correlations(lookup: Lookup) -> Built:
    """Figure 8: Pearson's correlations over pairs of a model and a dataset."""
    frame = _together(lookup, (ACCURACY, SIZES[0], COVERAGES[0]))
    frame = frame.set_axis(["Accuracy", "Set size", "Coverage"], axis=1)
    sizes = [size(str(model), lookup.evidence.facts) for model, _ in frame.index]
    if all(sizes) and len(set(sizes)) > 1:
        frame.insert(0, "Log of size", np.log10(np.asarray(sizes, dtype=float)))
    if len(frame) < 3:
        raise Absent("fewer than three pairs of a model and a dataset")
    matrix = frame.corr().rename_axis("row").reset_index().melt(id_vars="row", var_name="column").dropna()
    if matrix.empty:
        raise Absent("nothing that differs between the pairs of a model and a dataset")
    description = (
        f"Pearson's correlations over {formatting.plural(len(frame), 'pair')} of a model and a dataset."
    )
    title = "correlations of size, accuracy, set size and coverage (LAC)"
    return figure(title, description, charts.heat(matrix.assign(panel="")))


def letters(lookup: Lookup) -> Built:
    """Figure 9: shares of right answers by letter and dataset."""
    measures = [Measure(letter, f"correct_share_{letter}", only="clean") for letter in "ABCDEFGHIJ"]
    shares = lookup.long(measures).groupby(["measure", "dataset"])["value"].first()
    frame = shares[shares > 0].rename_axis(["group", "panel"]).reset_index()
    if frame.empty:
        raise Absent("no dataset was asked for letters")
    frame["group"] = [measures[place].label for place in frame["group"]]
    frame = frame.assign(panel=frame["panel"].map(lookup.datasets(DATASETS)), series="share")
    most = frame.loc[frame.groupby("panel", sort=False)["value"].idxmax()]
    description = "; ".join(
        f"{row.panel} most often {row.group}, {formatting.percent(row.value, 0)}" for row in most.itertuples()
    )
    return figure("correct answers by letter", f"Bars: {description}.", charts.bars(frame, 100, ".0%"))


def _profiles(lookup: Lookup) -> pd.DataFrame:
    """model, axis, value: means over the datasets of accuracy, coverage and 1 / set size, all from 0 to 1."""
    found = _scored(lookup, SIZES)
    covered = [measure for measure in COVERAGES if measure.label in found]
    wide = _together(lookup, (ACCURACY, *covered, *found.values()), clean=True)
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
    note = "Radar of accuracy, coverage and one over set size, clean protocol; farther out is better"
    return figure(title, f"{note}. {description}.", charts.radar(frame))


def families(lookup: Lookup) -> Built:
    """Figure 6: the models of a family together, for families with at least two."""
    known = lookup.evidence.facts
    long = _profiles(lookup)
    long = long.assign(panel=[family(model, known) for model in long["model"]])
    long = long[long.groupby("panel")["model"].transform("nunique") > 1]
    if long.empty:
        raise Absent("no two models of one family")
    long = long.assign(size=[size(model, known) or 0.0 for model in long["model"]])
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
    "The paper prints its tables as images, so only its counts of questions can be compared with ours. The "
    "margin score (MS) is not part of the faithful protocol; figures that show it use the clean one.",
    (
        Entry("Table 1", "Accuracy by dataset.", partial(table, "accuracy (%)", (ACCURACY,))),
        Entry("Table 2", "Set size by dataset and score.", partial(table, "set size by score", SIZES)),
        Entry(
            "Table 3",
            "Coverage by dataset and score; the target is 90 %.",
            partial(table, "coverage by score (%)", COVERAGES),
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
            partial(by_score, "set size by model and score, clean protocol", SIZES, False),
        ),
        Entry(
            "Figure 5",
            "Coverage by dataset, model and score.",
            partial(by_score, "coverage by dataset and model, clean protocol", COVERAGES, True),
        ),
        Entry("Figure 6", "Accuracy, coverage and set size of families.", families),
        Entry("Figure 7", "The same of every model.", everyone),
        Entry("Figure 8", "Correlations of size, accuracy, set size and coverage.", correlations),
        Entry("Figure 9", "How often each letter is the correct answer.", letters),
    ),
)

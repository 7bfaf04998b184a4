"""Figures 1 to 9."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vouch.report import formatting
from vouch.report.facts import family, series, size
from vouch.report.papers.azad.measures import ACCURACY, COVERAGES, DATASETS, SIZES, scored, together
from vouch.report.reproduce import charts
from vouch.report.reproduce.entry import Absent, Built, figure
from vouch.report.reproduce.lookup import KEYS, Lookup, Measure, columns


def accuracy_and_size(lookup: Lookup) -> Built:
    """Figure 1: a point for each model, a panel for each dataset."""
    wide = together(lookup, (ACCURACY, SIZES[0])).reset_index()
    labels = columns(lookup.evidence.datasets, DATASETS)
    frame = pd.DataFrame(
        {
            "name": wide["model"],
            "x": 100 * wide[0],
            "y": wide[1],
            "series": wide["dataset"].map(labels),
            "panel": wide["dataset"].map(labels),
        }
    )
    lines = [
        f"{name}: correlation {formatting.number(group['x'].corr(group['y']), 2)}"
        for name, group in frame.groupby("panel", sort=False)
        if len(group) > 2
    ]
    said = f"Accuracy against set size (LAC), a point for each model. {'; '.join(lines)}."
    chart = charts.scatter(
        frame.assign(series="model"), "Accuracy (%)", "Set size", fit=True, shared=("x", "y")
    )
    return figure("1", "accuracy and set size by dataset", said, chart)


def spread(lookup: Lookup) -> Built:
    """Figure 2: set sizes of all models and datasets, a box for each score."""
    found = scored(lookup, SIZES)
    wide = together(lookup, list(found.values()), clean=True)
    frame = wide.rename(columns=dict(enumerate(found))).melt(var_name="group")
    spans = frame.groupby("group", sort=False)["value"].agg(["min", "median", "max"])
    said = "; ".join(
        f"{name} {formatting.span(row['min'], row['max'], 2)}, median {formatting.number(row['median'], 2)}"
        for name, row in spans.iterrows()
    )
    return figure(
        "2",
        "how set sizes spread, clean protocol",
        f"Boxes over models and datasets: {said}.",
        charts.boxes(frame, "Set size"),
    )


def by_size(lookup: Lookup) -> Built:
    """Figure 3: means over the datasets against the number of parameters."""
    mean = together(lookup, (ACCURACY, SIZES[0])).groupby("model").mean()
    known = lookup.evidence.facts
    sizes = {str(model): found for model in mean.index if (found := size(str(model), known))}
    if len(set(sizes.values())) < 2:
        raise Absent("the sizes of fewer than two models are known")
    mean = mean.loc[list(sizes)]
    frame = pd.concat(
        pd.DataFrame(
            {
                "name": mean.index,
                "x": [sizes[str(model)] for model in mean.index],
                "y": scale * mean[place].to_numpy(),
                "series": [series(str(model), known) for model in mean.index],
                "panel": label,
            }
        )
        for place, label, scale in ((0, "Accuracy (%)", 100.0), (1, "Set size (LAC)", 1.0))
    )
    frame["line"] = frame["series"]
    frame = frame.sort_values(["panel", "series", "x"])
    said = f"Means over the datasets of {formatting.plural(len(mean), 'model')} by number of parameters."
    return figure("3", "size, accuracy and set size", said, charts.scatter(frame, "Parameters", "", log=True))


def by_score(
    lookup: Lookup, number: str, title: str, measures: Sequence[Measure], rule: float | None
) -> Built:
    """Figures 4 and 5: a row for each model, a point for each score.

    rule: what all should reach; by dataset then, else means over the datasets.
    """
    found = scored(lookup, measures)
    wide = together(lookup, list(found.values()), clean=True).reset_index()
    labels = columns(lookup.evidence.datasets, DATASETS)
    long = wide.melt(id_vars=KEYS, var_name="measure")
    frame = pd.DataFrame(
        {
            "row": long["model"],
            "value": long["value"],
            "series": long["measure"].map(dict(enumerate(found))),
            "panel": long["dataset"].map(labels),
        }
    )
    if rule is None:
        frame = frame.groupby(["row", "series"], sort=False, as_index=False)["value"].mean().assign(panel="")
    frame = lookup.in_order(frame, ["row"], "row")
    least = frame.loc[frame["value"].idxmin()]
    where = f" on {least['panel']}" if least["panel"] else ""
    said = (
        f"Points for {formatting.plural(frame['row'].nunique(), 'model')}, clean protocol. The least is "
        f"{formatting.number(least['value'], 2)}: {least['row']}, {least['series']}{where}."
    )
    head = "Coverage" if rule else "Set size, mean over the datasets"
    return figure(number, title, said, charts.dots(frame, head, rule))


def correlations(lookup: Lookup) -> Built:
    """Figure 8: Pearson's correlations over pairs of a model and a dataset."""
    wide = together(lookup, (ACCURACY, SIZES[0], COVERAGES[0]))
    known = lookup.evidence.facts
    frame = wide.set_axis(["Accuracy", "Set size", "Coverage"], axis=1)
    sizes = [size(str(model), known) for model, _ in frame.index]
    if all(sizes) and len(set(sizes)) > 1:
        frame.insert(0, "Log of size", np.log10(np.asarray(sizes, dtype=float)))
    if len(frame) < 3:
        raise Absent("fewer than three pairs of a model and a dataset")
    matrix = (
        frame.corr().rename_axis("row").reset_index().melt(id_vars="row", var_name="column").assign(panel="")
    )
    cells = matrix.dropna()
    if cells.empty:
        raise Absent("nothing that differs between the pairs of a model and a dataset")
    said = f"Pearson's correlations over {formatting.plural(len(frame), 'pair')} of a model and a dataset."
    return figure(
        "8", "correlations of size, accuracy, set size and coverage (LAC)", said, charts.heat(cells)
    )


def letters(lookup: Lookup) -> Built:
    """Figure 9: shares of right answers by letter and dataset."""
    rows = []
    labels = columns(lookup.evidence.datasets, DATASETS)
    for letter in "ABCDEFGHIJ":
        shares = (
            lookup.of(Measure(letter, f"right_share_{letter}", only="clean"))
            .groupby("dataset")["value"]
            .first()
        )
        rows += [
            {"panel": labels[str(name)], "group": letter, "series": "share", "value": share}
            for name, share in shares.items()
            if share > 0
        ]
    if not rows:
        raise Absent("no dataset was asked for letters")
    frame = pd.DataFrame(rows)
    most = frame.loc[frame.groupby("panel", sort=False)["value"].idxmax()]
    said = "; ".join(
        f"{row.panel} most often {row.group}, {formatting.percent(row.value, 0)}" for row in most.itertuples()
    )
    return figure("9", "right answers by letter", f"Bars: {said}.", charts.bars(frame, 100, ".0%"))


def _profiles(lookup: Lookup) -> pd.DataFrame:
    """model, axis, value: accuracy, coverage and one over set size, all 0 to 1, means over the datasets."""
    found = scored(lookup, SIZES)
    covered = [measure for measure in COVERAGES if measure.label in found]
    wide = together(lookup, (ACCURACY, *covered, *found.values()), clean=True)
    axes = ["Acc", *(f"CR {label}" for label in found), *(f"1/SS {label}" for label in found)]
    sizes = list(range(1 + len(found), len(axes)))
    wide[sizes] = 1 / wide[sizes]
    mean = wide.groupby("model").mean().set_axis(axes, axis=1)
    return mean.reset_index().melt(id_vars="model", var_name="axis")


def _radar(number: str, title: str, frame: pd.DataFrame) -> Built:
    said = "; ".join(
        f"{model} accuracy {formatting.percent(value)}"
        for model, value in frame.loc[frame["axis"] == "Acc", ["model", "value"]].itertuples(index=False)
    )
    note = "Radar of accuracy, coverage and one over set size, clean protocol; far out is good"
    return figure(number, title, f"{note}. {said}.", charts.radar(frame))


def families(lookup: Lookup) -> Built:
    """Figure 6: the models of a family together, where it has two."""
    known = lookup.evidence.facts
    long = _profiles(lookup)
    long = long.assign(panel=[family(model, known) for model in long["model"]])
    long = long[long.groupby("panel")["model"].transform("nunique") > 1]
    if long.empty:
        raise Absent("no two models of one family")
    long = long.assign(size=[size(model, known) or 0.0 for model in long["model"]])
    long = long.sort_values(["panel", "size", "model"], kind="stable")
    place = long[["panel", "model"]].drop_duplicates().groupby("panel").cumcount() + 1
    turn = {long.at[row, "model"]: f"size {number}" for row, number in place.items()}
    alone = long["panel"].nunique() == 1
    long = long.assign(series=long["model"] if alone else long["model"].map(turn))
    return _radar("6", "profiles of families, smallest first", long)


def everyone(lookup: Lookup) -> Built:
    """Figure 7: a panel for each model."""
    long = lookup.in_order(_profiles(lookup), ["model"])
    return _radar("7", "profiles of all models", long.assign(panel=long["model"], series="model"))

"""Figures 3 to 5 and A7 to A9."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from vouch.report import formatting
from vouch.report.facts import series, size
from vouch.report.papers.parc.answers import DATASETS, EVERY, FAMILIES, UNCHANGED, asked_kinds, long
from vouch.report.reproduce import charts
from vouch.report.reproduce.entry import Absent, Built, figure
from vouch.report.reproduce.lookup import Lookup, Measure, columns
from vouch.report.reproduce.tables import joined
from vouch.tables.prompts import ORIGINAL

ALIKE = (6_500_000_000, 8_500_000_000)
"""Parameters of the language models that the paper counts as 7B or 8B."""
UNTOLD = (
    "Its right half needs two models with language models of 7 or 8 billion parameters and different numbers "
    "of training samples on record."
)


def _negated(lookup: Lookup) -> str:
    tried = asked_kinds(lookup)
    if "ls_n" not in tried:
        raise Absent("needs the variation ls_n")
    return "ls_n"


def calibration(number: str, title: str, average: bool, lookup: Lookup) -> Built:
    """Figures 3 and A7: original and negated questions. average: over the datasets."""
    other = _negated(lookup)
    measures = [
        Measure(label, metric, scale=1, variation=variation)
        for metric, label in (("accuracy", "before"), ("accuracy_calibrated", "after"))
        for variation in (ORIGINAL, other)
    ]
    frame = long(lookup, measures)
    frame = frame[frame["dataset"].isin(frame.loc[frame["measure"] == 1, "dataset"].unique())]
    labels = columns(lookup.evidence.datasets, DATASETS)
    if average:
        frame = frame.groupby(["measure", "model"], as_index=False)["value"].mean().assign(where="mean")
    else:
        guess = {name: lookup.evidence.chance(name) for name in frame["dataset"].unique()}
        ordered = sorted(guess, key=lambda name: (guess[name], name))
        shown = list(dict.fromkeys((ordered[0], ordered[-1])))
        frame = frame[frame["dataset"].isin(shown)].assign(where=lambda part: part["dataset"].map(labels))
    frame = lookup.in_order(frame, ["where", "measure", "model"])
    dots = pd.DataFrame(
        {
            "row": frame["model"],
            "value": frame["value"],
            "series": np.where(frame["measure"] % 2 == 0, "O", "LS-N"),
            "panel": frame["where"] + ", " + frame["measure"].map(lambda place: measures[place].label),
        }
    ).dropna()
    means = dots.groupby(["panel", "series"], sort=False)["value"].mean()
    said = "; ".join(
        f"{panel} {name} {formatting.number(value, 2)}" for (panel, name), value in means.items()
    )
    chart = charts.dots(dots, "Accuracy")
    return figure(number, title, f"Mean over the models: {said}.", chart)


def families(lookup: Lookup) -> Built:
    """Figure 4: consistency by family, datasets of pairs of pictures in a panel of their own."""
    measures = [Measure(name, "consistency_calibrated", name, scale=1, variation="") for name in FAMILIES]
    frame = long(lookup, measures)
    if frame.empty:
        raise Absent(UNCHANGED)
    paired = set(frame.loc[frame["measure"] == 3, "dataset"])
    where = frame["dataset"].isin(paired).map({True: "pairs of pictures", False: "one picture"})
    mean = frame.assign(panel=where).groupby(["panel", "measure", "model"], as_index=False)["value"].mean()
    mean = lookup.in_order(mean, ["panel", "model", "measure"])
    dots = pd.DataFrame(
        {
            "row": mean["model"],
            "value": mean["value"],
            "series": mean["measure"].map(lambda place: FAMILIES[place]),
            "panel": mean["panel"],
        }
    ).sort_values("series", key=lambda names: names.map(FAMILIES.index), kind="stable")
    means = dots.groupby(["panel", "series"])["value"].mean()
    said = "; ".join(
        f"{panel}, {name}: {formatting.number(value, 2)}" for (panel, name), value in means.items()
    )
    chart = charts.dots(dots, "Consistency, calibrated", 0.0)
    title = "consistency by family of changes, mean over the datasets"
    return figure("4", title, f"Mean over the models: {said}.", chart)


def _two(lookup: Lookup, scores: Mapping[str, str]) -> pd.DataFrame:
    """model, group, rel, cons: means over the datasets, for groups of variations."""
    parts = []
    for score, label in scores.items():
        measures = [
            Measure(name, name, score, scale=1, variation="")
            for name in ("reliability", "consistency_calibrated")
        ]
        frame = long(lookup, measures)
        wide = frame.groupby(["model", "measure"])["value"].mean().unstack().reindex(columns=[0, 1]).dropna()
        parts.append(wide.rename(columns={0: "rel", 1: "cons"}).reset_index().assign(group=label))
    frame = pd.concat(parts, ignore_index=True)
    if frame.empty:
        raise Absent(UNCHANGED)
    return frame


def by_size(number: str, scores: Mapping[str, str], lookup: Lookup) -> Built:
    """Figures 5 and A9. scores: families of changes by their heading."""
    known = lookup.evidence.facts
    frame = _two(lookup, scores)
    sizes = {name: found for name in frame["model"].unique() if (found := size(name, known))}
    if len(set(sizes.values())) < 2:
        raise Absent("the sizes of fewer than two models are known")
    frame = frame[frame["model"].isin(list(sizes))]
    points = pd.concat(
        pd.DataFrame(
            {
                "name": frame["model"],
                "x": frame["model"].map(sizes),
                "y": frame[column],
                "series": [series(name, known) for name in frame["model"]],
                "panel": label if len(scores) == 1 else frame["group"] + ": " + label,
            }
        )
        for column, label in (("rel", "reliability"), ("cons", "consistency"))
    ).sort_values(["panel", "series", "x"], kind="stable")
    said = f"{formatting.plural(len(sizes), 'model')} by number of parameters, a line for each series."
    chart = charts.scatter(points.assign(line=points["series"]), "Parameters", "", log=True)
    return figure(number, "reliability and consistency by size", said, chart)


def sizes_and_data(lookup: Lookup) -> Built:
    """Figure 5: by size on the left; on the right by training data, language models alike in size."""
    return joined(by_size("5", {EVERY: "all"}, lookup), _by_data(lookup))


def _by_data(lookup: Lookup) -> Built:
    known = lookup.evidence.facts
    frame = _two(lookup, {EVERY: "all"})
    alike = {
        name: float(found["training_data_size"])
        for name in frame["model"].unique()
        if (found := known.get(name, {})).get("training_data_size")
        and ALIKE[0] <= found.get("language_model_parameters", 0) <= ALIKE[1]
    }
    if len(set(alike.values())) < 2:
        return Built(sentences=(UNTOLD,))
    frame = frame[frame["model"].isin(list(alike))]
    points = pd.concat(
        pd.DataFrame(
            {
                "name": frame["model"],
                "x": frame["model"].map(alike),
                "y": frame[column],
                "series": [
                    f"curation {known[name].get('curation') or 'not told'}" for name in frame["model"]
                ],
                "panel": label,
            }
        )
        for column, label in (("rel", "reliability"), ("cons", "consistency"))
    )
    said = f"{formatting.plural(len(alike), 'model')} with language models of 7 or 8 billion parameters."
    title = "reliability and consistency by training data"
    return figure("5 (b)", title, said, charts.scatter(points, "Samples of training data", "", log=True))


def against(lookup: Lookup) -> Built:
    """Figure A8: a panel for each family of changes."""
    scores = {name: name for name in ("language", "vision", "reformulation", "semantic")}
    frame = _two(lookup, scores)
    known = lookup.evidence.facts
    few = frame["model"].nunique() <= charts.MOST
    points = pd.DataFrame(
        {
            "name": frame["model"],
            "x": frame["cons"],
            "y": frame["rel"],
            "series": frame["model"] if few else [series(name, known) for name in frame["model"]],
            "panel": frame["group"],
        }
    )
    means = frame.groupby("group", sort=False)[["rel", "cons"]].mean()
    said = "; ".join(
        f"{group}: reliability {formatting.number(row['rel'], 2)}, "
        f"consistency {formatting.number(row['cons'], 2)}"
        for group, row in means.iterrows()
    )
    chart = charts.scatter(points, "Consistency", "Reliability", shared=("x", "y"))
    title = "consistency and reliability by families of changes"
    return figure("A8", title, f"Means over the models: {said}.", chart)

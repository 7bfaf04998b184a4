"""Figures 6 and 7: profiles of models around a centre."""

import pandas as pd

from vouch.report import formatting
from vouch.report.facts import family, size
from vouch.report.papers.azad.measures import ACCURACY, COVERAGES, SIZES, scored, together
from vouch.report.reproduce import charts
from vouch.report.reproduce.entry import Absent, Built, figure
from vouch.report.reproduce.lookup import Lookup


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
    long = _profiles(lookup)
    order = {name: place for place, name in enumerate(lookup.order)}
    long = long.sort_values("model", key=lambda names: names.map(order), kind="stable")
    return _radar("7", "profiles of all models", long.assign(panel=long["model"], series="model"))

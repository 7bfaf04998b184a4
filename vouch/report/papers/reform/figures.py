"""Figures 3 to 5 and 8 to 10."""

import pandas as pd

from vouch.report import formatting
from vouch.report.facts import series, size
from vouch.report.papers.reform.answers import accuracy, long, means
from vouch.report.papers.reform.names import OUTPUT_NAMES
from vouch.report.reproduce import charts
from vouch.report.reproduce.entry import Absent, Built, figure
from vouch.report.reproduce.lookup import Lookup, Measure
from vouch.tables.prompts import LETTERS, TEXT


def by_fact(number: str, title: str, key: str, lookup: Lookup) -> Built:
    """Mean accuracy of the models that share a fact, by output."""
    facts = lookup.evidence.facts
    frame = means(lookup)
    frame = frame.assign(group=[facts.get(name, {}).get(key) for name in frame["model"]]).dropna(
        subset=["group"]
    )
    if frame["group"].nunique() < 2:
        raise Absent(f"{key.replace('_', ' ')} of fewer than two kinds of models is on record")
    mean = frame.groupby(["measure", "group"], as_index=False)["value"].mean()
    shown = mean.assign(series=mean["measure"].map(dict(enumerate(OUTPUT_NAMES.values()))), panel="")
    said = "; ".join(
        f"{row.group} {row.series} {formatting.percent(row.value)}" for row in shown.itertuples()
    )
    return figure(number, title, f"Bars of mean accuracy: {said}.", charts.bars(shown, format=".0%"))


def by_count(number: str, title: str, key: str, label: str, lookup: Lookup) -> Built:
    """Mean accuracy against a count that is known of the models, by output."""
    facts = lookup.evidence.facts
    frame = means(lookup)
    counts = {
        name: size(name, facts) if not key else facts.get(name, {}).get(key)
        for name in frame["model"].unique()
    }
    frame = frame.assign(x=frame["model"].map(counts).astype(float)).dropna(subset=["x"])
    if frame["x"].nunique() < 2:
        raise Absent(f"{label.lower()} of fewer than two models are known")
    points = pd.DataFrame(
        {
            "name": frame["model"],
            "x": frame["x"],
            "y": 100 * frame["value"],
            "series": [series(name, facts) for name in frame["model"]],
            "panel": frame["measure"].map(dict(enumerate(OUTPUT_NAMES.values()))),
        }
    )
    said = f"Mean accuracy over the datasets of {formatting.plural(frame['model'].nunique(), 'model')}."
    return figure(number, title, said, charts.scatter(points, label, "Accuracy (%)", log=True))


def gap(lookup: Lookup) -> Built:
    """Figure 5: both outputs of the same datasets."""
    frame = means(lookup).pivot(index="model", columns="measure", values="value")
    if frame.shape[1] < 2 or frame.dropna().empty:
        raise Absent("no model was asked for both texts and likelihoods")
    pairs = _both(lookup)
    pairs = lookup.in_order(pairs, ["panel", "measure", "model"])
    dots = pairs.assign(
        row=pairs["model"], series=pairs["measure"].map(dict(enumerate(OUTPUT_NAMES.values())))
    )
    wide = pairs.pivot(index=["panel", "model"], columns="measure", values="value")
    gap = 100 * (wide[1] - wide[0])
    low, high = formatting.number(gap.min(), 1), formatting.number(gap.max(), 1)
    said = f"Likelihood minus generation: {low} to {high} points."
    return figure("5", "generation and likelihood", said, charts.dots(dots, "Accuracy"))


def _both(lookup: Lookup) -> pd.DataFrame:
    """Accuracy of both outputs by dataset (`panel`) and model, where both were asked."""
    measures = [accuracy(output)[0] for output in OUTPUT_NAMES]
    frame = long(lookup, measures, None).dropna(subset=["value"])
    pairs = frame.groupby(["dataset", "model"])["measure"].transform("nunique")
    frame = frame[pairs == 2]
    if frame.empty:
        raise Absent("no dataset was asked for both texts and likelihoods")
    return frame.rename(columns={"dataset": "panel"})


def preference(lookup: Lookup) -> Built:
    """Figure 10: shares of the places chosen on the first dataset with options."""
    parts = []
    for output in (TEXT, LETTERS):
        for letter in "ABCDEF":
            found = lookup.of(Measure(letter, f"chosen_share_{letter}", output=output, only="clean"))
            right = lookup.of(Measure(letter, f"right_share_{letter}", output=output, only="clean"))
            parts.append(found.assign(column=letter, row=found["model"]))
            parts.append(right.drop_duplicates("dataset").assign(column=letter, row="right answers"))
        if any(len(part) for part in parts):
            break
    frame = pd.concat(parts, ignore_index=True)
    if frame.empty:
        raise Absent("no model chose among options")
    dataset = next(name for name in lookup.evidence.datasets if name in set(frame["dataset"]))
    frame = frame[frame["dataset"] == dataset].assign(panel="")
    frame = lookup.in_order(frame, ["row", "column"], "row")
    models = frame[frame["row"] != "right answers"]
    most = models.loc[models["value"].idxmax()]
    said = (
        f"Shares of the places chosen on {dataset}. The strongest: {most['row']} takes {most['column']} "
        f"{formatting.percent(most['value'])} of the time."
    )
    return figure(
        "10",
        f"which option is preferred, {dataset}",
        said,
        charts.heat(frame[["row", "column", "value", "panel"]]),
    )

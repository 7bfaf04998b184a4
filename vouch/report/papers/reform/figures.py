"""Figures 3 to 5 and 8 to 10."""

from dataclasses import replace

import numpy as np
import pandas as pd

from vouch.report import formatting
from vouch.report.evidence import series, size
from vouch.report.papers.reform.answers import accuracy, coco_ranks, long, means
from vouch.report.papers.reform.names import OUT_OF_DOMAIN, OUTPUT_NAMES
from vouch.report.reproduce import charts
from vouch.report.reproduce.entry import Absent, Built, Lookup, Measure, figure, joined
from vouch.tables.asked import LETTERS, TEXT

NOUNS = dict(enumerate(OUTPUT_NAMES.values()))
RIGHT = "right answers"
BACKBONES = {"language_model": "language model", "vision_encoder": "vision encoder"}
PARAMETERS = {"parameters": "", "trainable parameters": "trainable_parameters"}
"""What is counted, and its key among the facts; the size of a model can follow from its name as well."""
UNITS = ((1e9, "B"), (1e6, "M"), (1e3, "K"), (1, ""))


def by_backbone(lookup: Lookup) -> Built:
    """Figure 3: mean accuracy of the models that share a language model, or a vision encoder, by output."""
    facts, wide = lookup.evidence.facts, means(lookup)
    parts = []
    for key, panel in BACKBONES.items():
        kinds = pd.Series([facts.get(name, {}).get(key) for name in wide.index], wide.index, name="group")
        mean = wide.groupby(kinds).mean()
        if len(mean) > 1:
            parts.append(mean.reset_index().melt("group", var_name="measure").assign(panel=panel))
    if not parts:
        raise Absent("backbones of fewer than two kinds of models are on record")
    shown = pd.concat(parts).dropna()
    shown = shown.assign(series=shown["measure"].map(NOUNS))
    said = "; ".join(
        f"{row.group} {row.series} {formatting.percent(row.value)}" for row in shown.itertuples()
    )
    chart = charts.bars(shown, format=".0%")
    return figure("accuracy by backbone", f"Bars of mean accuracy: {said}.", chart)


def training(lookup: Lookup) -> Built:
    """Figure 4: with and without COCO, and by the size of the training data, of what is on record."""
    parts, missing = [], []
    for part, build in (("(a)", _with_coco), ("(b)", _by_training_data)):
        try:
            parts.append(build(lookup))
        except Absent as error:
            missing.append(f"{part}: {error}")
    said = "; ".join([*missing, "(c): numbers of instruction-tuning datasets are not on record"])
    if not parts:
        raise Absent(f"none of its parts: {said}")
    return replace(joined(parts), sentences=(f"Not built: {said}.",))


def _with_coco(lookup: Lookup) -> Built:
    frame = coco_ranks(lookup)
    domain = frame["dataset"].isin(OUT_OF_DOMAIN).map({True: "out of domain", False: "in domain"})
    mean = frame.assign(group=domain).groupby(["model", "group"], as_index=False)["value"].mean()
    said = "; ".join(
        f"{row.model}, {row.group} {formatting.number(row.value, 2)}" for row in mean.itertuples()
    )
    chart = charts.bars(mean.rename(columns={"model": "series"}).assign(panel=""), format=".1f")
    return figure("mean rank with and without COCO", f"Bars of mean ranks, 1 is best: {said}.", chart, "(a)")


def _by_training_data(lookup: Lookup) -> Built:
    title, label = "accuracy and training data", "Samples of training data"
    return by_count(title, label, "training_data_size", lookup, "(b)")


def by_parameters(lookup: Lookup) -> Built:
    """Figure 8: how the accuracies on single datasets spread by the number of parameters, by output."""
    facts = lookup.evidence.facts
    frame = long(lookup, [accuracy(output) for output in OUTPUT_NAMES])
    if frame.empty:
        raise Absent("no model was asked for texts or likelihoods")
    frame, parts = frame.dropna(subset=["value"]), []
    for noun, key in PARAMETERS.items():
        counts = {name: facts.get(name, {}).get(key) if key else size(name, facts) for name in lookup.order}
        known = frame.assign(count=frame["model"].map(counts)).dropna(subset=["count"]).sort_values("count")
        known = known.assign(group=known["count"].map(_rounded), value=100 * known["value"])
        for place, output in NOUNS.items():
            shown = known[known["measure"] == place]
            if shown["group"].nunique() > 1:
                middle = shown.groupby("group", sort=False)["value"].median()
                said = "; ".join(f"{group} {formatting.number(value, 1)}" for group, value in middle.items())
                title = f"accuracy by {noun}, {output}"
                chart = charts.boxes(shown, "Accuracy (%)")
                parts.append(figure(title, f"Boxes of a dataset and model each; medians: {said}.", chart))
    return joined(parts, "parameters of fewer than two models are known")


def _rounded(count: float) -> str:
    """3,940,000,000 -> `4B`, 106,700,000 -> `107M`."""
    unit, letter = next((unit for unit in UNITS if round(count / unit[0])), UNITS[-1])
    return f"{count / unit:.0f}{letter}"


def by_count(title: str, label: str, key: str, lookup: Lookup, part: str = "") -> Built:
    """Figures 4 and 9: mean accuracy against a count that is on record of the models, by output."""
    facts = lookup.evidence.facts
    wide = means(lookup).rename(columns=NOUNS)
    counts = {name: facts.get(name, {}).get(key) for name in wide.index}
    known = {name: float(count) for name, count in counts.items() if count is not None}
    if len(set(known.values())) < 2:
        raise Absent(f"{label.lower()} of fewer than two models are known")
    kinds = {name: series(name, facts) for name in known}
    said = f"Mean accuracy over the datasets of {formatting.plural(len(known), 'model')}."
    chart = charts.by_number(100 * wide, known, kinds, label, "Accuracy (%)", line=False)
    return figure(title, said, chart, part)


def gap(lookup: Lookup) -> Built:
    """Figure 5: accuracy of both outputs by dataset and model, where both were asked."""
    mean = means(lookup)
    if mean.shape[1] < 2 or mean.dropna().empty:
        raise Absent("no model was asked for both texts and likelihoods")
    frame = long(lookup, [accuracy(output) for output in OUTPUT_NAMES]).dropna(subset=["value"])
    pairs = frame[frame.groupby(["dataset", "model"])["measure"].transform("nunique") == 2]
    if pairs.empty:
        raise Absent("no dataset was asked for both texts and likelihoods")
    pairs = lookup.in_order(pairs, ["dataset", "measure", "model"])
    dots = pairs.rename(columns={"dataset": "panel"})
    dots = dots.assign(row=dots["model"], series=dots["measure"].map(NOUNS))
    wide = pairs.pivot(index=["dataset", "model"], columns="measure", values="value")
    gap = 100 * (wide[1] - wide[0])
    low, high = formatting.number(gap.min(), 1), formatting.number(gap.max(), 1)
    said = f"Likelihood minus generation: {low} to {high} points."
    return figure("generation and likelihood", said, charts.dots(dots, "Accuracy"))


def preference(lookup: Lookup) -> Built:
    """Figure 10: shares of the places chosen on the first dataset with options."""
    places = [(letter, kind) for letter in "ABCDEF" for kind in ("chosen", "right")]
    for output in (TEXT, LETTERS):
        frame = lookup.long(
            [
                Measure(letter, f"{kind}_share_{letter}", output=output, only="clean")
                for letter, kind in places
            ]
        )
        if len(frame):
            break
    else:
        raise Absent("no model chose among options")
    dataset = next(name for name in lookup.evidence.datasets if name in set(frame["dataset"]))
    frame = frame[frame["dataset"] == dataset]
    frame = frame.assign(
        column=[places[place][0] for place in frame["measure"]],
        row=np.where(frame["measure"] % 2, RIGHT, frame["model"]),
    ).drop_duplicates(["row", "column"])
    frame = lookup.in_order(frame, ["row", "column"], "row")
    models = frame[frame["row"] != RIGHT]
    most = models.loc[models["value"].idxmax()]
    said = (
        f"Shares of the places chosen on {dataset}. The strongest: {most['row']} takes {most['column']} "
        f"{formatting.percent(most['value'])} of the time."
    )
    return figure(
        f"which option is preferred, {dataset}",
        said,
        charts.heat(frame[["row", "column", "value"]].assign(panel="")),
    )

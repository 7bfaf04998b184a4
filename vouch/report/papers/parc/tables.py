"""Tables 2, 3 and A5 to A10."""

from collections.abc import Sequence

import pandas as pd

from vouch.report import formatting
from vouch.report.papers.parc.answers import (
    CERTAIN,
    DATASETS,
    EVERY,
    MODELS,
    PRINTED,
    UNCHANGED,
    asked_kinds,
    four,
    heads,
    long,
    notes,
    over,
)
from vouch.report.reproduce import printed
from vouch.report.reproduce.entry import Absent, Built
from vouch.report.reproduce.lookup import MEAN, Lookup, columns, with_mean
from vouch.report.reproduce.pivot import Layout, pivot
from vouch.report.reproduce.tables import rows
from vouch.report.table import Cell, Column, Grid, whole
from vouch.tables.prompts import ORIGINAL


def _short(frame: pd.DataFrame) -> pd.DataFrame:
    """Of accuracy and certainty the mean alone, as tables 2 and 3 have them; all where there is no mean."""
    means = frame["dataset"] == MEAN
    return frame[frame["measure"].isin((0, 3)) | means] if means.any() else frame


def models(number: str, file: str, logits: bool, short: bool, lookup: Lookup) -> Built:
    """Tables 3, A8 and A10, by model. file: of the published cells. short: see `_short`."""
    measures = four("", EVERY)
    frame = long(lookup, measures, logits)
    if frame.empty:
        raise Absent(UNCHANGED)
    frame = with_mean(frame, over(lookup, frame))
    cells = printed.of_file(lookup, file, {}, PRINTED, MODELS, CERTAIN, ("score", "model"))
    layout = Layout(
        f"parc-table-{number.lower()}",
        f"Table {number}: {'largest logits' if logits else 'responses'}, mean over the prompts",
        measures,
        rows(lookup, MODELS),
        heads(lookup),
        prints=cells,
        help=notes(lookup, logits),
        ranked=False,
    )
    return pivot(_short(frame) if short else frame, layout)


def _kinds(lookup: Lookup, variations: Sequence[str]) -> pd.DataFrame:
    """Means over the models, by variation (`row`) and dataset."""
    parts = []
    for variation in variations:
        frame = long(lookup, four(variation))
        mean = frame.groupby(["measure", "dataset"], as_index=False)[["value", "clean"]].mean()
        parts.append(mean.assign(row=variation))
    return pd.concat(parts, ignore_index=True)


def varied(number: str, short: bool, lookup: Lookup) -> Built:
    """Tables 2 and A6, by kind of prompt."""
    tried = {name: label for name, label in asked_kinds(lookup).items() if "+" not in name}
    frame = _kinds(lookup, list(tried))
    frame = with_mean(frame, over(lookup, frame), ("measure", "row"), complete=False)
    layout = Layout(
        f"parc-table-{number.lower()}",
        f"Table {number}: mean over the models, by kind of prompt",
        four(ORIGINAL),
        tried,
        heads(lookup),
        row="Prompt",
        help=notes(lookup, False),
        ranked=False,
    )
    return pivot(_short(frame) if short else frame, layout, row="row")


def combined(lookup: Lookup) -> Built:
    """Table A9: pairs of changes, and each change of them alone."""
    tried = asked_kinds(lookup)
    both = {name: label for name, label in tried.items() if "/" in label}
    if not both:
        raise Absent("needs combined variations such as lr_i+vr_l")
    parts = {part for name in both for part in name.split("+")}
    shown = {name: label for name, label in tried.items() if name in parts} | both
    frame = _kinds(lookup, list(shown))
    mean = frame.groupby(["measure", "row"], as_index=False)[["value", "clean"]].mean().assign(dataset=MEAN)
    layout = Layout(
        "parc-table-a9",
        "Table A9: two changes at once, mean over models and datasets",
        four(ORIGINAL),
        shown,
        {MEAN: MEAN},
        row="Prompt",
        ranked=False,
    )
    return pivot(mean, layout, row="row")


def same(lookup: Lookup) -> Built:
    """Table A7, which is A8 once more. Raises Absent where that is."""
    models("A7", "parc_a8", False, False, lookup)
    return Built(sentences=("Tables A7 and A8 are the same table in the paper; see Table A8.",))


def counts(lookup: Lookup) -> Built:
    """Table A5: how many questions can be flipped by replacing a picture, and how the best model does."""
    evidence = lookup.evidence
    frame = evidence.outcomes
    exchanged = frame[frame["variation"] == "vs_e"]
    if exchanged.empty:
        raise Absent("needs the variation vs_e")
    labels, body = columns(evidence.datasets, DATASETS), []
    for dataset, label in labels.items():
        kept = exchanged.loc[exchanged["dataset"] == dataset, "prompt"].str.removesuffix("/vs_e").unique()
        if not len(kept):
            continue
        best = evidence.models(dataset)[0]
        here = frame[
            (frame["dataset"] == dataset) & (frame["variation"] == ORIGINAL) & (frame["model"] == best)
        ]
        here = here[here["output"] == evidence.outputs(dataset)[0]]
        items = here["prompt"].str.removesuffix(f"/{ORIGINAL}")
        some = here.loc[items.isin(kept), "clean_correct"]
        body.append(
            (
                Cell(label, "" if label == dataset else dataset),
                whole(len(here)),
                whole(len(kept)),
                Cell(formatting.percent(len(kept) / max(len(here), 1)), key=len(kept) / max(len(here), 1)),
                Cell(
                    formatting.percent(here["clean_correct"].mean()),
                    best,
                    float(here["clean_correct"].mean()),
                ),
                Cell(formatting.percent(some.mean()), best, float(some.mean())),
            )
        )
    heads = (
        Column("Dataset"),
        Column("Initial", "questions", True),
        Column("Kept", "questions with a picture to exchange", True),
        Column("Share", "", True),
        Column("Accuracy, initial", "of the model that is best there, original prompts", True),
        Column("Accuracy, kept", "of the same model, original prompts", True),
    )
    return Built(
        (Grid("parc-table-a5", "Table A5: questions before and after the filter of VS-E", heads, body),)
    )

"""Tables 2, 3 and A4 to A10."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pandas as pd

from vouch.report import formatting
from vouch.report.papers.parc.answers import (
    CERTAIN,
    DATASETS,
    EVERY,
    MODELS,
    UNCHANGED,
    asked_kinds,
    four,
    long,
    notes,
)
from vouch.report.papers.parc.figures import plane
from vouch.report.reproduce.entry import MEAN, Absent, Built, Lookup, joined, listing, named, with_mean
from vouch.report.reproduce.pivot import Layout, pivot
from vouch.report.table import MISSING, Cell, Column, cells
from vouch.tables.asked import ORIGINAL

PRINTED = ("reliability", "accuracy", "certainty", "consistency")


def _short(frame: pd.DataFrame) -> pd.DataFrame:
    """Of accuracy and certainty the mean alone, as tables 2 and 3 have them; all where there is no mean."""
    means = frame["dataset"] == MEAN
    return frame[frame["measure"].isin((0, 3)) | means] if means.any() else frame


def models(logits: bool, short: bool, lookup: Lookup) -> Built:
    """Tables 3, A8 and A10, by model. short: see `_short`."""
    measures = four("", EVERY)
    frame = long(lookup, measures, logits)
    if frame.empty:
        raise Absent(UNCHANGED)
    frame = with_mean(frame, lookup.own(DATASETS))
    ours = {label: name for name, label in MODELS.items()}
    layout = Layout(
        f"{'largest logits' if logits else 'responses'}, mean over the prompts",
        measures,
        lookup.models(MODELS),
        lookup.datasets(DATASETS) | {MEAN: MEAN},
        prints={
            (PRINTED.index(row["score"]), ours[row["model"]], dataset): row[label]
            for row in lookup.printed("parc_a10" if logits else "parc_a8")
            for dataset, label in CERTAIN.items()
            if label in row
        },
        help=notes(lookup, logits),
    )
    return pivot(_short(frame) if short else frame, layout)


def robust(lookup: Lookup) -> Built:
    """Table 3 with the scatter plot on its right."""
    table = models(False, True, lookup)
    try:
        return joined([table, plane(lookup)])
    except Absent as error:
        return replace(table, sentences=(*table.sentences, f"Without its right half: {error}."))


PROPERTIES = (
    ("Parameters", "total_parameters", "model_parameters_billions", 1e9),
    ("Of the language model", "language_model_parameters", "language_model_parameters_billions", 1e9),
    ("Resolution", "resolution", "resolution", 1),
    ("Training samples", "training_data_size", "training_samples_millions", 1e6),
    ("Curation", "curation", "curation", 1),
)
"""Column of table A4, key of the facts, column of the published file and its unit."""


def properties(lookup: Lookup) -> Built:
    """Table A4: what is on record of the models; what the paper printed, where it says another thing."""
    printed = {row["model"]: row for row in lookup.printed("parc_a4")}
    body = []
    for name, label in lookup.models(MODELS).items():
        known, theirs = lookup.evidence.facts.get(name, {}), printed.get(label, {})
        row = [_property(known.get(key), theirs.get(column, ""), unit) for _, key, column, unit in PROPERTIES]
        if any(cell is not MISSING for cell in row):
            body.append([named(name, label), *row])
    heads = (Column("Model"), *(Column(head, "", unit > 1) for head, _, _, unit in PROPERTIES))
    reason = "nothing of it is on record in models.lock for the models here"
    return listing("the models and their properties", heads, body, reason)


def _property(ours: int | str | None, theirs: str, unit: float) -> Cell:
    if ours is None:
        return replace(MISSING, note=f"published {theirs}") if theirs else MISSING
    if isinstance(ours, str):
        return Cell(ours, "" if theirs in ("", ours) else f"published {theirs}")
    same = not theirs or abs(float(theirs) * unit - ours) <= 1e-6 * ours
    return Cell(formatting.count(ours), "" if same else f"published {theirs}", float(ours))


def _kinds(lookup: Lookup, variations: Iterable[str]) -> pd.DataFrame:
    """Means over the models, by variation, which is the row of a table, and dataset."""
    parts = []
    for variation in variations:
        mean = long(lookup, four(variation)).groupby(["measure", "dataset"], as_index=False)
        parts.append(mean[["value", "clean"]].mean().assign(model=variation))
    return pd.concat(parts, ignore_index=True)


def _by_prompt(caption: str, rows: Mapping[str, str], frame: pd.DataFrame, lookup: Lookup) -> Built:
    columns = lookup.datasets(DATASETS) | {MEAN: MEAN}
    layout = Layout(caption, four(ORIGINAL), rows, columns, row="Prompt", help=notes(lookup, False))
    return pivot(frame, layout)


def varied(short: bool, lookup: Lookup) -> Built:
    """Tables 2 and A6, by kind of prompt."""
    tried = {name: label for name, label in asked_kinds(lookup).items() if "+" not in name}
    frame = with_mean(_kinds(lookup, tried), lookup.own(DATASETS), complete=False)
    caption = "mean over the models, by kind of prompt"
    return _by_prompt(caption, tried, _short(frame) if short else frame, lookup)


def combined(lookup: Lookup) -> Built:
    """Table A9: pairs of changes, and each change of them alone."""
    tried = asked_kinds(lookup)
    both = {name: label for name, label in tried.items() if "+" in name}
    if not both:
        raise Absent("needs combined variations such as lr_i+vr_l")
    parts = {part for name in both for part in name.split("+")}
    shown = {name: label for name, label in tried.items() if name in parts} | both
    mean = _kinds(lookup, shown).groupby(["measure", "model"], as_index=False)[["value", "clean"]].mean()
    caption = "two changes at once, mean over models and datasets"
    return _by_prompt(caption, shown, mean.assign(dataset=MEAN), lookup)


def same(lookup: Lookup) -> Built:
    """Table A7, which is A8 once more. Raises Absent where that is."""
    models(False, False, lookup)
    return Built(sentences=("Tables A7 and A8 are the same table in the paper; see Table A8.",))


def counts(lookup: Lookup) -> Built:
    """Table A5: how many questions can be flipped by replacing a picture, and how the best model does."""
    evidence = lookup.evidence
    frame = evidence.outcomes
    exchanged = frame[frame["variation"] == "vs_e"]
    body = []
    for dataset, label in lookup.datasets(DATASETS).items():
        kept = exchanged.loc[exchanged["dataset"] == dataset, "prompt"].str.removesuffix("/vs_e").unique()
        if not len(kept):
            continue
        best = evidence.models(dataset)[0]
        here = frame[
            (frame["dataset"] == dataset) & (frame["variation"] == ORIGINAL) & (frame["model"] == best)
        ]
        here = here[here["output"] == evidence.outputs(dataset)[0]]
        some = here[here["prompt"].str.removesuffix(f"/{ORIGINAL}").isin(kept)]
        body.append(
            cells(
                named(dataset, label),
                len(here),
                len(kept),
                _share(len(kept) / max(len(here), 1), ""),
                _share(here["clean_correct"].mean(), best),
                _share(some["clean_correct"].mean(), best),
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
    return listing("questions before and after the filter of VS-E", heads, body, "needs the variation vs_e")


def _share(value: float, note: str) -> Cell:
    return Cell(formatting.percent(value), note, float(value))

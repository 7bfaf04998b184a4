"""Tables 1, 3 and 9 to 21: results by dimension."""

from collections.abc import Sequence

import pandas as pd

from vouch.report import formatting
from vouch.report.papers.reform import published
from vouch.report.papers.reform.answers import accuracy, long
from vouch.report.papers.reform.names import CAPTIONS, MODELS, NO_SETS, OUTPUT_NAMES, TESTS
from vouch.report.papers.reform.published import beside, with_sampled
from vouch.report.reproduce.entry import Absent, Built
from vouch.report.reproduce.lookup import CLEAN, FAITHFUL, MEAN, Lookup, Measure, with_mean
from vouch.report.reproduce.pivot import Layout, pivot
from vouch.report.reproduce.tables import joined, rows
from vouch.tables.compared import OVERALL
from vouch.tables.prompts import ORIGINAL, TEXT


def dimension(number: str, title: str, sets: Sequence[str], outputs: Sequence[str], lookup: Lookup) -> Built:
    """Tables 9 to 18. sets: datasets of a dimension, asks: outputs, a table each."""
    parts = []
    for output in outputs:
        measures = with_sampled(accuracy(output))
        frame = long(lookup, measures, sets)
        if frame.empty:
            continue
        over = tuple(name for name in sets if name in set(frame["dataset"]))
        layout = Layout(
            f"reform-table-{number}-{OUTPUT_NAMES[output]}",
            f"Table {number}: {title}, {OUTPUT_NAMES[output]}",
            measures,
            rows(lookup, MODELS),
            {name: name for name in over} | {MEAN: MEAN},
            prints=beside(published.cells(lookup, output), frame, measures),
            help={MEAN: f"mean over {formatting.listed(over, 9)}"},
            ranked=False,
        )
        parts.append(pivot(with_mean(frame, over), layout))
    if not parts:
        raise Absent(NO_SETS)
    return joined(*parts)


def captions(lookup: Lookup) -> Built:
    """Table 19."""
    measures = with_sampled((Measure("CIDEr", "cider_d", output=TEXT, better="high"),))
    frame = long(lookup, measures, None)
    if frame.empty:
        raise Absent("no dataset of captions")
    names = [*CAPTIONS, *(name for name in dict.fromkeys(frame["dataset"]) if name not in CAPTIONS)]
    over = tuple(name for name in names if name in set(frame["dataset"]))
    layout = Layout(
        "reform-table-19",
        "Table 19: captions",
        measures,
        rows(lookup, MODELS),
        {n: n for n in over} | {MEAN: MEAN},
        prints=beside(published.cells(lookup, TEXT, ("accuracy",)), frame, measures),
        ranked=False,
    )
    return pivot(with_mean(frame, over), layout)


def dialogue(lookup: Lookup) -> Built:
    """Table 20: datasets whose questions have turns."""
    parts = []
    for output, noun in OUTPUT_NAMES.items():
        measures = with_sampled(
            (
                Measure("Acc", "accuracy", output=output, better="high"),
                Measure("Correlation", "turn_correlation", output=output, scale=1),
                Measure("Slope", "turn_slope", output=output, scale=1, digits=3),
            )
        )
        frame = long(lookup, measures, None)
        with_turns = set(frame.loc[frame["measure"] == 1, "dataset"]) if len(frame) else set()
        if not with_turns:
            continue
        frame = frame[frame["dataset"].isin(with_turns)]
        layout = Layout(
            f"reform-table-20-{noun}",
            f"Table 20: dialogues, {noun}; accuracy against the number of the turn",
            measures,
            rows(lookup, MODELS),
            {name: name for name in sorted(with_turns)},
            prints=beside(published.cells(lookup, output, ("accuracy", "correlation")), frame, measures),
            ranked=False,
        )
        parts.append(pivot(frame, layout))
    if not parts:
        raise Absent("no dataset of dialogues")
    return joined(*parts)


def general(lookup: Lookup) -> Built:
    """Table 1: accuracy and rank by dimension, and their means over the dimensions."""
    frame = lookup.evidence.dimensions
    every = set(frame["variation"])
    frame = frame[frame["variation"] == (TESTS if TESTS in every else ORIGINAL)]
    measures = (Measure("Acc", "accuracy"), Measure("Rank", "rank", scale=1, digits=1))
    parts = []
    for output, noun in OUTPUT_NAMES.items():
        own = frame[frame["output"] == output]
        long = _by_dimension(own)
        if long.empty:
            continue
        names = sorted(set(long["dataset"]), key=lambda name: (name == OVERALL, name))
        layout = Layout(
            f"reform-table-1-{noun}",
            f"Table 1: by dimension, {noun}",
            measures,
            rows(lookup, MODELS),
            {name: name for name in names},
            prints=published.dimensions(lookup, output, own),
            ranked=False,
        )
        parts.append(pivot(long, layout))
    if not parts:
        raise Absent("no model was asked for texts or likelihoods")
    return joined(*parts)


def _by_dimension(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of DIMENSIONS in the columns that tables are made of, `dataset` being the dimension."""
    keys = ["dimension", "model"]
    faithful = frame[frame["protocol"] == FAITHFUL].set_index(keys)[["value", "rank"]]
    clean = frame[frame["protocol"] == CLEAN].set_index(keys)[["value", "rank"]]
    both = faithful.join(clean.add_suffix("_clean"), how="outer").reset_index()
    return pd.concat(
        pd.DataFrame(
            {
                "model": both["model"],
                "dataset": both["dimension"],
                "value": both[column],
                "clean": both[f"{column}_clean"],
                "measure": place,
            }
        )
        for place, column in enumerate(("value", "rank"))
    )


def hit_rate(number: str, lookup: Lookup) -> Built:
    """Tables 3, of the first dataset, and 21, of all that were asked without a sample."""
    measures = (
        Measure("Without sample", "format_hit_rate", output=TEXT, variation="no_sample"),
        Measure("With sample", "format_hit_rate", output=TEXT),
    )
    frame = lookup.long(measures)
    over = tuple(dict.fromkeys(frame.loc[frame["measure"] == 0, "dataset"]))
    if not over:
        raise Absent("needs the variation no_sample")
    if number == "3":
        frame = frame[frame["measure"].isin((0, 1)) & frame["dataset"].isin(over[:1])]
    layout = Layout(
        f"reform-table-{number}",
        f"Table {number}: share of texts with an option's mark (%)",
        measures,
        rows(lookup, MODELS),
        {name: name for name in over},
        prints=published.hits(lookup, number),
        ranked=False,
    )
    return pivot(frame[frame["dataset"].isin(over)], layout)

"""Tables I to VII."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from vouch.report.papers.kostumov.names import DATASETS, RELEASED, TEN
from vouch.report.reproduce import printed
from vouch.report.reproduce.entry import Absent, Built
from vouch.report.reproduce.lookup import MEAN, Lookup, Measure, with_mean
from vouch.report.reproduce.pivot import Key, Layout, Print, pivot, rounded
from vouch.report.reproduce.tables import by_dataset, rows


def sets(score: str) -> tuple[Measure, ...]:
    """The measures of tables I and III to VI. score: of the sets, `mean` for that of LAC and APS."""
    return (
        Measure("CR", "coverage", score),
        Measure("Acc", "accuracy", better="high"),
        Measure("SS", "set_size", score, scale=1, better="low"),
        Measure("UAcc", "uacc", score, better="high"),
    )


CALIBRATION = (Measure("ECE", "ece", better="low"), Measure("MCE", "mce", better="low"))
EXTRA = (Measure("E rate", "dont_know_rate"), Measure("F rate", "none_rate"))


def table(
    number: str, caption: str, measures: Sequence[Measure], models: Mapping[str, str], lookup: Lookup
) -> Built:
    """Tables I to IV and VII. models: those of the paper, by its names."""
    places = {measure.metric: place for place, measure in enumerate(measures)}
    heads = DATASETS | {MEAN: "Avg"}
    cells = _repository(lookup, measures) | printed.released(lookup, measures, RELEASED)
    cells |= printed.of_file(lookup, "kostumov", {"table": number}, places, models, heads)
    name, title = f"kostumov-table-{number.lower()}", f"Table {number}: {caption}"
    built = by_dataset(lookup, name, title, measures, DATASETS, models, cells, ranked=True)
    return replace(built, sentences=(*built.sentences, *_said(lookup, models, measures)))


def _repository(lookup: Lookup, measures: Sequence[Measure]) -> dict[Key, Print]:
    """What the tables of the authors' repository have of 26 models, of which ten are printed."""
    frame = lookup.evidence.printed.get("kostumov_released")
    places = {(measure.score, measure.metric): place for place, measure in enumerate(measures)}
    found: dict[Key, Print] = {}
    for row in () if frame is None else frame.to_dict("records"):
        place = places.get((row["score"], row["metric"]))
        if place is not None:
            for column, label in (DATASETS | {MEAN: "Avg"}).items():
                value = rounded(float(row[label]), measures[place])
                found[place, row["model"], column] = Print(value)
    return found


def _said(lookup: Lookup, models: Mapping[str, str], measures: Sequence[Measure]) -> Sequence[str]:
    if not any(measure.better for measure in measures):
        return ()
    here = [name for name in lookup.order if name in models]
    if here and len(here) < len(lookup.order):
        return ("Ranks in brackets are, as in the paper, among the models that its table has.",)
    return ("Ranks in brackets are of the rounded figures, equals share one, as in the paper.",)


def categories(
    dataset: str, title: str, most: int, number: str, labels: Mapping[str, str], lookup: Lookup
) -> Built:
    """Table I by category of one dataset: the `most` categories with most questions, each scored apart."""
    evidence = lookup.evidence
    if dataset not in evidence.datasets:
        raise Absent(f"no {title} among the datasets")
    sizes = evidence.items.loc[evidence.items["dataset"] == dataset, "category"].value_counts()
    chosen = sorted(sizes.index, key=lambda name: (-sizes[name], name))[:most]
    chosen = [name for name in labels if name in chosen] + [name for name in chosen if name not in labels]
    measures = sets("mean")
    parts = [
        lookup.long([replace(measure, category=name) for measure in measures], [dataset]).assign(dataset=name)
        for name in chosen
    ]
    frame = pd.concat(parts, ignore_index=True)
    frame = with_mean(frame, chosen)
    places = {measure.metric: place for place, measure in enumerate(measures)}
    heads = {name: labels.get(name, name) for name in (*chosen, MEAN)}
    cells = printed.of_file(
        lookup,
        "kostumov_seedbench",
        {"table": number},
        places,
        TEN,
        {name: labels.get(name, "") for name in chosen},
    )
    layout = Layout(
        f"kostumov-table-{number.lower()}",
        f"Table {number}: {title} by category, mean of LAC and APS",
        measures,
        rows(lookup, TEN),
        heads,
        peers=tuple(TEN),
        prints=cells,
    )
    return pivot(frame, layout)

"""Figures 3 to 8: models of one family side by side."""

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd

from vouch.report import formatting
from vouch.report.papers.kostumov.names import DATASETS, SEVENTH
from vouch.report.papers.kostumov.tables import sets
from vouch.report.reproduce import charts
from vouch.report.reproduce.entry import Absent, Built, Entry, figure
from vouch.report.reproduce.lookup import Lookup, columns, own


def _compared(number: str, title: str, models: Mapping[str, str], lookup: Lookup) -> Built:
    """Bars of accuracy, set size and UAcc by dataset, for the models of one family."""
    here = [name for name in models if name in lookup.order]
    if len(here) < 2:
        raise Absent("fewer than two models of the family that it compares")
    measures = sets("mean")[1:]
    frame = lookup.long(measures, own(lookup.evidence.datasets, DATASETS))
    frame = frame[frame["model"].isin(here)].dropna(subset=["value"])
    if frame.empty:
        raise Absent("nothing of it was measured")
    labels = columns(lookup.evidence.datasets, DATASETS)
    scale = frame["measure"].map(lambda place: measures[place].scale)
    heads = frame["measure"].map(
        lambda place: f"{measures[place].label}{' (%)' if measures[place].scale > 1 else ''}"
    )
    shown = pd.DataFrame(
        {
            "series": frame["model"].map(models),
            "group": frame["dataset"].map(labels),
            "panel": heads,
            "value": frame["value"] * scale,
            "place": frame["model"].map({name: place for place, name in enumerate(here)}),
        }
    ).sort_values(["place", "panel", "group"])
    said = "; ".join(
        f"{series} {panel} {formatting.number(value, 2)} on {group}"
        for series, group, panel, value in shown[["series", "group", "panel", "value"]].itertuples(
            index=False
        )
        if panel.startswith("SS")
    )
    return figure(number, title, f"Bars. {said}.", charts.bars(shown))


def family(number: str, title: str, names: Sequence[str]) -> Entry:
    """The figure of one family. names: its models."""
    models = {name: SEVENTH[name] for name in names}
    return Entry(
        f"Figure {number}",
        f"{title}: accuracy, set size and UAcc by dataset.",
        partial(_compared, number, title, models),
    )

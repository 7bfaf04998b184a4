"""Figures 2 and 4: what performance on one dataset tells of that on another."""

from dataclasses import replace

import numpy as np
import pandas as pd

from vouch.report import formatting
from vouch.report.papers.tu.tables import DATASETS, FEWEST
from vouch.report.reproduce import charts
from vouch.report.reproduce.entry import Absent, Built, figure
from vouch.report.reproduce.lookup import Lookup, columns
from vouch.report.reproduce.tables import joined
from vouch.report.sections.distances import trends


def _performance(lookup: Lookup) -> pd.DataFrame:
    """Performance of every model, a column for each dataset: of the first output, the clean protocol."""
    evidence = lookup.evidence
    frame = evidence.ranked
    first = {name: evidence.outputs(name)[0] for name in evidence.datasets}
    frame = frame[frame["output"] == frame["dataset"].map(first)]
    frame = frame.drop_duplicates(["dataset", "model"])
    wide = frame.pivot(index="model", columns="dataset", values="performance")
    labels = {k: v for k, v in columns(evidence.datasets, DATASETS).items() if k in wide.columns}
    return wide[list(labels)].rename(columns=labels)


def pairs(lookup: Lookup) -> Built:
    """Figure 2: scatter plots of a few pairs of datasets, and the correlations of all."""
    wide = _performance(lookup)
    full = wide.dropna()
    if wide.shape[1] < 2 or len(full) < FEWEST:
        raise Absent("fewer than two datasets that three models answered")
    rho = wide.corr("spearman", min_periods=FEWEST)
    outside = rho.where(~np.eye(len(rho), dtype=bool)).stack()
    said = (
        f"Spearman's rho between the performances on {formatting.plural(len(rho), 'dataset')}: "
        f"{formatting.number(outside.min(), 2)} to {formatting.number(outside.max(), 2)}."
    )
    matrix = rho.rename_axis("row").rename_axis("column", axis=1).stack().rename("value").reset_index()
    title = "correlation of performance between datasets"
    cells = figure("2 (b)", title, said, charts.heat(matrix.assign(panel="")))
    return joined(_scatter(full, rho, said), cells)


def _scatter(full: pd.DataFrame, rho: pd.DataFrame, said: str) -> Built:
    """The paper shows three pairs: here the first dataset against those most and least like it, and the next.

    full: performance of the models that have all, a column for each dataset.
    """
    first = rho.columns[0]
    others = rho[first].drop(first).dropna().sort_values(ascending=False).index
    shown = list(dict.fromkeys([*others[:1], *others[-1:], *others]))[:3]
    if not shown:
        raise Absent(f"models do equally well on {first}, or on all others")
    points = pd.concat(
        pd.DataFrame({"name": full.index, "x": 100 * full[first], "y": 100 * full[other]}).assign(
            series="model", panel=f"{other}, rho = {formatting.number(rho.at[first, other], 2)}"
        )
        for other in shown
    )
    return figure(
        "2 (a)",
        f"performance on other datasets against that on {first}",
        f"Scatter plots of {formatting.plural(len(full), 'model')} with straight lines. {said}",
        charts.scatter(points, f"{first} (%)", "Performance (%)", fit=True),
    )


def apart(lookup: Lookup) -> Built:
    """Figure 4: a point for each pair of datasets, a panel for pictures and one for questions."""
    frame = lookup.evidence.distances.dropna(subset=["distance"])
    if frame.empty:
        raise Absent("needs distances between datasets, of which there are two at least")
    rho = _performance(lookup).corr("spearman", min_periods=FEWEST).stack()
    labels = columns(lookup.evidence.datasets, DATASETS)
    ends = list(zip(frame["dataset"].map(labels), frame["other"].map(labels), strict=True))
    points = pd.DataFrame(
        {
            "name": [" and ".join(pair) for pair in ends],
            "x": frame["distance"],
            "y": [rho.get(pair) for pair in ends],
            "series": "pair",
            "panel": frame["of"],
        }
    ).dropna()
    if points.empty:
        raise Absent("fewer than two datasets with distances that three models answered")
    said = "; ".join(
        f"{of}: {formatting.plural(len(part), 'pair')} of datasets at distances from "
        f"{formatting.number(part['x'].min(), 1)} to {formatting.number(part['x'].max(), 1)}"
        for of, part in points.groupby("panel")
    )
    chart = charts.scatter(points, "Fréchet distance", "Spearman's rho", fit=True)
    title = "distance of two datasets and how alike they order the models"
    drawn = figure("4", title, f"Scatter plot. {said}.", chart)
    return replace(drawn, sentences=tuple(trends(lookup.evidence)))

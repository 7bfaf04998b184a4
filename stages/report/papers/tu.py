"""Tu et al. 2024, Ranked from Within: which model is best, told without labels."""

from collections.abc import Sequence
from functools import partial

import pandas as pd

from stages.contracts.prompts import ASKS, LETTERS, TEXT
from stages.contracts.rankings import FEW_LABELS, MEAN
from stages.report import words
from stages.report.reproduce import charts, printed
from stages.report.reproduce.entry import Absent, Built, Drawing, Entry, Paper
from stages.report.reproduce.labels import columns, own
from stages.report.reproduce.lookup import MEAN as AVERAGE
from stages.report.reproduce.lookup import Lookup, Measure, with_mean
from stages.report.reproduce.pivot import Key, Layout, Print, pivot
from stages.report.reproduce.tables import joined

FEWEST = 3
"""Two models are in the right order or not: that is no correlation."""
DATASETS = {
    "scienceqa": "SQA-I",
    "ai2d": "AI2D",
    "mmmu": "MMMU",
    "realworldqa": "RWQA",
    "chartqa": "ChartQA",
    "ocrvqa": "OCRVQA",
    "textvqa": "TextVQA",
    "docvqa": "DocVQA",
}
# ranker to the paper's method, in its order; then those that are not in the paper
METHODS = {
    "accuracy_on_the_line": "AoL",
    "nll_first": "NLL_F",
    "nll_last": "NLL_P",
    "nll_min": "NLL_min",
    "nll_avg": "NLL_avg",
    "ent_first": "Ent_F",
    "ent_last": "Ent_P",
    "ent_max": "Ent_max",
    "ent_avg": "Ent_avg",
    "sample_bleu": "Sample_BLEU",
    "sample_bert": "Sample_BERT",
    "atc": "ATC",
}
OURS = {
    "confidence": "Confidence of the option",
    "entropy": "Entropy of the options",
    "gap": "Gap between two options",
    "agreement": "Samples that agree",
    "set_size": "Set size",
    "certainty": "Certainty",
    "combined": "All of these",
}
MEASURES = (
    Measure("rho", "rho", scale=1, only="clean"),
    Measure("tau", "tau_paper", scale=1, only="clean"),
)
NOUN = {LETTERS: "of letters", "likelihood": "of likelihoods", TEXT: "of generated texts"}


def _long(lookup: Lookup, ask: str, rankers: Sequence[str]) -> pd.DataFrame:
    """The correlations of some rankers for a read-out, in the columns that tables are made of."""
    frame = lookup.evidence.rankings
    frame = frame[(frame["ask"] == ask) & (frame["models"] >= FEWEST) & frame["proxy"].isin(("", MEAN))]
    frame = frame[frame["ranker"].isin(list(rankers))]
    # Of several temperatures the first: the paper has one.
    frame = frame.sort_values("score", kind="stable").drop_duplicates(["dataset", "ranker"])
    parts = []
    for place, measure in enumerate(MEASURES):
        low = frame["rho_low"] if measure.metric == "rho" else None
        high = frame["rho_high"] if measure.metric == "rho" else None
        part = frame[["dataset", "ranker"]].assign(
            value=frame[measure.metric], low=low, high=high, measure=place
        )
        parts.append(part.assign(clean=part["value"]))
    return pd.concat(parts, ignore_index=True).dropna(subset=["value"])


def _prints(lookup: Lookup, table: str) -> dict[Key, Print]:
    frame = lookup.printed.get("tu_tables")
    if frame is None:
        return {}
    names = {method: ranker for ranker, method in METHODS.items()} | {"50 labels": FEW_LABELS}
    found = {}
    for row in frame[frame["table"] == table].to_dict("records"):
        column = AVERAGE if row["dataset"] == "mean" else row["dataset"]
        for place, name in enumerate(("rho", "tau")):
            value = printed.cell(row[name])
            if value is not None and row["method"] in names:
                found[place, names[row["method"]], column] = value
    return found


def _methods(lookup: Lookup) -> Built:
    parts = []
    for ask in (TEXT, *(ask for ask in ASKS if ask != TEXT)):
        frame = _long(lookup, ask, [*METHODS, *OURS])
        if frame.empty:
            continue
        over = tuple(
            name for name in own(lookup.evidence.datasets, DATASETS) if name in set(frame["dataset"])
        )
        cells = _prints(lookup, "1") if ask == TEXT else {}
        layout = Layout(
            f"tu-table-1-{ask}",
            f"Table 1: rankings {NOUN[ask]}",
            MEASURES,
            METHODS | OURS,
            columns(lookup.evidence.datasets, DATASETS) | {AVERAGE: AVERAGE},
            row="Method",
            prints=cells
            if len(over) == len(DATASETS)
            else {k: p for k, p in cells.items() if k[2] != AVERAGE},
            ranked=False,
        )
        frame = with_mean(frame, over, ("measure", "ranker"))
        parts.append(pivot(frame, layout, row="ranker"))
    if not parts:
        raise Absent("fewer than three models answered the same dataset")
    built = joined(*parts)
    models = int(lookup.evidence.rankings["models"].max())
    said = (
        "Spearman's rho and, as the authors take it, the absolute weighted tau of "
        f"{words.plural(models, 'model')}; "
        "intervals of rho over other questions. Published: their 30 models."
    )
    return Built(built.grids, built.drawings, (*built.sentences, said))


def _few_labels(lookup: Lookup) -> Built:
    rows = {"nll_min": "NLL_min", "confidence": "Confidence of the option", FEW_LABELS: "50 labels"}
    parts = []
    for ask in ASKS:
        frame = _long(lookup, ask, list(rows))
        frame = frame[frame["measure"] == 0]
        if FEW_LABELS not in set(frame["ranker"]) or frame["ranker"].nunique() < 2:
            continue
        layout = Layout(
            f"tu-table-3-{ask}",
            f"Table 3: a few labels against none, {NOUN[ask]}",
            MEASURES[:1],
            rows,
            columns(lookup.evidence.datasets, DATASETS),
            row="Method",
            prints=_prints(lookup, "3") if ask == TEXT else {},
            ranked=False,
        )
        parts.append(pivot(frame, layout, row="ranker"))
    if not parts:
        raise Absent("no dataset was ranked by a few labels and without any")
    return joined(*parts)


def _performance(lookup: Lookup) -> pd.DataFrame:
    """Performance of every model, a column for each dataset: of the first read-out, the clean reading."""
    evidence = lookup.evidence
    frame = evidence.ranked
    first = {name: evidence.asks(name)[0] for name in evidence.datasets}
    frame = frame[frame["ask"] == frame["dataset"].map(first)]
    frame = frame.drop_duplicates(["dataset", "model"])
    wide = frame.pivot(index="model", columns="dataset", values="performance")
    labels = {k: v for k, v in columns(evidence.datasets, DATASETS).items() if k in wide.columns}
    return wide[list(labels)].rename(columns=labels)


def _pairs(lookup: Lookup) -> Built:
    wide = _performance(lookup)
    full = wide.dropna()
    if wide.shape[1] < 2 or len(full) < FEWEST:
        raise Absent("fewer than two datasets that three models answered")
    rho = wide.corr("spearman", min_periods=FEWEST)
    matrix = (
        rho.rename_axis("row")
        .rename_axis("column", axis=1)
        .stack()
        .rename("value")
        .reset_index()
        .assign(panel="")
    )
    names = list(wide.columns)
    # The paper shows three pairs: here the first dataset against those most and least like it, and the next.
    others = rho[names[0]].drop(names[0]).dropna().sort_values(ascending=False).index
    shown = list(dict.fromkeys([*others[:1], *others[-1:], *others]))[:3]
    if not shown:
        raise Absent(f"models do equally well on {names[0]}, or on all others")
    points = pd.concat(
        pd.DataFrame({"x": 100 * full[names[0]], "y": 100 * full[other], "series": "model"}).assign(
            panel=f"{other}, rho = {words.number(rho.at[names[0], other], 2)}"
        )
        for other in shown
    )
    outside = rho.where(~_diagonal(rho)).stack()
    said = (
        f"Spearman's rho between the performances on {words.plural(len(names), 'dataset')}: "
        f"{words.number(outside.min(), 2)} to {words.number(outside.max(), 2)}."
    )
    return Built(
        drawings=(
            Drawing(
                "tu-figure-2a",
                f"Fig. 2 (a): performance on other datasets against that on {names[0]}",
                f"Scatter plots of {words.plural(len(full), 'model')} with straight lines. {said}",
                charts.scatter(points, f"{names[0]} (%)", "Performance (%)", fit=True),
            ),
            Drawing(
                "tu-figure-2b",
                "Fig. 2 (b): correlation of performance between datasets",
                said,
                charts.heat(matrix),
            ),
        )
    )


def _diagonal(frame: pd.DataFrame) -> pd.DataFrame:
    same = [[row == column for column in frame.columns] for row in frame.index]
    return pd.DataFrame(same, index=frame.index, columns=frame.columns)


def _apart(lookup: Lookup) -> Built:
    """Figure 4: a point for each pair of datasets, a panel for pictures and one for questions."""
    frame = lookup.evidence.distances
    frame = frame.dropna(subset=["distance"]) if len(frame) else frame
    if frame.empty:
        raise Absent("needs distances between datasets, of which there are two at least")
    rho = _performance(lookup).corr("spearman", min_periods=FEWEST).stack()
    labels = columns(lookup.evidence.datasets, DATASETS)
    pairs = list(zip(frame["dataset"].map(labels), frame["other"].map(labels), strict=True))
    points = pd.DataFrame(
        {
            "x": frame["distance"],
            "y": [rho.get(pair) for pair in pairs],
            "series": "pair",
            "panel": frame["of"],
        }
    ).dropna()
    if points.empty:
        raise Absent("fewer than two datasets with distances that three models answered")
    said = "; ".join(
        f"{of}: {words.plural(len(part), 'pair')} of datasets at distances from "
        f"{words.number(part['x'].min(), 1)} to {words.number(part['x'].max(), 1)}"
        for of, part in points.groupby("panel")
    )
    title = "Fig. 4: distance of two datasets and how alike they order the models"
    chart = charts.scatter(points, "Fréchet distance", "Spearman's rho", fit=True)
    return Built(drawings=(Drawing("tu-figure-4", title, f"Scatter plot. {said}.", chart),))


def _not_here(reason: str, lookup: Lookup) -> Built:
    raise Absent(reason)


PAPER = Paper(
    "Ranked from Within: ranking large multimodal models without labels",
    "Tu et al. 2024 (Ranked from Within)",
    "Tables of the first version of the preprint. All correlations are with the performance of the clean "
    "reading; how each method works is in docs/ranking.md.",
    (
        Entry("Table 1", "How well each method orders the models, by dataset.", _methods),
        Entry(
            "Table 2",
            "The same for models of one recipe that differ in one part.",
            partial(
                _not_here, "needs the LLaVA-prismatic models, which are weights in a format that is not read"
            ),
        ),
        Entry("Table 3", "Fifty labelled questions against a method that needs none.", _few_labels),
        Entry("Figure 2", "How performance on one dataset tells that on another.", _pairs),
        Entry(
            "Figure 4",
            "Fréchet distance of two datasets and how alike they rank models.",
            _apart,
        ),
    ),
)

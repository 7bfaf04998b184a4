"""The datasets and methods of Tu et al. 2024; tables 1 and 3: how well methods order the models."""

from collections.abc import Sequence

import pandas as pd

from vouch.report import formatting
from vouch.report.reproduce import printed
from vouch.report.reproduce.entry import Absent, Built
from vouch.report.reproduce.lookup import MEAN as AVERAGE
from vouch.report.reproduce.lookup import Lookup, Measure, columns, own, with_mean
from vouch.report.reproduce.pivot import Key, Layout, Print, pivot
from vouch.report.reproduce.tables import joined
from vouch.tables.prompts import LETTERS, LIKELIHOOD, OUTPUTS, TEXT
from vouch.tables.rankings import FEW_LABELS, MEAN

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
    "sample_bert_expanded": "Sample*_BERT",
    "atc": "ATC",
}
OURS = {
    "confidence": "Confidence of the option",
    "entropy": "Entropy of the options",
    "gap": "Gap between two options",
    "sample_cosine": "Cosine of samples",
    "agreement": "Samples that agree",
    "set_size": "Set size",
    "certainty": "Certainty",
    "combined": "All of these",
}
MEASURES = (
    Measure("rho", "rho", scale=1, only="clean"),
    Measure("tau", "tau_paper", scale=1, only="clean"),
)
NOUN = {LETTERS: "of letters", LIKELIHOOD: "of likelihoods", TEXT: "of generated texts"}


def _long(lookup: Lookup, output: str, rankers: Sequence[str]) -> pd.DataFrame:
    """The correlations of some rankers for a output, in the columns that tables are made of."""
    frame = lookup.evidence.rankings
    frame = frame[(frame["output"] == output) & (frame["models"] >= FEWEST) & frame["proxy"].isin(("", MEAN))]
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


def _printed(lookup: Lookup, table: str) -> dict[Key, Print]:
    frame = lookup.evidence.printed.get("tu_tables")
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


def methods(lookup: Lookup) -> Built:
    """Table 1, one for each output; the paper's is that of generated texts."""
    parts = []
    for output in (TEXT, *(output for output in OUTPUTS if output != TEXT)):
        frame = _long(lookup, output, [*METHODS, *OURS])
        if frame.empty:
            continue
        over = tuple(
            name for name in own(lookup.evidence.datasets, DATASETS) if name in set(frame["dataset"])
        )
        cells = _printed(lookup, "1") if output == TEXT else {}
        layout = Layout(
            f"tu-table-1-{output}",
            f"Table 1: rankings {NOUN[output]}",
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
        f"{formatting.plural(models, 'model')}; "
        "intervals of rho over other questions. Published: their 30 models."
    )
    return Built(built.grids, built.drawings, (*built.sentences, said))


def few_labels(lookup: Lookup) -> Built:
    """Table 3."""
    rows = {"nll_min": "NLL_min", "confidence": "Confidence of the option", FEW_LABELS: "50 labels"}
    parts = []
    for output in OUTPUTS:
        frame = _long(lookup, output, list(rows))
        frame = frame[frame["measure"] == 0]
        if FEW_LABELS not in set(frame["ranker"]) or frame["ranker"].nunique() < 2:
            continue
        layout = Layout(
            f"tu-table-3-{output}",
            f"Table 3: a few labels against none, {NOUN[output]}",
            MEASURES[:1],
            rows,
            columns(lookup.evidence.datasets, DATASETS),
            row="Method",
            prints=_printed(lookup, "3") if output == TEXT else {},
            ranked=False,
        )
        parts.append(pivot(frame, layout, row="ranker"))
    if not parts:
        raise Absent("no dataset was ranked by a few labels and without any")
    return joined(*parts)

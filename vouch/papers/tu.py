"""Tu et al. 2024, Ranked from Within: finding the best model without labels."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from vouch.metrics.comparison.rankers import RANKERS
from vouch.papers import charts
from vouch.papers.entry import MEAN as AVERAGE
from vouch.papers.entry import (
    Absent,
    Built,
    Entry,
    Lookup,
    Measure,
    Paper,
    absent,
    figure,
    joined,
    names_in,
    with_mean,
)
from vouch.papers.pivot import Layout, pivot
from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.tables.asked import LETTERS, LIKELIHOOD, OUTPUTS, TEXT, TEXT_TOKENS
from vouch.tables.results import COMBINED, FEW_LABELS, MEAN

FEWEST = 3
"""The fewest models for a correlation: two models are merely in the correct order or not."""
DATASETS = names_in("tu", "datasets")
# ranker -> the paper's method, in its order; then rankers that are not in the paper
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
# ATC exactly as the paper prints it, which is not a separate method
_LITERAL = "atc_literal"
OURS = {name: each.label for name, each in RANKERS.items() if name not in (*METHODS, _LITERAL)}
OURS |= {COMBINED: "All of these"}
LABELS = {name: (METHODS | OURS)[name] for name in ("nll_min", "confidence")} | {FEW_LABELS: "50 labels"}
MEASURES = (Measure("rho", "rho", scale=1, only="clean"), Measure("tau", "tau_paper", scale=1, only="clean"))
NOUN = {TEXT: "of generated texts", LETTERS: "of letters", LIKELIHOOD: "of likelihoods"}


def _correlations(lookup: Lookup, output: str, rankers: Mapping[str, str]) -> pd.DataFrame:
    """The correlations of these rankers for an output, in the columns that `pivot` takes."""
    frame = lookup.evidence.rankings
    frame = frame[(frame["output"] == output) & (frame["models"] >= FEWEST) & frame["proxy"].isin(("", MEAN))]
    frame = frame[frame["ranker"].isin(list(rankers))]
    # If there are several temperatures, only the first: the paper has one.
    frame = frame.sort_values("score", kind="stable").drop_duplicates(["dataset", "ranker"])
    rho = frame.assign(measure=0, value=frame["rho"], low=frame["rho_low"], high=frame["rho_high"])
    tau = frame.assign(measure=1, value=frame["tau_paper"])
    both = pd.concat([rho, tau], ignore_index=True).dropna(subset=["value"])
    return both.assign(model=both["ranker"], clean=both["value"])


def _table(
    lookup: Lookup, number: str, caption: str, output: str, rows: Mapping[str, str], frame: pd.DataFrame
) -> Built:
    """Methods by dataset; the published numbers, which are from texts, stand beside ours from texts."""
    whole = set(DATASETS) <= set(frame["dataset"])
    rankers = {label: name for name, label in rows.items()}
    printed = lookup.printed("tu_tables", table=number) if output == TEXT and _of_the_paper(lookup) else ()
    prints = {
        (index, rankers[row["method"]], AVERAGE if row["dataset"] == "mean" else row["dataset"]): row[name]
        for row in printed
        for index, name in enumerate(("rho", "tau"))
        if row["method"] in rankers and (whole or row["dataset"] != "mean")
    }
    columns = lookup.datasets(DATASETS) | {AVERAGE: AVERAGE}
    name = f"-{output}"
    return pivot(frame, Layout(caption, MEASURES, rows, columns, name, row="Method", prints=prints))


def _of_the_paper(lookup: Lookup) -> bool:
    """Whether all models are among the paper's; correlations of other models are not comparable."""
    facts = lookup.evidence.facts
    return all("tu" in facts.get(name, {}).get("papers", ()) for name in lookup.order)


def _capped(build: Callable[[Lookup], Built]) -> Callable[[Lookup], Built]:
    """Adds a sentence on the length of texts: NLL and entropy, of last tokens or as means, depend on it."""

    def built(lookup: Lookup) -> Built:
        extract = lookup.evidence.setup.get("extract", {})
        own = sorted(extract.get("max_tokens_of", {}).items())
        description = "".join(f", of {name} {most}" for name, most in own if name in lookup.order)
        most = extract.get("max_tokens", TEXT_TOKENS)
        cap = f"Texts have {most} tokens at most{description}, unless their prompt template says otherwise."
        found = build(lookup)
        return replace(found, sentences=(*found.sentences, cap))

    return built


def methods(lookup: Lookup) -> Built:
    """Table 1, one for each output; the paper has the one for generated texts."""
    parts = []
    for output, noun in NOUN.items():
        frame = _correlations(lookup, output, METHODS | OURS)
        if len(frame):
            frame = with_mean(frame, lookup.own(DATASETS))
            parts.append(_table(lookup, "1", f"rankings {noun}", output, METHODS | OURS, frame))
    built = joined(parts, "fewer than three models answered the same dataset")
    models = int(lookup.evidence.rankings["models"].max())
    description = (
        "Spearman's rho and the absolute weighted tau (as the authors define it) of "
        f"{formatting.plural(models, 'model')}; "
        "intervals of rho are over questions. "
        + (
            "Published: their 30 models, which include these."
            if _of_the_paper(lookup)
            else "Published numbers are compared with ours only if all models belong to the paper's series."
        )
    )
    return replace(built, sentences=(*built.sentences, description))


def few_labels(lookup: Lookup) -> Built:
    """Table 3, which has only rho."""
    parts = []
    for output in OUTPUTS:
        frame = _correlations(lookup, output, LABELS)
        frame = frame[frame["measure"] == 0]
        if FEW_LABELS in set(frame["ranker"]) and frame["ranker"].nunique() > 1:
            caption = f"a few labels against none, {NOUN[output]}"
            parts.append(_table(lookup, "3", caption, output, LABELS, frame))
    return joined(parts, "no dataset was ranked by a few labels and without any")


def _performance(lookup: Lookup) -> pd.DataFrame:
    """Every model's performance for the first output in the clean protocol, a column for each dataset."""
    evidence = lookup.evidence
    frame = evidence.ranked
    first = {name: evidence.outputs(name)[0] for name in evidence.datasets}
    frame = frame[frame["output"] == frame["dataset"].map(first)].drop_duplicates(["dataset", "model"])
    wide = frame.pivot(index="model", columns="dataset", values="performance")
    labels = {name: label for name, label in lookup.datasets(DATASETS).items() if name in wide.columns}
    return wide[list(labels)].rename(columns=labels)


def pairs(lookup: Lookup) -> Built:
    """Figure 2: scatter plots of a few pairs of datasets, and the correlations of all."""
    wide = _performance(lookup)
    full = wide.dropna()
    if wide.shape[1] < 2 or len(full) < FEWEST:
        raise Absent("fewer than two datasets that three models answered")
    rho = wide.corr("spearman", min_periods=FEWEST)
    outside = rho.where(~np.eye(len(rho), dtype=bool)).stack()
    description = (
        f"Spearman's rho between the performances on {formatting.plural(len(rho), 'dataset')}: "
        f"{formatting.number(outside.min(), 2)} to {formatting.number(outside.max(), 2)}."
    )
    matrix = rho.rename_axis("row").rename_axis("column", axis=1).stack().rename("value").reset_index()
    title = "correlation of performance between datasets"
    cells = figure(title, description, charts.heat(matrix.assign(panel="")), "(b)")
    return joined([_scatter(full, rho, description), cells])


def _scatter(full: pd.DataFrame, rho: pd.DataFrame, said: str) -> Built:
    """The paper shows three pairs; here, the first dataset with the most, least and second most similar one.

    full: performance of the models that have all datasets, a column for each dataset.
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
        f"performance on other datasets against that on {first}",
        f"Scatter plots of {formatting.plural(len(full), 'model')} with straight lines. {said}",
        charts.scatter(points, f"{first} (%)", "Performance (%)", fit=True),
        "(a)",
    )


def trends(evidence: Evidence) -> Iterator[str]:
    """A sentence for each kind of embedding and output: results of the stage `compare` for all pairs."""
    for row in evidence.trends.dropna(subset=["rho", "p"]).itertuples():
        yield (
            f"{row.of.capitalize()} and rankings by {formatting.OUTPUT_NAMES[row.output]}: Spearman's rho "
            f"{formatting.number(row.rho, 2)} over {formatting.plural(int(row.pairs), 'pair')} of datasets; "
            f"with datasets permuted (Mantel 1967) p is {formatting.p_value(row.p)}."
        )


def apart(lookup: Lookup) -> Built:
    """Figure 4: a point for each pair of datasets, one panel for images and one for questions."""
    frame = lookup.evidence.distances.dropna(subset=["distance"])
    if frame.empty:
        raise Absent("needs distances between datasets, of which there are two at least")
    rho = _performance(lookup).corr("spearman", min_periods=FEWEST).stack()
    labels = lookup.datasets(DATASETS)  # there are also distances for datasets that no model answered
    frame = frame[frame["dataset"].isin(labels) & frame["other"].isin(labels)]
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
    description = "; ".join(
        f"{of}: {formatting.plural(len(part), 'pair')} of datasets at distances from "
        f"{formatting.number(part['x'].min(), 1)} to {formatting.number(part['x'].max(), 1)}"
        for of, part in points.groupby("panel")
    )
    chart = charts.scatter(points, "Fréchet distance", "Spearman's rho", fit=True)
    title = "distance of two datasets and how alike they order the models"
    return replace(
        figure(title, f"Scatter plot. {description}.", chart), sentences=tuple(trends(lookup.evidence))
    )


PAPER = Paper(
    "tu",
    "Ranked from Within: ranking large multimodal models without labels",
    "Tu et al. 2024 (Ranked from Within)",
    "Tables of the first version of the preprint. All correlations are with the performance of the clean "
    "protocol; how each method works is in docs/ranking.md.",
    (
        Entry("Table 1", "How well each method orders the models, by dataset.", _capped(methods)),
        Entry(
            "Table 2",
            "The same for models of one recipe that differ in one part.",
            absent("needs the LLaVA-prismatic models, which only a driver can ask (docs/models.md)"),
        ),
        Entry("Table 3", "Fifty labelled questions against a method that needs none.", _capped(few_labels)),
        Entry("Figure 2", "How performance on one dataset predicts that on another.", _capped(pairs)),
        Entry("Figure 4", "Fréchet distance of two datasets and how alike they rank models.", _capped(apart)),
    ),
)

"""Tu et al. 2024, Ranked from Within: finding the best model without labels."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from vouch.metrics.comparison.rankers import RANKERS
from vouch.metrics.comparison.ranking import spearman, tau_as_printed, weighted_tau
from vouch.papers import charts
from vouch.papers.entry import MEAN as AVERAGE
from vouch.papers.entry import (
    Absent,
    Built,
    Entry,
    Lookup,
    Measure,
    Paper,
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
# uncertainties that the paper does not have, whose tau keeps its sign like their rho
_SIGNED = tuple(name for name in OURS if RANKERS[name].uncertainty)
OURS |= {COMBINED: "All of these"}
# The paper prints absolute correlations of these, whatever their sign.
ABSOLUTE = tuple(name for name, label in METHODS.items() if label.startswith(("NLL", "Ent")))
RECIPE_DATASETS = ("ai2d", "mmmu", "textvqa", "chartqa")
RECIPE_METHODS = ("accuracy_on_the_line", "nll_min", "nll_avg", "ent_max", "ent_avg", "sample_bleu", "atc")
"""The datasets and methods of table 2."""
PRISMATIC = "LLaVA-prismatic"
"""The family of the models of table 2, as `facts` of models.lock names it."""
WITHOUT_LABELS = ("nll_min", "confidence")
"""What table 3 holds a few labels against."""
MEASURES = (Measure("rho", "rho", scale=1, only="clean"), Measure("tau", "tau_paper", scale=1, only="clean"))
NOUN = {TEXT: "of generated texts", LETTERS: "of letters", LIKELIHOOD: "of likelihoods"}


def _correlations(lookup: Lookup, output: str, rankers: Iterable[str]) -> pd.DataFrame:
    """The correlations of these rankers for an output, in the columns that `pivot` takes.

    If models of table 2 are among others, only these others count, and there are no intervals.
    """
    if of_recipe := _left_out(lookup):
        return _among(lookup, output, rankers, set(lookup.order) - of_recipe)
    frame = lookup.evidence.rankings
    frame = frame[(frame["output"] == output) & (frame["models"] >= FEWEST) & frame["proxy"].isin(("", MEAN))]
    # If there are several temperatures, only the first: the paper has one.
    frame = frame[frame["ranker"].isin(list(rankers))].sort_values("score", kind="stable")
    frame = frame.drop_duplicates(["dataset", "ranker"])
    return _as_printed(frame.assign(low=frame["rho_low"], high=frame["rho_high"]))


def _as_printed(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of rho (measure 0) and of tau (1), absolute for ABSOLUTE alone; `signed` holds rho with its sign.

    frame: columns rho, its ends low and high, tau_paper, and tau if there are any of _SIGNED.
    """
    turned = frame["ranker"].isin(ABSOLUTE) & (frame["rho"] < 0)
    rho = frame.assign(
        measure=0,
        value=frame["rho"].mask(turned, -frame["rho"]),
        low=frame["low"].mask(turned, -frame["high"]),
        high=frame["high"].mask(turned, -frame["low"]),
        signed=frame["rho"],
    )
    signed = frame["ranker"].isin(_SIGNED)
    tau = frame["tau_paper"].mask(signed, frame["tau"]) if signed.any() else frame["tau_paper"]
    tau = frame.drop(columns=["low", "high"]).assign(measure=1, value=tau)
    both = pd.concat([rho, tau], ignore_index=True).dropna(subset=["value"])
    return both.assign(model=both["ranker"], clean=both["value"])


def _among(
    lookup: Lookup,
    output: str,
    rankers: Iterable[str],
    models: Collection[str],
    datasets: Collection[str] | None = None,
) -> pd.DataFrame:
    """`_correlations` among some of the models, without intervals; datasets: those to rank and those whose
    labels a method may use, None for all."""
    frame = lookup.evidence.ranked
    frame = frame[(frame["output"] == output) & frame["model"].isin(models) & frame["ranker"].isin(rankers)]
    frame = frame[frame["ranker"].isin(list(RANKERS))]  # a mean rank is among all models
    if datasets is not None:
        frame = frame[frame["dataset"].isin(datasets) & frame["proxy"].isin(("", *datasets))]
    rows = []
    for (dataset, ranker, score), part in frame.groupby(["dataset", "ranker", "score"], sort=True):
        for _, own in part.groupby("proxy"):
            values, performance = (own[name].to_numpy(float) for name in ("value", "performance"))
            if len(own) >= FEWEST:
                tau = float(weighted_tau(values, performance))
                printed = tau_as_printed(values, performance, RANKERS[str(ranker)].uncertainty)
                rows.append((dataset, ranker, score, float(spearman(values, performance)), tau, printed))
    keys, numbers = ["dataset", "ranker", "score"], ["rho", "tau", "tau_paper"]
    every = pd.DataFrame(rows, columns=[*keys, *numbers])
    means = every.groupby(keys, as_index=False)[numbers].mean()
    means = means.drop_duplicates(["dataset", "ranker"])
    return _as_printed(means.assign(low=np.nan, high=np.nan))


def _prismatic(lookup: Lookup) -> set[str]:
    facts = lookup.evidence.facts
    return {name for name in lookup.order if facts.get(name, {}).get("family") == PRISMATIC}


def _left_out(lookup: Lookup) -> set[str]:
    """The models of table 2 if there are others, whom all else is about (section 6)."""
    models = _prismatic(lookup)
    return models if models < set(lookup.order) else set()


def _turned(lookup: Lookup, frame: pd.DataFrame) -> tuple[str, ...]:
    """A sentence on the correlations whose sign the table leaves out; none if all are positive."""
    if "signed" not in frame:
        return ()
    labels = lookup.datasets(DATASETS)
    rows = frame[frame["signed"] < 0].drop_duplicates(["dataset", "ranker"]).itertuples()
    wrong = [
        f"{METHODS[row.ranker]} on {labels[row.dataset]} ({formatting.number(row.signed, 2)})"
        for row in rows
        if row.ranker in ABSOLUTE
    ]
    if not wrong:
        return ()
    return (
        "As in the paper, rho of NLL and Ent is printed without its sign. It is negative, so the order is "
        f"rather the reverse, for {formatting.listed(wrong, 99)}.",
    )


def _table(
    lookup: Lookup,
    number: str,
    caption: str,
    output: str,
    rows: Mapping[str, str],
    frame: pd.DataFrame,
    datasets: Collection[str] = tuple(DATASETS),
    models: Collection[str] | None = None,
) -> Built:
    """Methods by dataset; the published numbers, which are from texts, stand beside ours from texts.

    datasets: of the paper's table. models: that are ranked, None for all.
    """
    whole = set(datasets) <= set(frame["dataset"])
    rankers = {label: name for name, label in rows.items()}
    comparable = output == TEXT and _of_the_paper(lookup, models)
    printed = lookup.printed("tu_tables", table=number) if comparable else ()
    prints = {
        (index, rankers[row["method"]], AVERAGE if row["dataset"] == "mean" else row["dataset"]): row[name]
        for row in printed
        for index, name in enumerate(("rho", "tau"))
        if row["method"] in rankers and (whole or row["dataset"] != "mean")
    }
    columns = lookup.datasets(DATASETS) | {AVERAGE: AVERAGE}
    name = f"-{output}"
    return pivot(frame, Layout(caption, MEASURES, rows, columns, name, row="Method", prints=prints))


def _of_the_paper(lookup: Lookup, models: Collection[str] | None = None) -> bool:
    """Whether these models, by default all, are the paper's; correlations of others are not comparable."""
    facts = lookup.evidence.facts
    ranked = lookup.order if models is None else models
    return all("tu" in facts.get(name, {}).get("papers", ()) for name in ranked)


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
    parts, frames = [], []
    for output, noun in NOUN.items():
        frame = _correlations(lookup, output, METHODS | OURS)
        if len(frame):
            frames.append(frame)
            frame = with_mean(frame, lookup.own(DATASETS))
            parts.append(_table(lookup, "1", f"rankings {noun}", output, METHODS | OURS, frame))
    built = joined(parts, "fewer than three models answered the same dataset")
    models = int(lookup.evidence.rankings["models"].max())
    if left_out := _left_out(lookup):
        models = len(set(lookup.order) - left_out)
    description = (
        "Spearman's rho and the weighted tau (absolute for NLL and Ent, as the authors take them) of "
        f"{formatting.plural(models, 'model')}; "
        "intervals of rho are over questions. "
        + (
            "Published: their 30 models, which include these."
            if _of_the_paper(lookup)
            else "Published numbers are compared with ours only if all models belong to the paper's series."
        )
    )
    turned = _turned(lookup, pd.concat(frames, ignore_index=True))
    return replace(built, sentences=(*built.sentences, description, *turned))


def one_recipe(lookup: Lookup) -> Built:
    """Table 2: rho among the models of one recipe alone, on the four datasets of the paper."""
    models = _prismatic(lookup)
    if len(models) < FEWEST:
        raise Absent(f"needs three {PRISMATIC} models, which only their authors' program runs")
    here = lookup.evidence.datasets
    datasets = [name for name in RECIPE_DATASETS if name in here] or list(here)
    rows = {name: METHODS[name] for name in RECIPE_METHODS}
    frame = _among(lookup, TEXT, rows, models, datasets)
    frame = frame[frame["measure"] == 0]
    if frame.empty:
        raise Absent(f"fewer than three {PRISMATIC} models answered the same dataset in texts")
    turned = _turned(lookup, frame)
    frame = with_mean(frame, datasets)
    caption = f"rankings {NOUN[TEXT]}, {PRISMATIC} models"
    built = _table(lookup, "2", caption, TEXT, rows, frame, RECIPE_DATASETS, models)
    count = formatting.plural(len(models), f"{PRISMATIC} model")
    description = f"Spearman's rho of {count}; the paper has 15. AoL and ATC: mean over the other datasets."
    gaps = _gaps(lookup, models, datasets)
    return replace(built, sentences=(*built.sentences, description, gaps, *turned))


def _gaps(lookup: Lookup, models: Collection[str], datasets: Collection[str]) -> str:
    """A sentence on how far apart these models are in texts, as section 6 says it of two datasets."""
    frame = lookup.evidence.ranked
    frame = frame[(frame["output"] == TEXT) & frame["model"].isin(models) & frame["dataset"].isin(datasets)]
    own = frame.drop_duplicates(["dataset", "model"]).groupby("dataset")["performance"]
    gaps = own.max() - own.min()
    labels = lookup.datasets(DATASETS)
    shown = [f"{label} {formatting.percent(gaps[name])}" for name, label in labels.items() if name in gaps]
    return (
        f"Performance, the best model minus the worst: {formatting.listed(shown, 99)} "
        "(the paper: 4\N{NARROW NO-BREAK SPACE}% on AI2D, over 20\N{NARROW NO-BREAK SPACE}% on TextVQA)."
    )


def few_labels(lookup: Lookup) -> Built:
    """Table 3, which has only rho."""
    if _left_out(lookup):
        raise Absent(f"labels are drawn for all models together, and {PRISMATIC} models are among them")
    parts = []
    for output in OUTPUTS:
        frame = _correlations(lookup, output, (*WITHOUT_LABELS, FEW_LABELS))
        frame = frame[frame["measure"] == 0]
        labelled = frame.loc[frame["ranker"] == FEW_LABELS, "labels"]
        if len(labelled) and frame["ranker"].nunique() > 1:
            caption = f"a few labels against none, {NOUN[output]}"
            rows = {name: (METHODS | OURS)[name] for name in WITHOUT_LABELS}
            rows[FEW_LABELS] = f"{int(labelled.iloc[0])} labels"  # one number for all: `compare.labels`
            built = _table(lookup, "3", caption, output, rows, frame)
            parts.append(replace(built, sentences=(*built.sentences, *_turned(lookup, frame))))
    return joined(parts, "no dataset was ranked by a few labels and without any")


def _performance(lookup: Lookup) -> pd.DataFrame:
    """Every model's performance for the first output in the clean protocol, a column for each dataset.

    As in `_correlations`, models of table 2 count only if there are no others.
    """
    evidence = lookup.evidence
    frame = evidence.ranked
    if of_recipe := _left_out(lookup):
        frame = frame[~frame["model"].isin(of_recipe)]
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


def _scatter(full: pd.DataFrame, rho: pd.DataFrame, description: str) -> Built:
    """The paper shows some pairs; here, the first dataset with the most, least and second most similar one.

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
        f"Scatter plots of {formatting.plural(len(full), 'model')} with lines of robust regression (Huber). "
        f"{description}",
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


NEAREST = "nearest of a dataset"
"""The pairs that the paper stars: of each dataset with the one at the lowest distance."""


def nearest(frame: pd.DataFrame) -> pd.Series:
    """For each row, whether it is the nearest pair of one of its two datasets. frame: columns of, dataset,
    other and distance."""
    ends = [frame[["of", end, "distance"]].rename(columns={end: "end"}) for end in ("dataset", "other")]
    both = pd.concat([part.assign(row=frame.index) for part in ends], ignore_index=True)
    closest = both.loc[both.groupby(["of", "end"])["distance"].idxmin(), "row"]
    return pd.Series(frame.index.isin(closest), index=frame.index)


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
            "series": np.where(nearest(frame), NEAREST, "other pair"),
            "panel": frame["of"],
        }
    ).dropna()
    if points.empty:
        raise Absent("fewer than two datasets with distances that three models answered")
    description = "; ".join(_distances_in_words(str(of), part) for of, part in points.groupby("panel"))
    points = points.sort_values("series", key=lambda column: column == NEAREST, kind="stable")
    chart = charts.scatter(points, "Fréchet distance", "Spearman's rho", fit=True, starred=NEAREST)
    title = "distance of two datasets and how alike they order the models"
    sentences = list(trends(lookup.evidence))
    if sentences and _left_out(lookup):
        sentences.append(f"These correlations count {PRISMATIC} models; the points, as in Figure 2, do not.")
    return replace(figure(title, f"Scatter plot. {description}.", chart), sentences=tuple(sentences))


def _distances_in_words(of: str, part: pd.DataFrame) -> str:
    """`images: 3 pairs of datasets at distances from 1.0 to 2.0, nearest A and B (1.0)`."""
    low, high = (formatting.number(end, 1) for end in (part["x"].min(), part["x"].max()))
    starred = part[part["series"] == NEAREST].sort_values("x").itertuples()
    names = formatting.listed([f"{row.name} ({formatting.number(row.x, 1)})" for row in starred], 99)
    pairs = formatting.plural(len(part), "pair")
    return f"{of}: {pairs} of datasets at distances from {low} to {high}, starred {names}"


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
            _capped(one_recipe),
        ),
        Entry("Table 3", "Fifty labelled questions against a method that needs none.", _capped(few_labels)),
        Entry("Figure 2", "How performance on one dataset predicts that on another.", _capped(pairs)),
        Entry("Figure 4", "Fréchet distance of two datasets and how alike they rank models.", _capped(apart)),
    ),
)

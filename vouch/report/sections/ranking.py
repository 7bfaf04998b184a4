"""Ranking without labels: how well what models give away of themselves orders them."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.grid import MISSING, Cell, Column, Grid
from vouch.report.numbers import SIGNIFICANCE
from vouch.tables.prompts import OUTPUTS
from vouch.tables.rankings import COMBINED, FEW_LABELS, MEAN

TITLE = "Without labels"
FEWEST = 3
"""Two models are in the right order or not: that is no correlation."""
# ranker, label, what it is; in the order of the table
RANKERS = (
    ("nll_first", "NLL, first token", ""),
    ("nll_last", "NLL, last token", ""),
    ("nll_min", "NLL, worst token", "of the least probable token"),
    ("nll_avg", "NLL, mean", ""),
    ("ent_first", "Entropy, first token", ""),
    ("ent_last", "Entropy, last token", ""),
    ("ent_max", "Entropy, largest", ""),
    ("ent_avg", "Entropy, mean", ""),
    ("sample_bleu", "Samples, BLEU-1", "likeness to the greedy text"),
    ("sample_bert", "Samples, BERTScore", "likeness to the greedy text in a text encoder"),
    ("sample_bert_expanded", "Samples, BERTScore, spelled out", "letters with their option's text"),
    ("sample_cosine", "Samples, cosine", "of mean encodings, with the greedy text"),
    ("agreement", "Samples, agreement", "share that are the greedy text"),
    ("confidence", "Confidence", "probability of the chosen option"),
    ("entropy", "Entropy", "of the options"),
    ("gap", "Gap", "between the two best options"),
    (COMBINED, "All of these", "mean of their ranks"),
    ("set_size", "Set size", "threshold from another dataset"),
    ("certainty", "Certainty", "share of options ruled out, threshold from another dataset"),
    ("atc", "Thresholded confidence", "threshold from another dataset"),
    ("atc_literal", "The same, as printed", "counts the unsure items"),
    ("accuracy_on_the_line", "Other datasets", "performance there"),
    (FEW_LABELS, "A few labels", "mean over draws of labelled items ± its standard deviation"),
)


@dataclass(frozen=True)
class OutputRanking:
    """output: the output, in words. sentences: what so many models can say. rho, tau: rankers by datasets."""

    output: str
    sentences: tuple[str, ...]
    rho: Grid
    tau: Grid


def build(evidence: Evidence) -> tuple[OutputRanking, ...]:
    """One part per output on which three models or more are ranked."""
    frame = evidence.rankings
    frame = frame[(frame["models"] >= FEWEST) & frame["proxy"].isin(("", MEAN))]
    ranked = evidence.ranked
    ranked = ranked[(ranked["ranker"] == COMBINED) & (ranked["score"] == "")]
    found = [
        (output, frame[frame["output"] == output], ranked[ranked["output"] == output]) for output in OUTPUTS
    ]
    return tuple(_part(output, here, picked) for output, here, picked in found if len(here))


def _part(output: str, here: pd.DataFrame, ranked: pd.DataFrame) -> OutputRanking:
    grids = [
        Grid(
            f"ranking-{output}-{name}",
            f"{formatting.OUTPUT_NAMES[output]}: {title}",
            _columns(here, help),
            _rows(here, name),
        )
        for name, title, help in (
            ("rho", "Spearman's rho with performance", "Spearman's rho, 95\u202f% interval over items"),
            ("tau", "weighted Kendall's tau with performance", "weighted tau, 95\u202f% interval over items"),
        )
    ]
    return OutputRanking(formatting.OUTPUT_NAMES[output], (*_pick(ranked), *_sentences(here)), *grids)


def _pick(ranked: pd.DataFrame) -> tuple[str, ...]:
    """Which model the signals together would take for the best, and on how many datasets it is."""
    datasets: dict[str, list[str]] = {}
    right = 0
    for dataset, group in ranked.groupby("dataset"):
        first = group[group["rank"] == 1]
        datasets.setdefault(formatting.listed(sorted(first["model"])), []).append(str(dataset))
        right += bool((first["performance"] == group["performance"].max()).all())
    if not datasets:
        return ()
    where = [
        who if len(datasets) == 1 else f"{who} on {formatting.listed(names)}"
        for who, names in datasets.items()
    ]
    of = sum(map(len, datasets.values()))
    return (
        f"All of these signals together would pick {'; '.join(where)}. With labels that is the best on "
        f"{formatting.count(right)} of {formatting.plural(of, 'dataset')}.",
    )


def _sentences(here: pd.DataFrame) -> tuple[str, ...]:
    models = int(here["models"].max())
    tested = here[here["p"].notna()]
    if tested.empty:
        return (f"{formatting.plural(models, 'model')} are ranked.",)
    least = float(tested["p_least"].min())
    told = int((tested["p"] < SIGNIFICANCE).sum())
    said = [
        f"{formatting.plural(models, 'model')} are ranked; no order of them can have a p below {_p(least)}.",
    ]
    if least >= SIGNIFICANCE:
        said.append("Not even a perfect order can be told from chance: the numbers are an illustration.")
    else:
        said.append(
            f"{formatting.count(told)} of {formatting.plural(len(tested), 'correlation')} without a proxy have "
            f"p < {SIGNIFICANCE:g}, uncorrected."
        )
    return tuple(said)


def _p(value: float) -> str:
    return formatting.number(value, 3) if value >= 0.001 else "0.001"


def _columns(here: pd.DataFrame, help: str) -> list[Column]:
    datasets = sorted(here["dataset"].unique())
    mean = [Column("Mean", "over the datasets", True)] if len(datasets) > 1 else []
    return [Column("Ranker"), *(Column(dataset, help, True) for dataset in datasets), *mean]


def _rows(here: pd.DataFrame, name: str) -> list[list[Cell]]:
    datasets = sorted(here["dataset"].unique())
    rows = []
    for ranker, label, note in RANKERS:
        of_ranker = here[here["ranker"] == ranker]
        for score in sorted(of_ranker["score"].unique()):
            own = of_ranker[of_ranker["score"] == score].set_index("dataset")
            cells = [
                _cell(own.loc[dataset], name) if dataset in own.index else MISSING for dataset in datasets
            ]
            title = f"{label} at {score.removeprefix('t')}" if score else label
            rows.append([Cell(title, note), *cells, *_mean(own[name], len(datasets))])
    return rows


def _cell(row: pd.Series, name: str) -> Cell:
    value, low, high = (row[key] for key in (name, f"{name}_low", f"{name}_high"))
    if pd.isna(value):
        return MISSING
    if not pd.isna(low):
        note = formatting.span(low, high, 2)
    else:
        note = f"± {formatting.number(row['sd'], 2)}" if name == "rho" and not pd.isna(row["sd"]) else ""
    surely = not pd.isna(row["p"]) and row["p"] < SIGNIFICANCE
    return Cell(formatting.number(value, 2), note, float(value), tone="strong" if surely else "")


def _mean(values: pd.Series, datasets: int) -> Sequence[Cell]:
    """Nothing where there is one dataset; a dash where a dataset has no value."""
    if datasets < 2:
        return ()
    if len(values) < datasets or values.isna().any():
        return (MISSING,)
    return (Cell(formatting.number(float(values.mean()), 2), key=float(values.mean())),)

"""Kostumov et al. 2024: conformal sets of 26 models on five multiple-choice benchmarks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import pandas as pd

from vouch.metrics.comparison.leaderboard import NAMES
from vouch.papers import charts
from vouch.papers.entry import MEAN, Absent, Built, Entry, Lookup, Measure, Paper, figure, names_in, with_mean
from vouch.papers.pivot import Key, Layout, by_dataset, pivot, rounded
from vouch.report import formatting

DATASETS = names_in("kostumov", "datasets")
SEVENTH = names_in("kostumov", "models_vii")
"""The models of table VII."""
TEN = names_in("kostumov", "models")
"""The models of tables I to VI."""
# category of the dataset -> heading of the column
SEED = {
    "Scene Understanding": "SU",
    "Instance Identity": "II",
    "Instance Attributes": "IL",
    "Instance Location": "IA",
    "Instances Counting": "IC",
}
EXCHANGED = (
    "The paper's IL (Instance Location) are SEED-Bench's questions on attributes, its IA (Instance "
    "Attributes) those on location: it has the names of SEED-Bench's first page, which exchanged the two."
)
SITUATIONS = {
    "weather": "W",
    "context": "Con",
    "occlusion": "Occ",
    "iid": "IID",
    "texture": "Txt",
    "shape": "Shape",
    "pose": "Pose",
}


HEADS = DATASETS | {MEAN: "Avg"}
FEWEST = 3
"""The fewest models for a correlation."""
SHARES = "_calibrated_on_"
"""What stands between a metric and a calibration share in a metric's name."""


def sets(score: str) -> tuple[Measure, ...]:
    """The measures of tables I and III to VI. score: that of the sets; `mean` is the mean of LAC and APS."""
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
    prints = _released(lookup, measures)
    prints |= _printed(lookup, "kostumov", number, measures, models, HEADS)
    layout = Layout(
        caption, measures, lookup.models(models), {}, peers=tuple(models), prints=prints, ranked=True
    )
    built = by_dataset(lookup, lookup.long(measures), DATASETS, layout)
    if not any(measure.better for measure in measures):
        return built
    description = "Ranks in brackets compare the rounded numbers, and ties share a rank, as in the paper."
    if 0 < len(set(lookup.order) & set(models)) < len(lookup.order):
        description = "Ranks in brackets compare only the models of the paper's table, as in the paper."
    return replace(built, sentences=(*built.sentences, description))


def _printed(
    lookup: Lookup,
    file: str,
    number: str,
    measures: Sequence[Measure],
    models: Mapping[str, str],
    heads: Mapping[str, str],
) -> dict[Key, str]:
    """The paper's cells of one of its tables. heads: our column -> the file's."""
    places = {measure.metric: index for index, measure in enumerate(measures)}
    ours = {label: name for name, label in models.items()}
    return {
        (places[row["metric"]], ours[row["model"]], column): row[label]
        for row in lookup.printed(file, table=number)
        for column, label in heads.items()
        if label in row
    }


def _released(lookup: Lookup, measures: Sequence[Measure]) -> dict[Key, str]:
    """The authors' released numbers for 26 models (ten are printed), rounded as in print: from the tables of
    their repository or, if available, from the tables that come with our own data of a dataset."""
    places = {(measure.score, measure.metric): index for index, measure in enumerate(measures)}
    rows = [
        (places.get((row["score"], row["metric"])), row["model"], column, float(row[label]))
        for row in lookup.printed("kostumov_released")
        for column, label in HEADS.items()
    ]
    frame = lookup.evidence.reproduced
    keys = (places.get(NAMES[metric]) for metric in frame["metric"])
    rows += zip(keys, frame["model"], frame["dataset"], frame["published"], strict=True)
    return {
        (index, model, column): rounded(value, measures[index])
        for index, model, column, value in rows
        if index is not None
    }


def categories(
    dataset: str,
    title: str,
    most: int,
    number: str,
    labels: Mapping[str, str],
    lookup: Lookup,
    note: Sequence[str] = (),
) -> Built:
    """Table I by category of one dataset, for its `most` largest categories, each scored by itself. note:
    sentences on the names of categories."""
    evidence = lookup.evidence
    if dataset not in evidence.datasets:
        raise Absent(f"no {title} among the datasets")
    sizes = evidence.items.loc[evidence.items["dataset"] == dataset, "category"].value_counts()
    chosen = sorted(sizes.index, key=lambda name: (-sizes[name], name))[:most]
    chosen = [name for name in labels if name in chosen] + [name for name in chosen if name not in labels]
    measures = sets("mean")
    frame = pd.concat(
        lookup.long([replace(measure, category=name) for measure in measures], [dataset]).assign(dataset=name)
        for name in chosen
    )
    heads = {name: labels.get(name, name) for name in chosen}
    layout = Layout(
        f"{title} by category, mean of LAC and APS",
        measures,
        lookup.models(TEN),
        heads | {MEAN: MEAN},
        peers=tuple(TEN),
        prints=_printed(lookup, f"kostumov_{dataset}", number, measures, TEN, heads | {MEAN: "Avg"}),
        ranked=True,
    )
    built = pivot(with_mean(frame, chosen), layout)
    return replace(built, sentences=(*built.sentences, *note))


def errors_and_sizes(lookup: Lookup) -> Built:
    """Section VI-D: do calibration errors order the models as set sizes and accuracies do? By dataset and on
    average."""
    measures = (sets("mean")[2], *CALIBRATION, sets("mean")[1])
    frame = with_mean(lookup.long(measures, lookup.own(DATASETS)), lookup.own(DATASETS))
    wide = frame.pivot(index=["dataset", "model"], columns="measure", values="value")
    wide = wide.reindex(columns=range(len(measures))).dropna(subset=[0, 1, 2])
    labels = lookup.datasets(DATASETS) | {MEAN: MEAN}
    by_dataset = sorted(wide.groupby(level="dataset"), key=lambda part: list(labels).index(part[0]))
    groups = [
        (labels[name], group)
        for name, group in by_dataset
        if len(group) >= FEWEST and (group[[0, 1, 2]].nunique() > 1).all()
    ]
    if not groups:
        raise Absent("fewer than three models differ in set size and calibration errors on one dataset")
    sentences = [f"Spearman's rho with set size (mean of LAC and APS) over the models: {_alike(groups, 0)}."]
    if alike := _alike(groups, 3):
        sentences.append(f"With accuracy: {alike}.")
    means = "; ".join(
        f"{name} {' and '.join(formatting.number(100 * group[place].mean(), 2) for place in (1, 2))}"
        for name, group in groups
    )
    sentences.append(f"Mean ECE and MCE of the models in per cent: {means}.")
    points = [
        pd.DataFrame(
            {"name": group.index.get_level_values("model"), "x": group[0], "y": 100 * group[1]}
        ).assign(series="model", panel=name)
        for name, group in groups
    ]
    chart = charts.scatter(pd.concat(points), "Set size", "ECE (%)", fit=True)
    return figure("calibration error against set size", " ".join(sentences), chart)


def _alike(groups: Sequence[tuple[str, pd.DataFrame]], other: int) -> str:
    """Spearman's rho of ECE (column 1) and MCE (2) with another column, where that one differs."""
    return "; ".join(
        f"{name} "
        + " and ".join(
            f"{measure.label} {formatting.number(group[other].corr(group[place], 'spearman'), 2)}"
            for place, measure in enumerate(CALIBRATION, start=1)
        )
        for name, group in groups
        if group[other].count() >= FEWEST and group[other].nunique() > 1
    )


def shares(lookup: Lookup) -> Built:
    """Section VI-E: coverage and set size by the share of the questions that calibrates."""
    evidence, measures = lookup.evidence, (sets("mean")[0], replace(sets("mean")[2], better=""))
    half = f"{100 * evidence.scoring.calibration:g}"
    every = {name.rpartition("_")[2] for name in evidence.headlines["metric"].unique() if SHARES in name}
    known = sorted(every - {half}, key=float)
    own = lookup.own(DATASETS)

    def of(share: str) -> pd.DataFrame:
        end = f"{SHARES}{share}" if share else ""
        asked = [replace(measure, metric=f"{measure.metric}{end}") for measure in measures]
        whole = with_mean(lookup.long(asked, own), own)
        whole = whole[whole["dataset"] == (MEAN if MEAN in set(whole["dataset"]) else own[0])]
        return whole.assign(dataset=share, low=float("nan"), high=float("nan"))

    frame = pd.concat([of(share) for share in (*known, "")], ignore_index=True)
    if set(frame["dataset"]) <= {""}:
        raise Absent("sets of no other calibration share were computed (score.shares)")
    columns = {share: f"{share or half}{formatting.NARROW}%" for share in (*known, "")}
    values = frame["value"].fillna(frame["clean"]).groupby([frame["measure"], frame["model"]])
    most = (values.max() - values.min()).groupby("measure").max()
    description = (
        f"Means over {formatting.plural(len(own), 'dataset')}. Between the shares, a model's coverage "
        f"differs by at most {formatting.number(100 * most[0], 2)} points, its set size by at most "
        f"{formatting.number(most[1], 2)}."
    )
    layout = Layout("coverage and set size by calibration share", measures, lookup.models(TEN), columns)
    return replace(pivot(frame, layout), sentences=(description,))


def family(title: str, models: Sequence[str], lookup: Lookup) -> Built:
    """Figures 3 to 8: bars of accuracy, set size and UAcc by dataset, for the models of one family."""
    here = [name for name in models if name in lookup.order]
    if len(here) < 2:
        raise Absent("fewer than two models of the family that it compares")
    measures = sets("mean")[1:]
    frame = lookup.long(measures, lookup.own(DATASETS))
    frame = frame[frame["model"].isin(here)].dropna(subset=["value"])
    if frame.empty:
        raise Absent("nothing of this was measured")
    heads = [f"{measure.label}{' (%)' if measure.scale > 1 else ''}" for measure in measures]
    shown = pd.DataFrame(
        {
            "series": frame["model"].map(SEVENTH),
            "group": frame["dataset"].map(lookup.datasets(DATASETS)),
            "panel": frame["measure"].map(dict(enumerate(heads))),
            "value": frame["value"] * frame["measure"].map(lambda place: measures[place].scale),
            "place": frame["model"].map(here.index),
        }
    ).sort_values(["place", "panel", "group"])
    description = "; ".join(
        f"{row.series} {row.panel} {formatting.number(row.value, 2)} on {row.group}"
        for row in shown[shown["panel"] == "SS"].itertuples()
    )
    return figure(title, f"Bars. {description}.", charts.bars(shown))


# Number of the figure, the models' common feature, the models.
FAMILIES = (
    (3, "LLaVA-v1.6 of three sizes", ("llava_v1_6_vicuna_7b", "llava_v1_6_vicuna_13b", "llava_v1_6_34b")),
    (4, "Qwen-VL and its chat version", ("qwen_vl", "qwen_vl_chat")),
    (5, "MobileVLM-V2 of three sizes", ("mobilevlm_v2_1_7b", "mobilevlm_v2_3b", "mobilevlm_v2_7b")),
    (6, "Yi-VL of two sizes", ("yi_vl_6b", "yi_vl_34b")),
    (7, "Monkey and its chat version", ("monkey", "monkey_chat")),
    (8, "InternLM-XComposer2 and its chat version", ("internlm_xcomposer2_7b", "internlm_xcomposer2_vl_7b")),
)
PAPER = Paper(
    "kostumov",
    "Uncertainty-aware evaluation for vision-language models",
    "Kostumov et al. 2024",
    "Sets at a 10 % error rate, calibrated on one half of the questions and scored on the other; in per "
    "cent, except set sizes.",
    (
        Entry(
            "Table I",
            "Coverage, accuracy, set size and UAcc by dataset, sets being the mean of LAC and APS.",
            partial(table, "I", "mean of LAC and APS", sets("mean"), TEN),
        ),
        Entry(
            "Table II",
            "Calibration errors by dataset.",
            partial(table, "II", "ECE and MCE", CALIBRATION, TEN),
        ),
        Entry("Table III", "Table I with LAC alone.", partial(table, "III", "LAC", sets("lac"), TEN)),
        Entry("Table IV", "Table I with APS alone.", partial(table, "IV", "APS", sets("aps"), TEN)),
        Entry(
            "Table V",
            "Table I by the five largest tasks of SEED-Bench.",
            partial(categories, "seedbench", "SEED-Bench", 5, "V", SEED, note=[EXCHANGED]),
        ),
        Entry(
            "Table VI",
            "Table I by the situations of OODCV-VQA.",
            partial(categories, "oodcv", "OODCV-VQA", 7, "VI", SITUATIONS),
        ),
        Entry(
            "Table VII",
            "How often models choose E (I don't know) and F (none of the above), which are never correct.",
            partial(table, "VII", "E and F rates", EXTRA, SEVENTH),
        ),
        *(
            Entry(
                f"Figure {number}",
                f"{title}: accuracy, set size and UAcc by dataset.",
                partial(family, title, models),
            )
            for number, title, models in FAMILIES
        ),
        Entry(
            "Section VI-D",
            "Whether calibration errors are correlated with set sizes and with accuracy over the models.",
            errors_and_sizes,
        ),
        Entry(
            "Section VI-E",
            "Coverage and set size, mean of LAC and APS, if fewer questions calibrate.",
            shares,
        ),
    ),
)

"""Schmalfuss et al. 2025, PARC: how sensitive models are to the prompt, and how far to rely on them.

This file has the figures and the paper; parc_tables.py has the numbers by dataset and the tables.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from vouch.metrics.robustness import reliability
from vouch.papers import charts
from vouch.papers import parc_tables as tables
from vouch.papers.entry import (
    UNSIZED,
    Absent,
    Built,
    Entry,
    Lookup,
    Measure,
    Paper,
    figure,
    joined,
    series,
    size,
)
from vouch.report import formatting
from vouch.tables.asked import FAMILIES, ORIGINAL

ALIKE = (6_500_000_000, 8_500_000_000)
"""Numbers of parameters of language models that the paper counts as 7B or 8B: from and to."""
UNCOMPARED = (
    "qwen_vl_chat",
    "llava_v1_6_mistral_7b",
    "cogagent_vqa_hf",
    "cogvlm_grounding_generalist_hf",
)
"""Models of that size that the right half of figure 5 leaves out: it has one of each family of the paper."""
UNTOLD = (
    "Its right half needs two models with language models of 7 or 8 billion parameters and different numbers "
    "of training samples on record."
)
GROUPS = {tables.EVERY: "all", "language": "language", "vision": "vision"}
ALL = {tables.EVERY: "all"}
BALANCED = "mean of the balanced datasets"
LANGUAGE = "language_model_parameters"
SIZES = {"total_parameters": "model", LANGUAGE: "language model"}
"""Facts about models, and what they are the size of."""
CALIBRATED = ("mmbench", "nyu_depth")
"""The datasets of figure 3."""
WHOLE = (-1.0, 1.0)
"""The range of calibrated scores."""
ACCURACY, CERTAINTY = map(np.ravel, np.meshgrid(*[np.round(np.linspace(0, 1, 11), 1)] * 2))
"""The points of the planes of figures 2 and A6."""


def _reliability(random: float) -> np.ndarray:
    """(2 a^m - 1) c with m = log 2 / log(1 / random): equation 4 with its calibration."""
    return reliability(ACCURACY, np.full_like(ACCURACY, random), CERTAINTY)


def _planes(title: str, description: str, planes: Mapping[str, np.ndarray]) -> Built:
    """Planes of quantities that depend only on accuracy and certainty."""
    points = pd.DataFrame({"x": ACCURACY, "y": CERTAINTY})
    parts = [points.assign(value=np.round(value, 3), panel=panel) for panel, value in planes.items()]
    return figure(title, description, charts.surface(pd.concat(parts), "Accuracy", "Certainty"))


def mapping(lookup: Lookup) -> Built:
    """Figure 2: for a guess between two options, and for the dataset here that is hardest to guess."""
    guess = lookup.rows("random_accuracy")
    known = guess.loc[(guess["variation"] == ORIGINAL) & (guess["value"] > 0), "value"]
    least = round(float(known.min()), 2) if len(known) else 0.27
    guesses = (0.5, least if least < 0.5 else 0.27)
    planes = {f"guess {formatting.number(random, 2)}": _reliability(random) for random in guesses}
    description = (
        "Reliability is 1 if certain and correct, −1 if certain and wrong, 0 if uncertain or guessing."
    )
    drawn = _planes("from accuracy and certainty to reliability", description, planes)
    try:
        return joined([drawn, tables.guarantees(lookup)])
    except Absent:
        return drawn


def against_uacc(_: Lookup) -> Built:
    """Figure A6: reliability beside UAcc (equations 7 and 8) for 4 and for 16 options."""
    planes = {"Reliability, guess 0.50": _reliability(0.5)}
    for options in (4, 16):
        uacc = ACCURACY * options**0.5 / (1 + (1 - CERTAINTY) * (options - 1))
        planes[f"UAcc, {options} options: 0 to {formatting.number(uacc.max(), 0)}"] = uacc
    description = (
        "UAcc is never negative; its maximum is 2 for 4 options and 4 for 16. The colours of each plane go "
        "to its own maximum."
    )
    return _planes("reliability and UAcc", description, planes)


def _balanced(lookup: Lookup) -> list[str]:
    """The paper's datasets on which a guess is right as often on negated questions as on original ones."""
    guess = lookup.rows("random_accuracy").groupby(["dataset", "variation"])["value"].mean().unstack()
    both = guess.reindex(columns=[ORIGINAL, "ls_n"])
    alike = both.index[np.isclose(both[ORIGINAL], both["ls_n"])]
    return [name for name in lookup.own(tables.DATASETS) if name in alike]


def calibration(average: bool, lookup: Lookup) -> Built:
    """Figures 3 and A7: accuracy on original and negated questions, before and after calibration, on MMBench
    and NYU-Depth or, without them, on the datasets that are hardest and easiest to guess.

    average: also the mean over the balanced datasets.
    """
    if "ls_n" not in tables.asked_kinds(lookup):
        raise Absent("needs the variation ls_n")
    measures = [
        Measure(label, metric, scale=1, variation=variation)
        for metric, label in (("accuracy", "before"), ("accuracy_calibrated", "after"))
        for variation in (ORIGINAL, "ls_n")
    ]
    every = tables.long(lookup, measures)
    every = every[every["dataset"].isin(every.loc[every["measure"] == 1, "dataset"])]
    if every.empty:
        raise Absent("no accuracy on negated questions")
    ordered = sorted(set(every["dataset"]), key=lambda name: (lookup.evidence.chance(name), name))
    theirs = set(CALIBRATED) <= set(ordered)
    chosen = CALIBRATED if theirs else (ordered[0], ordered[-1])
    labels = lookup.datasets(tables.DATASETS)
    frame = every[every["dataset"].isin(chosen)]
    frame = frame.assign(where=frame["dataset"].map(labels))
    if average:
        balanced = every[every["dataset"].isin(_balanced(lookup))]
        mean = tables.over_sets(balanced, ["measure", "model"])
        frame = pd.concat([frame, mean.assign(where=BALANCED)], ignore_index=True)
    frame = lookup.in_order(frame, ["where", "measure", "model"])
    dots = pd.DataFrame(
        {
            "row": frame["model"],
            "value": frame["value"],
            "series": np.where(frame["measure"] % 2 == 0, "O", "LS-N"),
            "panel": frame["where"] + ", " + frame["measure"].map(lambda place: measures[place].label),
        }
    ).dropna()
    means = dots.groupby(["panel", "series"], sort=False)["value"].mean()
    description = "; ".join(
        f"{panel} {name} {formatting.number(mean, 2)}" for (panel, name), mean in means.items()
    )
    hard = "the datasets that are hardest and easiest to guess"
    where = formatting.listed([labels[name] for name in CALIBRATED]) if theirs else hard
    title = f"what calibration does, on {where}"
    title += f", and the {BALANCED}" if average else ""
    return figure(title, f"Mean over the models: {description}.", charts.dots(dots, "Accuracy"))


def families(lookup: Lookup) -> Built:
    """Figure 4: consistency by family, with a separate panel for datasets of image pairs."""
    measures = [Measure(name, "consistency_calibrated", name, scale=1, variation="") for name in FAMILIES]
    frame = tables.of_own(lookup, tables.long(lookup, measures))
    if frame.empty:
        raise Absent(tables.UNCHANGED)
    paired = set(frame.loc[frame["measure"] == 3, "dataset"])
    where = frame["dataset"].isin(paired).map({True: "pairs of images", False: "one image"})
    mean = tables.over_sets(frame.assign(panel=where), ["measure", "panel", "model"])
    mean = lookup.in_order(mean, ["measure", "panel", "model"]).rename(columns={"model": "row"})
    dots = mean.assign(series=mean["measure"].map(dict(enumerate(FAMILIES)))).drop(columns="measure")
    means = dots.groupby(["panel", "series"])["value"].mean()
    description = "; ".join(
        f"{panel}, {name}: {formatting.number(mean, 2)}" for (panel, name), mean in means.items()
    )
    chart = charts.dots(dots, "Consistency, calibrated", ("guess", 0.0))
    title = "consistency by family of changes, mean over the datasets"
    return figure(title, f"Mean over the models: {description}.", chart)


def _two(lookup: Lookup, groups: Mapping[str, str]) -> pd.DataFrame:
    """model, group, reliability, consistency: means over the paper's datasets. groups: score -> group."""
    parts = []
    for score, label in groups.items():
        measures = [
            Measure(metric, metric, score, scale=1, variation="")
            for metric in ("reliability", "consistency_calibrated")
        ]
        frame = tables.of_own(lookup, tables.long(lookup, measures))
        wide = tables.over_sets(frame, ["measure", "model"]).pivot(
            index="model", columns="measure", values="value"
        )
        wide = wide.reindex(columns=[0, 1]).dropna().set_axis(["reliability", "consistency"], axis=1)
        parts.append(wide.reset_index().assign(group=label))
    frame = pd.concat(parts, ignore_index=True)
    if frame.empty:
        raise Absent(tables.UNCHANGED)
    return frame


def _by_size(groups: Mapping[str, str], key: str, part: str, lookup: Lookup) -> Built:
    """groups: score -> heading of a group of changes. key: of SIZES. part: of the figure."""
    wide = _two(lookup, groups).pivot(index="model", columns="group")
    wide.columns = [name if len(groups) == 1 else f"{group}: {name}" for name, group in wide.columns]
    sizes, kinds = lookup.sizes(wide.index, key)
    of = SIZES[key]
    models = formatting.plural(len(sizes), "model")
    description = f"{models} by number of parameters of the {of}, a line for each series."
    chart = charts.by_number(wide, sizes, kinds, f"Parameters of the {of}", "", line=True)
    return figure(f"reliability and consistency by size of the {of}", description, chart, part)


def sizes_and_data(lookup: Lookup) -> Built:
    """Figure 5: by size of the language model on the left; on the right by training data, for language models
    of similar size."""
    return joined([_by_size(ALL, LANGUAGE, "(left)", lookup), _by_data(lookup)])


def both_sizes(lookup: Lookup) -> Built:
    """Figure A9: by size of the model and of its language model; by one of them if the other is unknown."""
    parts, unknown = [], []
    for key in SIZES:
        try:
            parts.append(_by_size(GROUPS, key, "", lookup))
        except Absent as error:
            unknown.append(f"Not by size of the {SIZES[key]}: {error}.")
    if not parts:
        raise Absent(UNSIZED)
    return joined([*parts, Built(sentences=unknown)])


def _by_data(lookup: Lookup) -> Built:
    known = lookup.evidence.facts
    frame = _two(lookup, ALL).set_index("model")[["reliability", "consistency"]]
    samples = {
        name: float(found["training_data_size"])
        for name in frame.index.difference(UNCOMPARED, sort=False)
        if (found := known.get(name, {})).get("training_data_size")
        and ALIKE[0] <= found.get("language_model_parameters", 0) <= ALIKE[1]
    }
    if len(set(samples.values())) < 2:
        return Built(sentences=(UNTOLD,))
    kinds = {name: f"curation {known[name].get('curation') or 'not told'}" for name in samples}
    description = (
        f"{formatting.plural(len(samples), 'model')} with language models of 7 or 8 billion parameters."
    )
    chart = charts.by_number(frame, samples, kinds, "Samples of training data", "", line=False)
    return figure("reliability and consistency by training data", description, chart, "(right)")


def plane(lookup: Lookup) -> Built:
    """The right half of Table 3: a point for each model, sized by its number of parameters."""
    known = lookup.evidence.facts
    frame = _two(lookup, ALL).rename(columns={"consistency": "x", "reliability": "y", "model": "name"})
    points = frame.assign(
        series=[series(name, known) for name in frame["name"]],
        size=[size(name, known) for name in frame["name"]],
        panel="",
    )
    best = frame.loc[frame["y"].idxmax()]
    description = (
        f"Scatter plot of {formatting.plural(len(frame), 'model')}, means over datasets and prompts; larger "
        f"points are larger models. The most reliable, {best['name']}: "
        f"reliability {formatting.number(best['y'], 2)}, consistency {formatting.number(best['x'], 2)}."
    )
    chart = charts.scatter(points, "Consistency", "Reliability")
    return figure("reliability against consistency", description, chart, "(right)")


def against(lookup: Lookup) -> Built:
    """Figure A8: a panel for each family of changes, points sized as in Table 3; on top the whole ranges,
    below the part of them that the points take."""
    frame = _two(lookup, {name: name for name in ("language", "vision", "reformulation", "semantic")})
    few = frame["model"].nunique() <= charts.MOST
    kinds = frame["model"] if few else [series(name, lookup.evidence.facts) for name in frame["model"]]
    points = frame.rename(columns={"model": "name", "consistency": "x", "reliability": "y", "group": "panel"})
    points["size"] = [size(name, lookup.evidence.facts) for name in points["name"]]
    means = frame.groupby("group", sort=False)[["reliability", "consistency"]].mean()
    description = "; ".join(
        f"{row.Index}: reliability {formatting.number(row.reliability, 2)}, "
        f"consistency {formatting.number(row.consistency, 2)}"
        for row in means.itertuples()
    )
    draw = partial(
        charts.scatter, points.assign(series=kinds), "Consistency", "Reliability", shared=("x", "y")
    )
    title = "consistency and reliability by families of changes"
    views = (("(top)", "whole ranges", draw(ends=WHOLE)), ("(bottom)", "in detail", draw()))
    described = f"Means over the models: {description}."
    return joined([figure(f"{title}, {view}", described, chart, part) for part, view, chart in views])


def robust(lookup: Lookup) -> Built:
    """Table 3 with the scatter plot on its right."""
    table = tables.models_table(False, True, lookup)
    try:
        return joined([table, plane(lookup)])
    except Absent as error:
        return replace(table, sentences=(*table.sentences, f"Without its right half: {error}."))


PAPER = Paper(
    "parc",
    "PARC: a quantitative framework uncovering the symmetries within vision language models",
    "Schmalfuss et al. 2025 (PARC)",
    "Accuracy, certainty and consistency are calibrated: 1 is perfect, 0 a guess. Answers are generated "
    "texts if a dataset was asked for them, else the largest logits. The published columns of MIT-States "
    "and VAW do not make clear which is State and which Attribute, so they are not compared with ours.",
    (
        Entry(
            "Table 2",
            "Which change of the prompt hurts most, means over the models.",
            partial(tables.varied, True),
        ),
        Entry("Table 3", "Which models cope best, means over the prompts.", robust),
        Entry("Table A4", "The models and their properties.", tables.properties),
        Entry(
            "Table A5",
            "How many questions there are, and how many answers flip when an image is exchanged.",
            tables.counts,
        ),
        Entry("Table A6", "Table 2 with all four scores by dataset.", partial(tables.varied, False)),
        Entry("Table A7", "The same table as A8.", tables.same),
        Entry(
            "Table A8", "Table 3 with all four scores by dataset.", partial(tables.models_table, False, False)
        ),
        Entry("Table A9", "Two changes at once.", tables.combined),
        Entry(
            "Table A10",
            "Table A8 with the largest logit in place of the response.",
            partial(tables.models_table, True, False),
        ),
        Entry("Figure 2", "How reliability follows from accuracy and certainty.", mapping),
        Entry(
            "Figure 3",
            "Accuracy on original and negated questions, before and after calibration.",
            partial(calibration, False),
        ),
        Entry("Figure 4", "Consistency by family of changes and model.", families),
        Entry(
            "Figure 5",
            "Size of the language model and training data, reliability and consistency.",
            sizes_and_data,
        ),
        Entry("Figure A6", "Reliability beside UAcc.", against_uacc),
        Entry(
            "Figure A7",
            "Figure 3 with the mean over the datasets on which negation does not change a guess.",
            partial(calibration, True),
        ),
        Entry("Figure A8", "Consistency against reliability by families of changes.", against),
        Entry("Figure A9", "Figure 5 for all, language and vision changes.", both_sizes),
    ),
)

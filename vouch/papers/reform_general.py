"""ReForm-Eval's tables 1 and 2 and figure 3: by dimension, of each model and of the parts that models share.

The authors draw the texts of most models at random; such a model counts by its samples here, if it has any.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from vouch.papers import charts
from vouch.papers.entry import CLEAN, FAITHFUL, MEAN, Absent, Built, Lookup, Measure, figure, joined
from vouch.papers.pivot import Key, Layout, pivot
from vouch.papers.reform_sets import (
    MODELS,
    ONLINE,
    OUTPUT_NAMES,
    SAMPLED,
    SEARCHED,
    SETS,
    TESTS,
    accuracy,
    facts,
    printed,
    printed_facts,
    table,
    with_sampled,
)
from vouch.report import formatting
from vouch.tables.asked import ORIGINAL
from vouch.tables.results import OVERALL

DIMENSIONS = {"generation": 8, "likelihood": 6}
"""The number of dimensions by output: two of them have no options. Published means are over all."""
PLACES = {"": 0, SAMPLED: 2}
"""Where the accuracy of greedy texts and of samples stands among the measures of table 1; the rank is 1."""
NOTHING = "no model was asked for texts or likelihoods"


def general(lookup: Lookup) -> Built:
    """Table 1: accuracy and rank by dimension, and their means over the dimensions.

    Published numbers are shown for dimensions whose datasets are all here, the means if all dimensions are;
    the mean ranks need, in addition, exactly the paper's models.
    """
    parts = []
    for output, noun in OUTPUT_NAMES.items():
        own = _main_evaluation(lookup, output)
        if own.empty:
            continue
        whole = set(own.loc[own["parts"] == own["dimension"].map(SETS), "dimension"])
        prints = printed(lookup, "reform_tables", ("accuracy",), output=noun)
        prints = {key: cell for key, cell in prints.items() if key[2] in whole}
        if len(whole) == DIMENSIONS[noun]:
            columns = ("score", "rank") if set(lookup.order) == set(MODELS) else ("score",)
            prints |= printed(lookup, "reform_ranks", [f"{noun}_{column}" for column in columns], OVERALL)
        frame = pd.concat(_numbers(own)).set_index(["measure", "model", "dataset", "protocol"])["number"]
        both = frame.unstack("protocol").reindex(columns=[FAITHFUL, CLEAN])
        both = both.set_axis(["value", "clean"], axis=1).reset_index()
        measures = with_sampled(accuracy(output), Measure("Rank", "rank", scale=1, digits=1))
        names = sorted(set(both["dataset"]), key=lambda name: (name == OVERALL, name))
        parts.append(table(lookup, f"by dimension, {noun}", both, measures, names, prints, f"-{noun}"))
    return joined(parts, NOTHING)


def _main_evaluation(lookup: Lookup, output: str) -> pd.DataFrame:
    """The rows of DIMENSIONS of the main evaluation, of dialogues those with the model's own answers.

    Samples of only some of the datasets of a dimension are left out.
    """
    frame = lookup.evidence.dimensions
    frame = frame[(frame["output"] == output) & (frame["dimension"] != OVERALL)]
    frame = frame[frame["score"].isin(list(PLACES))]
    dialogues = frame["dimension"] == "dialogue"
    parts = []
    for own, variations in ((frame[~dialogues], (TESTS, ORIGINAL)), (frame[dialogues], ONLINE)):
        asked = set(own["variation"])
        parts.append(own[own["variation"] == next((one for one in variations if one in asked), None)])
    frame = pd.concat(parts)
    most = frame.groupby(["protocol", "dimension"])["parts"].transform("max")
    return frame[frame["parts"] == most]


def _as_authors(own: pd.DataFrame) -> pd.DataFrame:
    """One number of each model and dimension: of samples, if there are any and the authors draw some."""
    drawn = own[(own["score"] == "") | ~own["model"].isin(SEARCHED)].sort_values("score", kind="stable")
    return drawn.drop_duplicates(["protocol", "model", "dimension"], keep="last")


def _numbers(own: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """measure, protocol, model, dataset (the dimension) and number: accuracies, ranks, and means of both over
    the dimensions, of models that have all of them."""
    ranked = _as_authors(own)
    ranks = ranked.groupby(["protocol", "dimension"])["value"].rank("min", ascending=False)
    dimensions = own.groupby("protocol")["dimension"].nunique()
    accuracies = own.assign(measure=own["score"].map(PLACES), number=own["value"])
    for frame in (accuracies, ranked.assign(measure=1, number=ranks)):
        yield frame.rename(columns={"dimension": "dataset"})
        groups = frame.groupby(["measure", "protocol", "model"])["number"]
        mean = groups.agg(["mean", "size"]).reset_index()
        every = mean["protocol"].map(dimensions)
        mean = mean[(mean["size"] == every) & (every > 1)]
        yield mean.rename(columns={"mean": "number"}).assign(dataset=OVERALL)


HALVES = {
    "perception": ("coarse_perception", "fine_perception", "scene_text"),
    "cognition": ("spatial", "visual_reasoning", "cross_modal", "dialogue", "description"),
}
HALF = {dimension: half for half, dimensions in HALVES.items() for dimension in dimensions}
OPEN = ("scene_text", "description")
"""Dimensions without options, and so without likelihoods."""
ARCHITECTURES = ("Q-Former", "Perceiver", "Adapter")
"""Parts of a connector after which table 2 names it, whatever comes with them."""


def _modules(known: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Vision encoder and connector of each model that has both on record, as table 2 groups them:
    `ViT-G/14` and `Q-Former+Linear` -> `ViT-G + Q-Former`."""
    kinds = {}
    for name, own in known.items():
        encoder, connector = (str(own.get(key, "")) for key in ("vision_encoder", "connector"))
        if encoder and connector:
            part = next((one for one in ARCHITECTURES if one in connector), connector)
            kinds[name] = f"{encoder.partition('/')[0]} + {part}"
    return kinds


def modules(lookup: Lookup) -> Built:
    """Table 2: each model's mean over the dimensions of a half of the benchmark, then the mean over models.

    A published number is shown if all datasets of the half are here and exactly the paper's models.
    """
    kinds = _modules(facts(lookup))
    if len(set(kinds.values())) < 2:
        raise Absent("vision encoder and connector of fewer than two kinds of models are on record")
    parts: list[pd.Series] = []
    prints: dict[Key, str] = {}
    for index, (output, noun) in enumerate(OUTPUT_NAMES.items()):
        own = _as_authors(_main_evaluation(lookup, output))
        own = own.assign(dataset=own["dimension"].map(HALF)).dropna(subset=["dataset"])
        most = own.groupby(["protocol", "dataset"])["dimension"].transform("nunique")
        places = own.groupby(["protocol", "dataset", "model"])
        own = own[places["dimension"].transform("nunique") == most]
        means = own.groupby(["protocol", "dataset", "model"], as_index=False)["value"].mean()
        means = means.assign(model=means["model"].map(kinds), measure=index)
        parts.append(means.groupby(["measure", "model", "dataset", "protocol"])["value"].mean())
        prints |= _printed_modules(lookup, index, noun, own, kinds)
    mean = pd.concat(parts).unstack("protocol").reindex(columns=[FAITHFUL, CLEAN])
    if mean.empty:
        raise Absent("no dimension of ReForm-Eval was asked for texts or likelihoods")
    long = mean.set_axis(["value", "clean"], axis=1).reset_index()
    measures = [Measure(noun.capitalize(), "accuracy", digits=1) for noun in OUTPUT_NAMES.values()]
    caption, rows = (
        "accuracy by vision encoder and connector",
        {name: name for name in sorted(set(long["model"]))},
    )
    heads = {half: half for half in HALVES if half in set(long["dataset"])}
    return pivot(long, Layout(caption, measures, rows, heads, row="Encoder + connector", prints=prints))


def _printed_modules(
    lookup: Lookup, index: int, noun: str, own: pd.DataFrame, kinds: Mapping[str, str]
) -> dict[Key, str]:
    """Cells of table 2 that our numbers may stand beside. own: rows of DIMENSIONS, `dataset` the half."""
    papers, here = _modules(printed_facts()), set(own["model"])
    whole = own.loc[own["parts"] == own["dimension"].map(SETS)].groupby("dataset")["dimension"].nunique()
    found = {}
    for row in lookup.printed("reform_modules", output=noun):
        kind = f"{row['encoder']} + {row['connector']}"
        ours = {name for name in here if kinds.get(name) == kind}
        if ours == {name for name, each in papers.items() if each == kind}:
            for half, dimensions in HALVES.items():
                wanted = len([one for one in dimensions if noun == "generation" or one not in OPEN])
                if whole.get(half, 0) == wanted:
                    found[index, kind, half] = row[half]
    return found


EVERY = "all"
"""The row of figure 3 for any language model, and its column for any vision encoder."""


def by_backbone(lookup: Lookup) -> Built:
    """Figure 3: by dimension, mean accuracy of models that share a language model, a vision encoder or both.

    The last panel of an output is the mean over its dimensions, of models that have all of them.
    """
    kinds = _backbones(facts(lookup))
    if len(set(kinds.values())) < 2:
        raise Absent("backbones of fewer than two kinds of models are on record")
    parts = []
    for output, noun in OUTPUT_NAMES.items():
        own = _as_authors(_main_evaluation(lookup, output))
        own = own[(own["protocol"] == FAITHFUL) & own["dimension"].isin(SETS) & own["model"].isin(kinds)]
        if own["model"].map(kinds).nunique() > 1:
            parts.append(_backbone_matrices(own, kinds, noun))
    return joined(parts, NOTHING)


def _backbones(known: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """Language model and vision encoder of each model that has both on record, as figure 3 groups them:
    `LLaMA2-Chat` and `ViT-G/14` -> `LLaMA2`, `ViT-G`."""
    kinds = {}
    for name, own in known.items():
        language, encoder = (str(own.get(key, "")) for key in ("language_model", "vision_encoder"))
        if language and encoder:
            kinds[name] = language.partition("-")[0], encoder.partition("/")[0]
    return kinds


def _backbone_matrices(own: pd.DataFrame, kinds: Mapping[str, tuple[str, str]], noun: str) -> Built:
    """A matrix for each dimension, then that of the means. own: a row for each model and dimension."""
    names = [name for name in SETS if name in set(own["dimension"])]
    wide = own.pivot(index="model", columns="dimension", values="value")[names]
    if len(names) > 1:
        wide[MEAN] = wide.mean(axis=1, skipna=False)
    long = wide.reset_index().melt("model", var_name="panel").dropna(subset=["value"])
    long["row"], long["column"] = zip(*long["model"].map(kinds), strict=True)
    margins: list[dict[str, str]] = [{}, {"row": EVERY}, {"column": EVERY}, {"row": EVERY, "column": EVERY}]
    frame = pd.concat([long.assign(**margin) for margin in margins])
    mean = frame.groupby(["panel", "row", "column"], as_index=False)["value"].mean()
    kinds_here = sorted(set(long["row"]) | set(long["column"]))
    ranks = {name: rank for rank, name in enumerate((*names, MEAN, EVERY, *kinds_here))}
    mean = mean.sort_values(["panel", "row", "column"], key=lambda column: column.map(ranks))
    shown = mean.assign(panel=mean["panel"].str.replace("_", " "))
    both = shown[(shown["row"] != EVERY) & (shown["column"] != EVERY)]
    best = both.loc[both.groupby("panel", sort=False)["value"].idxmax()]
    description = "; ".join(
        f"{row.panel}, {row.row} with {row.column} {formatting.percent(row.value)}"
        for row in best.itertuples()
    )
    title = f"accuracy by language model and vision encoder, {noun}"
    return figure(title, f"Means of models, the best of each dimension: {description}.", charts.heat(shown))

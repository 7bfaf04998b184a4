"""Accuracy and instability of the main evaluation by dataset of the benchmark, and what the paper printed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from vouch.report.papers.reform.names import (
    BY_LABEL,
    COCO,
    IN_DOMAIN,
    OUT_OF_DOMAIN,
    OUTPUT_NAMES,
    SUFFIX,
    TESTS,
)
from vouch.report.reproduce.entry import Absent, Lookup, Measure
from vouch.report.reproduce.pivot import Key
from vouch.tables.asked import LIKELIHOOD, ORIGINAL, TEXT

SAMPLED = "first_t0.2"
"""The score of the first sample of each test at the authors' temperature."""
SEARCHED = (
    *("blip2_flan_t5_xl", "instructblip_flan_t5_xl", "instructblip_vicuna_7b", "bliva", "lynx"),
    "shikra",
)
"""Models from which the authors' code draws nothing: it takes the best of several beams, of Shikra of one."""


def _datasets(lookup: Lookup, wanted: Sequence[str] | None, output: str) -> dict[str, str]:
    """Datasets of an output by their name in the benchmark; all that there are where none are wanted.

    Where a dataset and its entry for the likelihood were both asked for the likelihood, the latter counts.
    """
    asked = [name for name in lookup.evidence.datasets if output in lookup.evidence.outputs(name)]
    if output == LIKELIHOOD:
        asked = [name for name in asked if f"{name}{SUFFIX}" not in asked]
    names = {name: name.removesuffix(SUFFIX) if output == LIKELIHOOD else name for name in asked}
    return {key: name for key, name in names.items() if wanted is None or name in wanted}


def long(lookup: Lookup, measures: Sequence[Measure], wanted: Sequence[str] | None = None) -> pd.DataFrame:
    """The measures by dataset of the benchmark: of the main evaluation, of the original prompts without."""
    parts = [pd.DataFrame(columns=["model", "dataset", "measure"])]
    for place, measure in enumerate(measures):
        for dataset, name in _datasets(lookup, wanted, measure.output).items():
            tested = TESTS in lookup.evidence.variations(dataset)
            frame = lookup.of(replace(measure, variation=TESTS if tested else ORIGINAL))
            parts.append(frame[frame["dataset"] == dataset].assign(dataset=name, measure=place))
    return pd.concat(parts[1:] or parts, ignore_index=True)


def accuracy(output: str) -> Measure:
    """Accuracy of an output."""
    return Measure("Acc", "accuracy", output=output, better="high")


def means(lookup: Lookup) -> pd.DataFrame:
    """Mean accuracy over the datasets: models by name of the output, for models that have all datasets."""
    frame = long(lookup, [accuracy(output) for output in OUTPUT_NAMES])
    if frame.empty:
        raise Absent("no model was asked for texts or likelihoods")
    frame = frame.dropna(subset=["value"])
    most = frame.groupby("measure")["dataset"].nunique()
    found = frame.groupby(["model", "measure"])["value"].agg(["mean", "count"]).unstack()
    return found["mean"].where(found["count"] == most).dropna(how="all").dropna(axis=1, how="all")


def coco_ranks(lookup: Lookup) -> pd.DataFrame:
    """model (a group of `COCO`), dataset, value: mean rank of the group's models among all that are here.

    By accuracy of texts, of captions by CIDEr; of the datasets of table 22 that all models here have.
    """
    sets = (*IN_DOMAIN, *OUT_OF_DOMAIN)
    cider = Measure("CIDEr", "cider_d", output=TEXT, better="high")
    frame = pd.concat([long(lookup, [accuracy(TEXT)], sets), long(lookup, [cider], sets)])
    if frame.empty:
        raise Absent("no dataset of table 22 was asked for texts")
    frame = frame.dropna(subset=["value"]).drop_duplicates(["model", "dataset"])
    models = frame.groupby("dataset")["model"].transform("nunique")
    frame = frame[models == models.max()]
    ranks = frame.groupby("dataset")["value"].rank(ascending=False, method="min")
    group = frame["model"].map({name: group for group, names in COCO.items() for name in names})
    found = frame.assign(value=ranks, model=group).dropna(subset=["model"])
    if found["model"].nunique() < len(COCO):
        raise Absent("needs models of both groups: BLIP-2, mPLUG-Owl or Lynx, and LLaVA or MiniGPT4")
    return found.groupby(["model", "dataset"], as_index=False)["value"].mean()


def with_sampled(*measures: Measure) -> tuple[Measure, ...]:
    """The measures, and behind them those of generated texts once more, of the first samples."""
    return (*measures, *(_twin(measure) for measure in measures if measure.output == TEXT))


def _twin(measure: Measure) -> Measure:
    return replace(measure, label=f"{measure.label}, sampled", score=SAMPLED)


def printed(
    lookup: Lookup, file: str, columns: Sequence[str], dataset: str = "", **chosen: str
) -> dict[Key, str]:
    """Published cells. columns: of the file, one for each measure. dataset: of a file that names none."""
    return {
        (place, BY_LABEL[row["model"]], dataset or row["dataset"]): row[column]
        for row in lookup.printed(file, **chosen)
        for place, column in enumerate(columns)
    }


def beside(prints: Mapping[Key, str], frame: pd.DataFrame, measures: Sequence[Measure]) -> dict[Key, str]:
    """Published cells at the measure that is made as they were: that of samples, for models that sample.

    prints: by the place among the measures of greedy texts. frame: rows that are shown; where it has no
    figure of samples, the cell stays. measures: as `with_sampled` gives them.
    """
    places = {measure: place for place, measure in enumerate(measures)}
    held = set(zip(frame["measure"], frame["model"], frame["dataset"], strict=True))
    found = {}
    for (place, model, dataset), cell in prints.items():
        there = (places.get(_twin(measures[place]), place), model, dataset)
        found[there if there in held and model not in SEARCHED else (place, model, dataset)] = cell
    return found

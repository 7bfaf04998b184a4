"""Accuracy and instability of the main evaluation, by dataset of the benchmark."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from vouch.report.papers.reform.names import OUTPUT_NAMES, SUFFIX, TESTS
from vouch.report.reproduce.entry import Absent
from vouch.report.reproduce.lookup import Lookup, Measure
from vouch.tables.prompts import LIKELIHOOD, ORIGINAL


def _datasets(lookup: Lookup, wanted: Sequence[str] | None, output: str) -> dict[str, str]:
    """Datasets of a output by their name in the benchmark; all that there are where none are wanted."""
    found = {}
    for dataset in lookup.evidence.datasets:
        name = dataset.removesuffix(SUFFIX) if output == LIKELIHOOD else dataset
        if output in lookup.evidence.outputs(dataset) and (wanted is None or name in wanted):
            found[dataset] = name
    return found


def _tested(lookup: Lookup, dataset: str) -> str:
    """The main evaluation's variation, the original prompts where it was not asked."""
    return TESTS if TESTS in lookup.evidence.variations(dataset) else ORIGINAL


def long(lookup: Lookup, measures: Sequence[Measure], wanted: Sequence[str] | None) -> pd.DataFrame:
    """The measures with the variation of the main evaluation, datasets by their name in the benchmark."""
    parts = []
    for place, measure in enumerate(measures):
        for dataset, name in _datasets(lookup, wanted, measure.output).items():
            frame = lookup.of(replace(measure, variation=_tested(lookup, dataset)))
            parts.append(frame[frame["dataset"] == dataset].assign(dataset=name, measure=place))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def accuracy(output: str, metric: str = "accuracy", label: str = "Acc") -> tuple[Measure, Measure]:
    """Accuracy, or what stands for it, and instability."""
    return (
        Measure(label, metric, output=output, better="high", scale=100.0 if metric == "accuracy" else 1.0),
        Measure("Instability", "instability", output=output, scale=1, better="low"),
    )


def means(lookup: Lookup) -> pd.DataFrame:
    """Mean accuracy over the datasets, by model and output (`measure`), for models that have all."""
    measures = [replace(accuracy(output)[0], label=noun) for output, noun in OUTPUT_NAMES.items()]
    frame = long(lookup, measures, None)
    if frame.empty:
        raise Absent("no model was asked for texts or likelihoods")
    frame = frame.dropna(subset=["value"])
    most = frame.groupby("measure")["dataset"].nunique()
    grouped = frame.groupby(["measure", "model"])["value"].agg(["mean", "count"]).reset_index()
    return grouped[grouped["count"] == grouped["measure"].map(most)].rename(columns={"mean": "value"})

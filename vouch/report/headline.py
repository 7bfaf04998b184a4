"""The numbers that matter most: for `dvc metrics`, for `dvc plots` and in tables/headline.csv."""

from typing import Any

import pandas as pd

from vouch.metrics.letter_mass import LOW_MASS_RATE
from vouch.metrics.unranked import READING
from vouch.metrics.yes_no import YES_NO
from vouch.report.evidence import Evidence
from vouch.report.figures.reliability import frame
from vouch.report.gates import ends
from vouch.report.table import SETS, Measured

HEADLINES = (
    Measured("accuracy"),
    *(Measured(metric, interval=False) for metric in READING),
    *(Measured(metric) for metric in YES_NO),
    Measured("coverage", "lac", help="share of LAC sets that contain the answer"),
    Measured("coverage", "aps", help="share of APS sets that contain the answer"),
    Measured("set_size", "lac"),
    Measured("set_size", "aps"),
    Measured("uacc", "mean"),
    Measured("ece"),
    Measured(LOW_MASS_RATE),
)
OPTIONAL = (*READING, *YES_NO, LOW_MASS_RATE)
"""Those whose columns stand in a table only where some model has them."""
METRICS = {f"{each.metric}_{each.score}" if each.score in SETS else each.metric: each for each in HEADLINES}
"""By the name that they have in files."""
PROTOCOLS = ("clean", "faithful")


def headline(evidence: Evidence) -> pd.DataFrame:
    """`rank`, `rank_low`, `rank_high` are those of the accuracy; METRIC_low, METRIC_high its interval."""
    columns = ["dataset", "model", "protocol", "items", "rank", "rank_low", "rank_high"]
    columns += [f"{name}{end}" for name in METRICS for end in ("", "_low", "_high")]
    rows = [
        _row(evidence, dataset, model, protocol)
        for dataset in evidence.datasets
        for model in evidence.models(dataset)
        for protocol in PROTOCOLS
    ]
    counts = ["items", "rank", "rank_low", "rank_high"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(counts, "Int64"))


def _row(evidence: Evidence, dataset: str, model: str, protocol: str) -> dict[str, object]:
    row: dict[str, object] = {"dataset": dataset, "model": model, "protocol": protocol}
    for name, each in METRICS.items():
        number = each.number(evidence, dataset, model, protocol=protocol)
        if number is None:
            continue
        low, high = ends(number.low, number.high)
        row |= {name: number.value, f"{name}_low": low, f"{name}_high": high}
        if name == "accuracy":
            row |= {"items": number.items, "rank": number.rank}
            row |= {"rank_low": number.rank_low, "rank_high": number.rank_high}
    return row


def values(evidence: Evidence, dataset: str, model: str, protocol: str = "clean") -> dict[str, float]:
    """The numbers that a model has."""
    return {
        name: number.value
        for name, each in METRICS.items()
        if (number := each.number(evidence, dataset, model, protocol=protocol))
    }


def metrics_json(evidence: Evidence) -> dict[str, Any]:
    """{dataset: {model: {metric: value, ..., faithful: {metric: value, ...}}}}.

    The metrics directly under a model are clean; nothing is rounded; a missing number has no key.
    """
    return {
        dataset: {
            model: values(evidence, dataset, model)
            | {"faithful": values(evidence, dataset, model, "faithful")}
            for model in evidence.models(dataset)
        }
        for dataset in evidence.datasets
    }


def _label(evidence: Evidence, dataset: str, model: str) -> str:
    return model if len(evidence.datasets) == 1 else f"{model} on {dataset}"


PLOTTED = ("accuracy", "set_size_lac", "ece")


def plotted(evidence: Evidence, metric: str) -> pd.DataFrame:
    """A row for each model and dataset with this metric: run, accuracy, the metric, of the clean protocol.

    `dvc plots` draws a missing number as 0.
    """
    rows = [
        {"run": _label(evidence, dataset, model)} | found
        for dataset in evidence.datasets
        for model in evidence.models(dataset)
        if metric in (found := values(evidence, dataset, model))
    ]
    return pd.DataFrame(rows, columns=list(dict.fromkeys(("run", "accuracy", metric))))


def plotted_reliability(evidence: Evidence) -> pd.DataFrame:
    """One row per bin of the models that are drawn: run, confidence, accuracy, answers."""
    columns = ["run", "confidence", "accuracy", "answers"]
    parts = [
        data.assign(run=[_label(evidence, dataset, model) for model in data["model"]])[columns]
        for dataset in evidence.datasets
        if len(data := frame(evidence, dataset))
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)

"""The numbers that matter most: for `dvc metrics`, for `dvc plots` and in tables/headline.csv."""

from typing import Any

import pandas as pd

from vouch.report.evidence import Evidence

# Column: metric and score in the leaderboard.
METRICS = {
    "accuracy": ("accuracy", ""),
    "coverage_lac": ("coverage", "lac"),
    "coverage_aps": ("coverage", "aps"),
    "set_size_lac": ("set_size", "lac"),
    "set_size_aps": ("set_size", "aps"),
    "uacc": ("uacc", "mean"),
    "ece": ("ece", ""),
}
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
    for name, (metric, score) in METRICS.items():
        number = evidence.number(dataset, model, metric, score, protocol)
        if number is None:
            continue
        row |= {name: number.value, f"{name}_low": number.low, f"{name}_high": number.high}
        if name == "accuracy":
            row |= {"items": number.items, "rank": number.rank}
            row |= {"rank_low": number.rank_low, "rank_high": number.rank_high}
    return row


def values(evidence: Evidence, dataset: str, model: str, protocol: str = "clean") -> dict[str, float]:
    """The numbers that a model has."""
    return {
        name: number.value
        for name, (metric, score) in METRICS.items()
        if (number := evidence.number(dataset, model, metric, score, protocol))
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

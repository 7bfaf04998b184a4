"""Numbers for `dvc metrics show` and `dvc metrics diff`."""

from typing import Any

from vouch.report.evidence import Evidence
from vouch.report.tables.headline import METRICS


def metrics_json(evidence: Evidence) -> dict[str, Any]:
    """{dataset: {model: {metric: value, ..., faithful: {metric: value, ...}}}}.

    The metrics directly under a model are clean; nothing is rounded; a missing number has no key.
    """
    return {
        dataset: {
            model: _values(evidence, dataset, model, "clean")
            | {"faithful": _values(evidence, dataset, model, "faithful")}
            for model in evidence.models(dataset)
        }
        for dataset in evidence.datasets
    }


def _values(evidence: Evidence, dataset: str, model: str, protocol: str) -> dict[str, Any]:
    return {
        name: number.value
        for name, (metric, score) in METRICS.items()
        if (number := evidence.number(dataset, model, metric, score, protocol))
    }

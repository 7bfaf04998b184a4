"""Scores by dimension, and mean ranks over the dimensions (Li et al. 2023, ReForm-Eval).

A dimension is a category: of whole datasets, as the loader of ReForm-Eval gives them, or of parts of some.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from vouch.tables.compared import OVERALL
from vouch.tables.prompts import OUTPUTS

METRIC, OF_CAPTIONS = "accuracy", "cider_d"
"""Captions have no accuracy: their CIDEr stands for it, 1 for what papers print as 100."""
Place = tuple[str, int, str]  # variation, number of the output, protocol
Scores = Mapping[str, Mapping[str, float]]  # by model and dataset


def dimensions(metrics: pa.Table, categories: Mapping[str, Iterable[str]]) -> list[dict[str, Any]]:
    """Rows of DIMENSIONS from rows of METRICS and the categories of every dataset's items.

    A dimension's score is the plain mean of its datasets' accuracies, of captions of their CIDEr. A model
    without a score on all datasets that another one has has none in this dimension, and without one in all
    dimensions no overall one.
    """
    only = {dataset: _only(names) for dataset, names in categories.items()}
    found: dict[Place, dict[str, dict[str, dict[str, float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(dict))
    )
    wanted = pc.is_in(metrics["metric"], pa.array([METRIC, OF_CAPTIONS]))
    plain = pc.and_(wanted, pc.equal(metrics["score"], ""))
    for row in metrics.filter(plain).to_pylist():
        dimension = only.get(row["dataset"], "") if row["category"] == "all" else row["category"]
        if dimension:
            place = (row["variation"], OUTPUTS.index(row["output"]), row["protocol"])
            scores = found[place][dimension][row["model"]]
            if row["metric"] == METRIC or row["dataset"] not in scores:
                scores[row["dataset"]] = row["value"]
    return [row for place in sorted(found) for row in _rows(place, found[place])]


def _only(categories: Iterable[str]) -> str:
    """The category that all items have, empty where there is no such one."""
    names = set(categories)
    return names.pop() if len(names) == 1 else ""


def _rows(place: Place, found: Mapping[str, Scores]) -> Iterator[dict[str, Any]]:
    variation, output, protocol = place
    where = {"variation": variation, "output": OUTPUTS[output], "protocol": protocol}
    ranked: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for dimension in sorted(found):
        datasets = sorted({dataset for scores in found[dimension].values() for dataset in scores})
        means = {
            model: sum(scores[dataset] for dataset in datasets) / len(datasets)
            for model, scores in sorted(found[dimension].items())
            if len(scores) == len(datasets)
        }
        for model, mean in means.items():
            rank = 1 + sum(other > mean for other in means.values())
            ranked[model].append((float(rank), mean))
            row = {"dimension": dimension, "model": model, "value": mean, "rank": float(rank)}
            yield where | row | {"parts": len(datasets)}
    for model, parts in sorted(ranked.items()):
        if len(found) > 1 and len(parts) == len(found):
            rank, mean = (sum(column) / len(parts) for column in zip(*parts, strict=True))
            row = {"dimension": OVERALL, "model": model, "value": mean, "rank": rank}
            yield where | row | {"parts": len(parts)}

"""Scores by dimension, and mean ranks over the dimensions (Li et al. 2023, ReForm-Eval).

A dimension is a category: of whole datasets, as the loader of ReForm-Eval gives them, or of parts of some.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
import pyarrow as pa

from vouch.tables.compared import DIMENSIONS, OVERALL
from vouch.tables.prompts import OUTPUTS

METRICS = ["accuracy", "cider_d"]
"""Captions have no accuracy: their CIDEr stands for it, 1 for what papers print as 100."""
Rows = list[dict[str, Any]]
PLACE = ["variation", "output", "protocol"]


def dimensions(metrics: pa.Table, categories: Mapping[str, Iterable[str]]) -> Rows:
    """Rows of DIMENSIONS from METRICS and the categories of every dataset's items.

    A dimension's score is the plain mean of its datasets' accuracies, of captions of their CIDEr. A model
    without a score on all datasets that another one has has none in this dimension, and without one in all
    dimensions no overall one.
    """
    only = {dataset: name for dataset, names in categories.items() for name in names if len({*names}) == 1}
    frame = metrics.to_pandas()
    frame = frame[frame["metric"].isin(METRICS) & (frame["score"] == "")].sort_values(["metric", "dataset"])
    whole = frame["category"] == "all"
    frame["dimension"] = frame["category"].mask(whole, frame["dataset"].map(only).fillna(""))
    cells = [*PLACE, "dimension", "model", "dataset"]
    frame = frame[frame["dimension"] != ""].drop_duplicates(cells)  # accuracy stands first
    found = _complete_means(frame, "dataset", [*PLACE, "dimension"], ["value"])
    found["rank"] = found.groupby([*PLACE, "dimension"])["value"].rank("min", ascending=False)
    overall = _complete_means(found, "dimension", PLACE, ["value", "rank"]).assign(dimension=OVERALL)
    made = pd.concat([found, overall[overall["parts"] > 1]])
    made["last"], made["at"] = made["dimension"] == OVERALL, made["output"].map(OUTPUTS.index)
    made = made.sort_values(["variation", "at", "protocol", "last", "dimension", "model"])
    rows: Rows = made[DIMENSIONS.schema.names].to_dict("records")
    return rows


def _complete_means(frame: pd.DataFrame, part: str, place: list[str], columns: list[str]) -> pd.DataFrame:
    """Means of the columns over the parts of a place, of the models that have all of its parts."""
    groups = frame.groupby([*place, "model"])
    # One part after the other: the mean of pandas is another one in the last digits.
    means = (
        groups[columns]
        .agg(lambda values: sum(values) / len(values))
        .assign(parts=groups[part].nunique())
        .reset_index()
    )
    parts = frame.groupby(place)[part].nunique().rename("whole").reset_index()
    means = means.merge(parts, on=place)
    return means[means["parts"] == means["whole"]]

"""Paired differences of accuracy between models that answered the same prompts."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vouch.metrics.comparison.resampling import holm, intervals, means, p_values
from vouch.metrics.intervals import some
from vouch.metrics.responses import Array
from vouch.tables.prompts import ORIGINAL, OUTPUTS

UNITS = 2520
"""One correct answer in units that make every share of a tie up to ten letters a whole number."""


def differences(outcomes: pa.Table, seed: int, resamples: int) -> list[dict[str, Any]]:
    """Rows of DIFFERENCES from rows of OUTCOMES: first minus second, models in the order of their names.

    Clean accuracy of the variation `original` on the prompts that both models have, each output by
    itself. Interval: 2.5 and 97.5 percentiles of a bootstrap over whole groups. p: t-test with the sandwich
    variance over groups (a bootstrap of 1,000 could not survive the correction), where few groups differ no
    less than their signs allow, Holm-corrected over the pairs of a dataset and output (Holm 1979). Fewer
    than two groups have neither; where all groups agree on a difference there is no interval, and where
    no group differs an exact bound.
    """
    keep = pc.and_(pc.equal(outcomes["variation"], ORIGINAL), pc.is_valid(outcomes["clean_correct"]))
    columns = ["dataset", "output", "model", "prompt", "group", "clean_correct"]
    frame = outcomes.filter(keep).select(columns).to_pandas()
    rows: list[dict[str, Any]] = []
    places = frame.groupby(["dataset", "output"]).indices
    for dataset, output in sorted(places, key=lambda place: (place[0], OUTPUTS.index(place[1]))):
        found = list(_pairs(frame.iloc[places[dataset, output]], seed, resamples))
        corrected = holm([row["p"] for row in found])
        place = {"dataset": dataset, "output": output}
        rows += [place | row | {"p_holm": p} for row, p in zip(found, corrected, strict=True)]
    return rows


def _pairs(frame: pd.DataFrame, seed: int, resamples: int) -> Iterator[dict[str, Any]]:
    wide = frame.pivot(index=["group", "prompt"], columns="model", values="clean_correct")
    models, correct = wide.columns, np.rint(UNITS * wide.to_numpy())
    firsts, seconds = np.triu_indices(len(models), 1)
    if not len(firsts):
        return
    sums, counts = _group_sums(correct, wide.index.codes[0], firsts, seconds)
    items, clusters = counts.sum(axis=0), (counts > 0).sum(axis=0)
    mean = means(sums, counts)
    low, high = intervals(sums, counts, seed, resamples, UNITS)
    p = p_values(mean, sums, counts)
    for pair in np.flatnonzero(items):
        yield {
            "first": models[firsts[pair]],
            "second": models[seconds[pair]],
            "difference": float(mean[pair] / UNITS),
            "low": some(low[pair] / UNITS),
            "high": some(high[pair] / UNITS),
            "p": float(p[pair]) if clusters[pair] > 1 else None,
            "items": int(items[pair]),
        }


def _group_sums(
    correct: Array, groups: np.ndarray, firsts: NDArray[np.int64], seconds: NDArray[np.int64]
) -> tuple[Array, Array]:
    """Sum of the differences and number of common prompts, both [groups, pairs].

    correct [prompts, models] in UNITS, NaN: not answered; groups [prompts]: numbers, in ascending order.
    """
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    sums, counts = np.zeros((2, len(starts), len(firsts)))
    for model in np.unique(firsts):
        pairs = np.flatnonzero(firsts == model)
        gaps = correct[:, [model]] - correct[:, seconds[pairs]]
        counts[:, pairs] = np.add.reduceat((~np.isnan(gaps)).astype(float), starts)
        sums[:, pairs] = np.add.reduceat(np.nan_to_num(gaps), starts)
    return sums, counts

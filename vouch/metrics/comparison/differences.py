"""Paired differences of accuracy between models that answered the same prompts.

What each variation does to a model: every prompt against the original prompt of its item.
"""

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
from vouch.tables.asked import KEPT, ORIGINAL, OUTPUTS
from vouch.tables.results import contents, flips

UNITS = 2520
"""One correct answer in units that make every share of a tie up to ten letters a whole number."""


def differences(outcomes: pa.Table, seed: int, resamples: int) -> list[dict[str, Any]]:
    """Rows of DIFFERENCES from rows of OUTCOMES: first minus second, models in the order of their names.

    Clean accuracy of the variation `original` on the prompts that both models have, each output by
    itself. Interval: `intervals`. p: t-test with the sandwich variance over groups (a bootstrap of 1,000
    could not survive the correction), where few groups differ no less than their signs allow, Holm-corrected
    over the pairs of a dataset and output (Holm 1979). Fewer than two groups have neither.
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
    low, high = intervals(sums, counts, seed, resamples, -UNITS, UNITS)
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


GRAIN = UNITS * 2**13
"""One in units in which rounding moves no share of a tie, and a probability or mean size by 3e-8 at most."""
FLIPPED = "flipped"
NOT_FLIPPED = "not_flipped"
SAID = "said"
"""Column: number of what an answer came to, NaN where nothing could be read."""
# metric, score, column of the outcomes
MEASURES = (
    ("accuracy", "", "clean_correct"),
    ("confidence", "", "confidence"),
    ("set_size", "lac", "clean_size_lac"),
    ("set_size", "aps", "clean_size_aps"),
    (FLIPPED, "", SAID),
    (NOT_FLIPPED, "", SAID),
)
RANGES = {"set_size": (-np.inf, np.inf), FLIPPED: (0, 1), NOT_FLIPPED: (0, 1)}
"""Between which the difference on an item lies, where not between -1 and 1."""
PAIR = ["model", "output", "item"]


def variations(outcomes: pa.Table, seed: int, resamples: int) -> Iterator[dict[str, Any]]:
    """Rows of VARIATIONS from rows of OUTCOMES, by dataset, model, output, variation and MEASURES.

    Only prompts that the clean protocol keeps and whose item has an original prompt that it keeps as well.
    Interval: `intervals`, which moves the items and not the splits. Every variation of a dataset rests on the
    same draws. Set sizes have no largest difference: none where all groups agree.
    """
    for dataset in sorted(pc.unique(outcomes["dataset"]).to_pylist()):
        found = outcomes.filter(pc.equal(outcomes["dataset"], dataset))
        for row in _rows(_variations_pairs(found), seed, resamples):
            yield {"dataset": dataset} | row


def _variations_pairs(outcomes: pa.Table) -> pd.DataFrame:
    """Outcomes that the clean protocol keeps, each beside that of its item's original prompt."""
    kept = outcomes.filter(pc.is_valid(outcomes["clean_correct"]))
    frame = kept.to_pandas()
    frame[SAID] = contents(kept)
    plain = frame["variation"] == ORIGINAL
    columns = list(dict.fromkeys(column for *_, column in MEASURES))
    return frame[~plain].merge(frame.loc[plain, [*PAIR, *columns]], on=PAIR, suffixes=("", "_original"))


def _rows(pairs: pd.DataFrame, seed: int, resamples: int) -> list[dict[str, Any]]:
    groups, total = pd.factorize(pairs["group"], sort=True)[0], pairs["group"].nunique()
    named: list[dict[str, Any]] = []
    gaps: list[tuple[Array, Array]] = []
    places = pairs.groupby(["model", "output", "variation"]).indices
    for model, output, variation in sorted(places, key=lambda one: (one[0], OUTPUTS.index(one[1]), one[2])):
        place = places[model, output, variation]
        for metric, score, column in MEASURES:
            value, original = _values(pairs.iloc[place], metric, column)
            known = ~np.isnan(value - original)
            if not known.any():
                continue
            of_group, gap = groups[place][known], (value - original)[known]
            counts = np.bincount(of_group, minlength=total).astype(float)
            gaps.append((np.asarray(np.bincount(of_group, gap, total), dtype=float), counts))
            row = {"model": model, "output": output, "variation": variation, "metric": metric, "score": score}
            row |= {"value": value[known].mean() / GRAIN, "original": original[known].mean() / GRAIN}
            named.append(row | {"items": int(known.sum())})
    if not named:
        return []
    sums, counts = np.stack(gaps, axis=2)
    ends = [GRAIN * np.array(RANGES.get(row["metric"], (-1, 1))) for row in named]
    low, high = intervals(sums, counts, seed, resamples, *np.stack(ends, axis=1))
    numbers = zip(named, means(sums, counts) / GRAIN, low / GRAIN, high / GRAIN, strict=True)
    return [
        row | {"difference": float(mean), "low": some(low), "high": some(high)}
        for row, mean, low, high in numbers
    ]


def _values(pairs: pd.DataFrame, metric: str, column: str) -> tuple[Array, Array]:
    """In the variation and in the original, in units, NaN where a measure does not apply.

    For flips whether an answer is another one, and 0; where answers flip, whether a right one stayed, and 0.
    """
    value, original = (pairs[name].to_numpy(float) for name in (column, f"{column}_original"))
    if column == SAID:
        kept = (pairs["effect"].fillna(KEPT) == KEPT).to_numpy()
        flipped = flips(value, original, pairs["clean_correct_original"].to_numpy(float), kept)
        value = np.where(kept == (metric == FLIPPED), flipped, np.nan)
        original = np.zeros(len(value))
    return np.rint(GRAIN * value), np.rint(GRAIN * original)

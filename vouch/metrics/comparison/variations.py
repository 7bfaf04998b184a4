"""What each variation does to a model: every prompt against the original prompt of its item."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.comparison.differences import UNITS
from vouch.metrics.comparison.resampling import intervals, means
from vouch.metrics.intervals import some
from vouch.metrics.responses import Array
from vouch.tables.outcomes import contents, flips
from vouch.tables.prompts import KEPT, ORIGINAL, OUTPUTS

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
PAIR = ["model", "output", "item"]


def variations(outcomes: pa.Table, seed: int, resamples: int) -> Iterator[dict[str, Any]]:
    """Rows of VARIATIONS from rows of OUTCOMES, by dataset, model, output, variation and MEASURES.

    Only prompts that the clean protocol keeps and whose item has an original prompt that it keeps as well.
    Interval: 2.5 and 97.5 percentiles of a bootstrap over whole groups, which moves the items and not the
    splits. Every variation of a dataset rests on the same draws.
    """
    for dataset in sorted(pc.unique(outcomes["dataset"]).to_pylist()):
        found = outcomes.filter(pc.equal(outcomes["dataset"], dataset))
        for row in _rows(_pairs(found), seed, resamples):
            yield {"dataset": dataset} | row


def _pairs(outcomes: pa.Table) -> pd.DataFrame:
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
    largest: list[float] = []
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
            most = max(value[known].max(), original[known].max()) - GRAIN if metric == "set_size" else 0
            largest.append(max(most, GRAIN))
            row = {"model": model, "output": output, "variation": variation, "metric": metric, "score": score}
            row |= {"value": value[known].mean() / GRAIN, "original": original[known].mean() / GRAIN}
            named.append(row | {"items": int(known.sum())})
    if not named:
        return []
    sums, counts = np.stack(gaps, axis=2)
    low, high = intervals(sums, counts, seed, resamples, np.array(largest))
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

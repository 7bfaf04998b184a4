"""Means of paired differences, and their intervals by a bootstrap over whole groups.

Both take sums over groups, of whole numbers: these add up exactly, so no order of summation and no number of
threads can move a bit.

Paired differences of accuracy between models that answered the same prompts.

What each variation does to a model: every prompt against the original prompt of its item.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtr

from vouch.metrics.intervals import AT_ONCE, SHARES, some
from vouch.metrics.responses import Array
from vouch.tables.asked import KEPT, ORIGINAL, OUTPUTS
from vouch.tables.results import contents, flips

POWER = 0.8
INTERVAL = 2 * 1.959964
"""Standard errors in the width of a 95 % interval."""
FEW = 6
"""The fewest groups whose signs, all alike, have a two-sided p below .05: 2^(1-6)."""


def means(sums: Array, counts: Array) -> Array:
    """[columns] mean gap, from the sums and numbers of gaps [groups, columns]; 0 where there is none."""
    return np.asarray(sums.sum(axis=0) / np.maximum(counts.sum(axis=0), 1))


def intervals(
    sums: Array,
    counts: Array,
    seed: int,
    resamples: int,
    least: ArrayLike = -math.inf,
    most: ArrayLike = math.inf,
) -> tuple[Array, Array]:
    """[columns] 2.5 and 97.5 percentiles of the mean gap over resamples of whole groups, and where fewer than
    FEW groups have another gap than the rest, which is too few to resample, exact bounds as well.

    least, most [columns]: of one gap. Where all G groups agree, a further one differs with a probability of
    up to 1 - .025^(1/G) (Clopper and Pearson 1934); and the signs of fewer than FEW gaps may be chance, so
    that the interval holds 0 where gaps have either sign. NaN where fewer than two groups have a gap, and
    where all agree while `least` and `most` are infinite.
    """
    low, high = np.percentile(bootstrap(sums, counts, seed, resamples), SHARES, axis=0)
    groups, mean, ends = (counts > 0).sum(axis=0), means(sums, counts), (np.asarray(least), np.asarray(most))
    rounding = 1e-9 * np.abs(sums).max(axis=0)

    def others(gap: Array) -> Array:
        return np.asarray((np.abs(sums - gap * counts) > rounding).sum(axis=0))

    bounded = [np.where(np.isfinite(end), end, mean) for end in ends]
    alike, differ = others(mean) == 0, others(np.zeros_like(mean))
    few = alike | (np.minimum(differ, [others(end) for end in bounded]).min(axis=0) < FEW)
    sure = np.array([(SHARES[0] / 100) ** (1 / max(n, 1)) for n in groups.tolist()])  # not numpy's own power
    exact = [mean * sure + end * (1 - sure) for end in bounded]
    chance = (differ < FEW) & (ends[0] < 0)
    known = (groups > 1) & np.where(alike, bounded[0] < bounded[1], low < high)
    low = np.where(few, np.minimum(low, np.where(chance, np.minimum(exact[0], 0), exact[0])), low)
    high = np.where(few, np.maximum(high, np.where(chance, np.maximum(exact[1], 0), exact[1])), high)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def bootstrap(sums: Array, counts: Array, seed: int, resamples: int) -> Array:
    """[resamples, columns] mean gaps when whole groups are drawn with replacement."""
    generator, total = np.random.RandomState(seed), len(sums)
    drawn = []
    for start in range(0, resamples, AT_ONCE):
        size = min(AT_ONCE, resamples - start)
        draws = generator.randint(0, total, (size, total)) + np.arange(size)[:, None] * total
        weights = np.bincount(draws.ravel(), minlength=size * total).reshape(size, total).astype(float)
        drawn.append((weights @ sums) / np.maximum(weights @ counts, 1))
    return np.concatenate(drawn)


def p_values(mean: Array, sums: Array, counts: Array) -> Array:
    """Two-sided, from the group sums [groups, pairs].

    Never below 2^(1-D) for D groups whose models differ, the least that flipping their signs can give: the t
    distribution is too sure of a few.
    """
    clusters = (counts > 0).sum(axis=0)
    freedom = np.maximum(clusters - 1, 1)
    spread = ((sums - mean * counts) ** 2).sum(axis=0)
    error = np.sqrt(clusters / freedom * spread) / np.maximum(counts.sum(axis=0), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, np.abs(mean) / error)
    least = np.exp2(1.0 - np.maximum((sums != 0).sum(axis=0), 1))
    return np.asarray(np.maximum(2 * stdtr(freedom, -t), least))


def holm(p_values: list[float | None]) -> list[float | None]:
    """Holm's step-down correction; None stays None and does not count."""
    tested = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for done, (p, place) in enumerate(tested):
        largest = max(largest, min(1.0, p * (len(tested) - done)))
        corrected[place] = largest
    return corrected


def sign_flip_p(sums: NDArray[np.int64]) -> float:
    """P(the sum is so small or smaller), each group's sum [groups] having either sign with probability 1/2.

    Exact, by convolution. Of single questions it is McNemar's test, the binomial tail of those that differ.
    """
    law = np.ones(1)  # of the sum, symmetric about 0
    for size, count in zip(*np.unique(np.abs(sums[sums != 0]), return_counts=True), strict=True):
        heads = _fair_coins(int(count))
        further = np.zeros(len(law) + 2 * size * (len(heads) - 1))
        for place, p in enumerate(heads):
            further[2 * size * place :][: len(law)] += p * law
        law = further
    return min(1.0, float(law[: max(0, len(law) // 2 + int(sums.sum()) + 1)].sum()))


def _fair_coins(count: int) -> Array:
    """The law of the heads among so many coins, without what is below 1e-300 at either end."""
    reach = min(count // 2, int(20 * math.sqrt(count)) + 1)
    heads = count // 2 - np.arange(reach)
    low = np.cumprod(np.append(1.0, heads / (count - heads + 1)))[::-1]
    law = np.concatenate([low, low[::-1][1 - count % 2 :]])
    return np.asarray(law / law.sum())


def detectable(error: float, significance: float = 0.05, claims: int = 1) -> float:
    """The smallest true difference that four of five studies find, by its standard error.

    claims: corrected for together, of which Holm's correction may leave this one the smallest p (normal,
    two-sided).
    """
    return float(ndtri(1 - significance / 2 / max(claims, 1)) + ndtri(POWER)) * error


def deviation(low: float, high: float, items: int) -> float:
    """Standard deviation of a paired difference on an item, its group's share included, by its interval.

    Before a run: the root of d times the design effect 1 + (m - 1) r, d being the share of items on which
    just one of the two is right, m the items of a group and r their correlation (Connor 1987; Kish 1965).
    """
    return (high - low) / INTERVAL * math.sqrt(items)


def finds(items: int, spread: float, significance: float = 0.05, claims: int = 1) -> float:
    """The difference that so many items find, by their `deviation`."""
    return detectable(spread / math.sqrt(items), significance, claims)


def questions_for(wanted: float, items: int, effect: float) -> int:
    """The fewest items, at least one, that find a wanted difference, where so many find `effect`."""
    return max(1, math.ceil(items * (effect / wanted) ** 2 * (1 - 1e-12)))


def minimum_detectable_effect(
    low: float | None, high: float | None, significance: float = 0.05, claims: int = 1
) -> float | None:
    """The same by the ends of the interval of a paired comparison; None where it exceeds 1, the largest
    difference of two accuracies.

    Without groups its standard error is the root of (d - difference^2) / n, d being the share of items on
    which just one of the two is right.
    """
    if low is None or high is None:
        return None
    effect = detectable((high - low) / INTERVAL, significance, claims)
    return effect if effect <= 1 else None


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

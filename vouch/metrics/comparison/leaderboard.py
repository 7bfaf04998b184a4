"""Comparing models: the leaderboard, paired differences, published numbers beside ours, scores by dimension.

`leaderboard` ranks every metric that has a direction. `differences` compares pairs of models on the prompts
that both answered; `variations` compares every prompt with the original prompt of its item. `reproduced` puts
published numbers beside both protocols. `dimensions` averages over categories, of whole datasets (as
ReForm-Eval's loader gives them, Li et al. 2023) or of parts.
"""

import functools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vouch.metrics.comparison.statistics import GRAIN, UNITS, holm, intervals, means, p_values
from vouch.metrics.intervals import some
from vouch.metrics.metric import ALL, CLEAN, MARGINAL
from vouch.metrics.metric import metrics as declared
from vouch.metrics.responses import Array
from vouch.metrics.unranked import Place, comparable
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.tables import HEADLINE
from vouch.tables.asked import INITIAL, KEPT, LETTERS, ORIGINAL, OUTPUTS
from vouch.tables.results import DIMENSIONS, LEADERBOARD, OVERALL, PUBLISHED, REPRODUCED, contents, flips

LEADERBOARD_KEYS = [
    *("dataset", "variation", "output", "protocol", "category"),
    *("calibration", "alpha", "score", "metric"),
]


def leaderboard(metrics: pa.Table, away: Collection[Place] = ()) -> pa.Table:
    """LEADERBOARD from METRICS, sorted by its keys (a null alpha first), then by rank and model.

    Only metrics declared `ranked` have ranks; equal values share the better rank. rank_low is 1 + the
    number of significantly better models, rank_high the last rank minus the number of significantly worse;
    intervals that do not touch count as significant. Both need an interval over other items, which metrics
    declared `over_splits` lack. A model that `away` lists for a dataset has no rank there
    (vouch/metrics/unranked.py).
    """
    frame = metrics.to_pandas()
    frame["alpha"] = frame["alpha"].fillna(-1.0)
    ranked_by = {name: each for name, each in declared().items() if each.ranked}
    signs = {name: 1.0 if each.better == "higher" else -1.0 for name, each in ranked_by.items()}
    sign = frame["metric"].map(signs).where(comparable(metrics, away)).to_numpy(float)
    merit = sign * frame["value"].to_numpy()
    bounds = sign[:, None] * frame[["low", "high"]].to_numpy(float)
    bounds[frame["metric"].isin([name for name, each in ranked_by.items() if each.over_splits])] = np.nan
    low, high = bounds.min(axis=1), bounds.max(axis=1)
    ranks, ranked = np.full((len(frame), 3), np.nan), np.flatnonzero(~np.isnan(sign))
    for members in frame.iloc[ranked].groupby(LEADERBOARD_KEYS, sort=False).indices.values():
        rows = ranked[members]
        better = low[rows][:, None] > high[rows]  # [better, worse]; False if a bound is NaN
        unknown = np.isnan(low[rows])
        ranks[rows, 0] = 1 + (merit[rows][:, None] > merit[rows]).sum(axis=0)
        ranks[rows, 1] = np.where(unknown, np.nan, 1 + better.sum(axis=0))
        ranks[rows, 2] = np.where(unknown, np.nan, len(rows) - better.sum(axis=1))
    frame[["rank", "rank_low", "rank_high"]] = ranks
    frame = frame.sort_values([*LEADERBOARD_KEYS, "rank", "model"], na_position="first")
    frame["alpha"] = frame["alpha"].mask(frame["alpha"] < 0)
    return pa.Table.from_pandas(frame, LEADERBOARD.schema, preserve_index=False)


Rows = list[dict[str, Any]]
PUBLISHED_KEYS = ["dataset", "model"]
ALPHA = 0.1
"""Target miscoverage of the published sets."""


def _of_sets(mean: str, of_score: str, metric: str) -> dict[str, tuple[str, str]]:
    """The published names of a metric of sets: for the mean of both scores, and for each score."""
    return {mean: ("mean", metric)} | {f"{of_score}_{s.upper()}": (s, metric) for s in HEADLINE}


NAMES = {
    "acc": ("", "accuracy"),
    **_of_sets("coverage", "coverage_all", "coverage"),
    **_of_sets("set_sizes", "set_sizes", "set_size"),
    **_of_sets("uacc", "uacc", "uacc"),
    "ece": ("", "ece"),
    "mce": ("", "mce"),
    "E_ratio": ("", "dont_know_rate"),
    "F_ratio": ("", "none_rate"),
}
"""Published name of a metric -> our score and metric."""


def reproduced(published: Mapping[str, pa.Table], metrics: pa.Table) -> Rows:
    """Rows of REPRODUCED from PUBLISHED by dataset and METRICS.

    Published models that were not scored here are left out. A number that we lack for a scored
    model is null, and so are the metrics of sets if alpha differs. Raises UserError for a published metric
    that has no counterpart.
    """
    printed = [table.to_pandas().assign(dataset=dataset) for dataset, table in published.items()]
    rows = pd.concat([PUBLISHED.schema.empty_table().to_pandas().assign(dataset=""), *printed])
    for row in rows[~rows["metric"].isin(list(NAMES))].sort_values("dataset").itertuples():
        raise UserError(
            f"data/published/{row.dataset}.parquet: {row.model}: unknown metric {row.metric}; "
            f"{did_you_mean(row.metric, list(NAMES))}; correct the published table"
        )
    ours = _comparable(metrics)
    rows = rows.rename(columns={"value": "published"}).merge(ours[PUBLISHED_KEYS].drop_duplicates())
    names = pd.DataFrame([(name, *key) for name, key in NAMES.items()], columns=["metric", "score", "own"])
    rows = rows.merge(names.assign(order=range(len(NAMES))), on="metric")
    for protocol, columns in (("faithful", ["ours"]), ("clean", ["clean", "clean_low", "clean_high"])):
        numbers = dict(zip(("value", "low", "high"), columns, strict=False))
        side = ours[ours["protocol"] == protocol].rename(columns={"metric": "own"} | numbers)
        rows = rows.merge(
            side[[*PUBLISHED_KEYS, "score", "own", *columns]],
            on=[*PUBLISHED_KEYS, "score", "own"],
            how="left",
        )
    rows["difference"] = rows["ours"] - rows["published"]
    rows = rows.sort_values([*PUBLISHED_KEYS, "order"])[REPRODUCED.schema.names]
    listed: Rows = pa.Table.from_pandas(rows, REPRODUCED.schema, preserve_index=False).to_pylist()
    return listed


def _comparable(metrics: pa.Table) -> pd.DataFrame:
    """Rows of METRICS that were computed in the same way as the published numbers."""
    wanted = {"output": LETTERS, "category": "all", "variation": ORIGINAL}
    same = functools.reduce(pc.and_, (pc.equal(metrics[name], value) for name, value in wanted.items()))
    frame = metrics.filter(same).to_pandas()
    known = frame["calibration"].isin(["", "marginal"]) & (frame["alpha"].isna() | (frame["alpha"] == ALPHA))
    return frame[known]


METRICS = ["accuracy", "cider", "cider_d"]
"""Captions have no accuracy; their CIDEr takes its place, on a scale where 1 is what papers print as 100."""
DIMENSION_KEYS = ["variation", "output", "protocol", "score"]


def dimensions(metrics: pa.Table, categories: Mapping[str, Iterable[str]]) -> Rows:
    """Rows of DIMENSIONS from METRICS and the categories of every dataset's items.

    A dimension's score is the plain mean of its datasets' accuracies (for captions, CIDEr). A model
    without a score on a dataset that another model has a score on has no score in this dimension; a model
    without a score in some dimension has no overall score.
    """
    only = {dataset: name for dataset, names in categories.items() for name in names if len({*names}) == 1}
    frame = metrics.to_pandas()
    frame = frame[frame["metric"].isin(METRICS)].sort_values(["metric", "dataset"])
    whole = frame["category"] == "all"
    frame["dimension"] = frame["category"].mask(whole, frame["dataset"].map(lambda name: only.get(name, "")))
    cells = [*DIMENSION_KEYS, "dimension", "model", "dataset"]
    frame = frame[frame["dimension"] != ""].drop_duplicates(cells)  # accuracy comes first
    scores = _complete_means(frame, "dataset", [*DIMENSION_KEYS, "dimension"], ["value"])
    scores["rank"] = scores.groupby([*DIMENSION_KEYS, "dimension"])["value"].rank("min", ascending=False)
    overall = _complete_means(scores, "dimension", DIMENSION_KEYS, ["value", "rank"]).assign(
        dimension=OVERALL
    )
    made = pd.concat([scores, overall[overall["parts"] > 1]])
    made["last"], made["at"] = made["dimension"] == OVERALL, made["output"].map(OUTPUTS.index)
    made = made.sort_values(["variation", "at", "protocol", "score", "last", "dimension", "model"])
    rows: Rows = made[DIMENSIONS.schema.names].to_dict("records")
    return rows


def _complete_means(frame: pd.DataFrame, part: str, place: list[str], columns: list[str]) -> pd.DataFrame:
    """Means of the columns over the parts of each `place`, for the models that have all its parts."""
    groups = frame.groupby([*place, "model"])
    # Added one part after the other: the mean of pandas differs in the last digits.
    means = (
        groups[columns]
        .agg(lambda values: sum(values) / len(values))
        .assign(parts=groups[part].nunique())
        .reset_index()
    )
    parts = frame.groupby(place)[part].nunique().rename("whole").reset_index()
    means = means.merge(parts, on=place)
    return means[means["parts"] == means["whole"]]


def differences(
    outcomes: pa.Table,
    seed: int,
    resamples: int,
    blind: Collection[Place] = (),
    shown: Mapping[str, Collection[str]] | None = None,
) -> list[dict[str, Any]]:
    """Rows of DIFFERENCES from rows of OUTCOMES: first minus second, models in the order of their names.

    Compares the clean accuracy of the variation `original` on the prompts that both models have, for each
    output. Interval: `intervals`. p: t-test with the sandwich variance over groups (p from 1,000 bootstrap
    draws is too coarse for the correction); if few groups differ, at least what their signs allow. Corrected
    over the pairs of a dataset and output (Holm 1979). Fewer than two groups have neither interval nor p.

    blind: the blind baselines. Each is compared with every model that sees, which comes first; these pairs
    come after the others and are corrected apart, so that no baseline changes a number of the others.
    shown: by dataset, the items with an image: only these count in pairs with a baseline. By default all.
    """
    keep = pc.and_(pc.equal(outcomes["variation"], ORIGINAL), pc.is_valid(outcomes["clean_correct"]))
    columns = ["dataset", "output", "model", "prompt", "group", "clean_correct"]
    columns += [] if shown is None else ["item"]
    frame = outcomes.filter(keep).select(columns).to_pandas()
    rows: list[dict[str, Any]] = []
    indices = frame.groupby(["dataset", "output"]).indices
    for dataset, output in sorted(indices, key=lambda pair: (pair[0], OUTPUTS.index(pair[1]))):
        own = frame.iloc[indices[dataset, output]]
        apart = own["model"].isin([model for model, *where in blind if where == [dataset, output]])
        keys = {"dataset": dataset, "output": output}
        families = [list(_pairs(own[~apart], seed, resamples))]
        if apart.any():
            language_models = set(own["model"][apart])
            if shown is not None:
                own = own[own["item"].isin(list(shown.get(dataset, ())))]
            families.append(list(_pairs(own, seed, resamples, language_models)))
        for pairs in families:
            corrected = holm([row["p"] for row in pairs])
            rows += [keys | row | {"p_holm": p} for row, p in zip(pairs, corrected, strict=True)]
    return rows


def _pairs(
    frame: pd.DataFrame, seed: int, resamples: int, blind: Collection[str] = ()
) -> Iterator[dict[str, Any]]:
    """Of every two models; with blind baselines, of each model that sees with each of these."""
    wide = frame.pivot(index=["group", "prompt"], columns="model", values="clean_correct")
    models, correct = wide.columns, np.rint(UNITS * wide.to_numpy())
    firsts, seconds = np.triu_indices(len(models), 1)
    if blind:
        takes_none = models.isin(list(blind))
        sides = np.meshgrid(np.flatnonzero(~takes_none), np.flatnonzero(takes_none), indexing="ij")
        firsts, seconds = (side.ravel() for side in sides)
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


FLIPPED = "flipped"
NOT_FLIPPED = "not_flipped"
CONTENT = "content"
"""Column: a number for the content read from an answer; NaN if nothing could be read."""
# metric, score, column of the outcomes
MEASURES = (
    ("accuracy", "", "clean_correct"),
    ("confidence", "", "confidence"),
    *(("set_size", score, f"clean_size_{score}") for score in HEADLINE),
    (FLIPPED, "", CONTENT),
    (NOT_FLIPPED, "", CONTENT),
)
RANGES = {"set_size": (-np.inf, np.inf), FLIPPED: (0, 1), NOT_FLIPPED: (0, 1)}
"""Bounds of the difference on one item, if they are not -1 and 1."""
PAIR = ["model", "output", "item"]
FEWEST_GROUPS = 100
"""Fewest groups whose sets may be compared with those of more questions. The threshold of few questions is
rounded up further, which enlarges their sets: n groups that calibrate cover
ceil((n + 1)(1 - alpha)) / (n + 1) on average. With n = 50, half of these groups, that is 0.902 for a target
of 0.9, and at most 0.02 more than any target; with n = 15 it is 0.938."""
Asked = tuple[str, str, str, str]
"""Model, dataset, output, variation."""


def uncalibrated(metrics: pa.Table, alpha: float) -> frozenset[Asked]:
    """Where the marginal threshold is infinite in some split, so that sets hold every option.

    metrics: rows of METRICS.
    """
    wanted = {
        "metric": "infinite_threshold_rate",
        "protocol": CLEAN,
        "category": ALL,
        "calibration": MARGINAL,
    }
    same = functools.reduce(pc.and_, (pc.equal(metrics[name], value) for name, value in wanted.items()))
    return frozenset(
        (row["model"], row["dataset"], row["output"], row["variation"])
        for row in metrics.filter(same).to_pylist()
        if row["value"] and row["alpha"] is not None and math.isclose(row["alpha"], alpha)
    )


def variations(
    outcomes: pa.Table, seed: int, resamples: int, infinite: Collection[Asked] = ()
) -> Iterator[dict[str, Any]]:
    """Rows of VARIATIONS from rows of OUTCOMES, by dataset, model, output, variation and MEASURES.

    Covers the prompts that the clean protocol keeps, if it also keeps their item's original prompt.
    Interval: `intervals`, which resamples items, not splits. Every variation of a dataset uses the
    same draws. A difference of set sizes has no bounds, so it has no interval if all groups agree.

    infinite: see `uncalibrated`. Sets are compared only if both thresholds are finite and, if the variation
    lacks some of the original questions, FEWEST_GROUPS have both prompts; else the thresholds would differ
    because of the number of questions alone.
    """
    for dataset in sorted(pc.unique(outcomes["dataset"]).to_pylist()):
        of_dataset = outcomes.filter(pc.equal(outcomes["dataset"], dataset))
        without = frozenset((model, *rest) for model, where, *rest in infinite if where == dataset)
        for row in _rows(_variations_pairs(of_dataset), seed, resamples, without):
            yield {"dataset": dataset} | row


def _variations_pairs(outcomes: pa.Table) -> pd.DataFrame:
    """Outcomes that the clean protocol keeps, each joined with the outcome of its item's original prompt."""
    compared = pc.not_equal(outcomes["variation"], INITIAL)
    kept = outcomes.filter(pc.and_(compared, pc.is_valid(outcomes["clean_correct"])))
    frame = kept.to_pandas()
    frame[CONTENT] = contents(kept)
    plain = frame["variation"] == ORIGINAL
    columns = list(dict.fromkeys(column for *_, column in MEASURES))
    of_model = frame["item"].where(plain).groupby([frame["model"], frame["output"]])
    frame["asked"] = of_model.transform("nunique")
    return frame[~plain].merge(frame.loc[plain, [*PAIR, *columns]], on=PAIR, suffixes=("", "_original"))


def _sets_comparable(pairs: pd.DataFrame) -> bool:
    """Whether the thresholds of a variation and of the original rest on the same or on enough questions."""
    whole = pairs["item"].nunique() == pairs["asked"].iloc[0]
    return bool(whole or pairs["group"].nunique() >= FEWEST_GROUPS)


def _rows(
    pairs: pd.DataFrame, seed: int, resamples: int, infinite: frozenset[tuple[str, ...]]
) -> list[dict[str, Any]]:
    groups, total = pd.factorize(pairs["group"], sort=True)[0], pairs["group"].nunique()
    named: list[dict[str, Any]] = []
    gaps: list[tuple[Array, Array]] = []
    indices = pairs.groupby(["model", "output", "variation"]).indices
    for model, output, variation in sorted(indices, key=lambda one: (one[0], OUTPUTS.index(one[1]), one[2])):
        members = indices[model, output, variation]
        own = pairs.iloc[members]
        finite = infinite.isdisjoint({(model, output, variation), (model, output, ORIGINAL)})
        of_sets = finite and _sets_comparable(own)
        for metric, score, column in MEASURES:
            if metric == "set_size" and not of_sets:
                continue
            value, original = _values(own, metric, column)
            known = ~np.isnan(value - original)
            if not known.any():
                continue
            of_group, gap = groups[members][known], (value - original)[known]
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
    """The measure in the variation and in the original, in units; NaN if it does not apply.

    FLIPPED: whether the answer differs, and 0. NOT_FLIPPED: whether a correct answer wrongly stayed, and 0.
    """
    value, original = (pairs[name].to_numpy(float) for name in (column, f"{column}_original"))
    if column == CONTENT:
        kept = (pairs["effect"].fillna(KEPT) == KEPT).to_numpy()
        flipped = flips(value, original, pairs["clean_correct_original"].to_numpy(float), kept)
        value = np.where(kept == (metric == FLIPPED), flipped, np.nan)
        original = np.zeros(len(value))
    return np.rint(GRAIN * value), np.rint(GRAIN * original)

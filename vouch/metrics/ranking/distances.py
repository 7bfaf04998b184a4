"""How well one number orders models as another one does: the only place where correlations are computed.

Both arguments hold one number per model in the last axis, [..., models], and higher is better in both.
NaN where all numbers of one side are equal, or one is NaN.

How far datasets lie apart by their embeddings, and what that says about models' order.

Apart: the Frechet distance between Gaussians (Dowson and Landau 1982; of data sets: Heusel et al. 2017).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.special import stdtr
from scipy.stats import rankdata

from vouch.metrics.responses import Array
from vouch.pipeline.errors import UserError

EXACT = 8
"""Most models for which every permutation is looked at."""
CLOSE = 1e-9


def spearman(x: Array, y: Array) -> Array:
    """[...] Spearman's rho, ties at their mean rank."""
    return _pearson(_ranks(x), _ranks(y))


def weighted_tau(x: Array, y: Array) -> Array:
    """[...] weighted Kendall tau (Vigna 2015) as scipy.stats.weightedtau has it by default.

    A pair weighs 1 / (1 + r) + 1 / (1 + s), with r and s the places of its models from the top, 0 for the
    best. The mean of the taus by the order of x (ties: of y) and by that of y (ties: of x).
    """
    signs_x, signs_y = _signs(x), _signs(y)
    # A pair's weight is a sum over its two models: so is the sum over all pairs.
    agreed, of_x, of_y = (
        pairs.sum(axis=-1, dtype=np.int64) for pairs in (signs_x * signs_y, signs_x**2, signs_y**2)
    )
    taus = []
    for first, second in ((x, y), (y, x)):
        weights = 1 / (1 + _places(first, second))
        both, alone_x, alone_y = ((weights * pairs).sum(axis=-1) for pairs in (agreed, of_x, of_y))
        with np.errstate(invalid="ignore"):
            taus.append(both / (np.sqrt(alone_x) * np.sqrt(alone_y)))
    unknown = (np.isnan(x) | np.isnan(y)).any(axis=-1)
    return np.where(unknown, np.nan, np.clip((taus[0] + taus[1]) / 2, -1, 1))


def _signs(values: Array) -> NDArray[np.int8]:
    """[..., n, n] the sign of each model's value minus each other's."""
    one, other = values[..., :, None], values[..., None, :]
    return np.asarray((one > other).view(np.int8) - (one < other).view(np.int8))


def p_values(x: Array, y: Array) -> tuple[float, float]:
    """Two-sided p of the rho of [models], and the smallest that any order of these models could have.

    Up to EXACT models the share of all permutations whose rho is as far from 0; above, Student's t with n - 2
    degrees of freedom, and 2 / n! for the smallest. (NaN, NaN) where rho is NaN.
    """
    count, rho = len(x), float(spearman(x, y))
    if np.isnan(rho):
        return math.nan, math.nan
    if count <= EXACT:
        drawn = np.abs(_pearson(_ranks(x)[_permutations(count)], _ranks(y)[None]))
        return float((drawn >= abs(rho) - CLOSE).mean()), float((drawn >= drawn.max() - CLOSE).mean())
    least = 2 / math.factorial(count)
    if abs(rho) == 1:
        return least, least
    t = abs(rho) * math.sqrt((count - 2) / (1 - rho**2))
    return max(least, float(2 * stdtr(count - 2, -t))), least


@cache
def _permutations(count: int) -> NDArray[np.int64]:
    return np.array(list(permutations(range(count))))


def _ranks(values: Array) -> Array:
    """Twice the ranks, whole numbers, so that sums of them are exact."""
    return np.asarray(np.rint(2 * rankdata(values, axis=-1)))


def _pearson(x: Array, y: Array) -> Array:
    """[...] of whole numbers [..., n]."""
    count = x.shape[-1]

    def product(a: Array, b: Array) -> Array:
        return np.asarray(count * (a * b).sum(axis=-1) - a.sum(axis=-1) * b.sum(axis=-1))

    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.clip(product(x, y) / np.sqrt(product(x, x) * product(y, y)), -1, 1))


def _places(first: Array, second: Array) -> NDArray[np.int64]:
    """[..., n] place from the top by `first`, ties by `second`."""
    order = np.lexsort((second, first), axis=-1)[..., ::-1]
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.broadcast_to(np.arange(order.shape[-1]), order.shape), axis=-1)
    return places


Rows = list[dict[str, Any]]
LINE = "accuracy_on_the_line"
PARTS = 5
"""Random partitions of a pair: sums over all numbers of an embedding hardly differ from one to the next."""
DRAWS = 2000
DIGITS = 6
"""Digits that are kept: the last ones hang on how many threads the linear algebra had."""


@dataclass(frozen=True)
class Gaussian:
    """mean [d]; root [d, d], the symmetric square root of the covariance; spread, the covariance's trace."""

    mean: Array
    root: Array
    spread: float


def gaussian(vectors: Array, weights: Array) -> Gaussian:
    """Of n embeddings [n, d] that count `weights` [n] times, whole numbers of at least two in all.

    The covariance is divided by that sum minus 1. Where it has less than full rank, so has its root, and the
    distance is defined all the same.
    """
    total = weights.sum()
    mean = weights @ vectors / total
    centred = vectors - mean
    covariance = (centred * weights[:, None]).T @ centred / (total - 1)
    values, axes = np.linalg.eigh(covariance)
    root = (axes * np.sqrt(np.maximum(values, 0))) @ axes.T
    return Gaussian(mean, root, float(np.trace(covariance)))


def distance(one: Gaussian, other: Gaussian) -> float:
    """|m1 - m2|^2 + tr(S1 + S2 - 2 (S1^(1/2) S2 S1^(1/2))^(1/2)), at least 0.

    The trace of the last root is the sum of the singular values of S1^(1/2) S2^(1/2), which needs no root of
    a matrix that is not symmetric.
    """
    apart = float(((one.mean - other.mean) ** 2).sum())
    common = float(np.linalg.svd(one.root @ other.root, compute_uv=False).sum())
    return max(0.0, apart + one.spread + other.spread - 2 * common)


@dataclass(frozen=True)
class Cloud:
    """vectors [n, d] of a dataset, and how many items have each [n]."""

    encoder: str
    vectors: Array
    weights: Array


def cloud(table: pa.Table, where: str) -> Cloud | None:
    """From rows of EMBEDDINGS, None without any. Raises UserError unless all have one width and encoder."""
    if not table.num_rows:
        return None
    encoders = table["encoder"].unique().to_pylist()
    widths = pc.list_value_length(table["embedding"]).unique().to_pylist()
    if len(encoders) > 1 or len(widths) > 1 or not widths[0]:
        raise UserError(f"{where}: embeddings of several encoders or widths; run `dvc repro` to make it anew")
    flat = pc.list_flatten(table["embedding"]).to_numpy().astype(np.float64)
    return Cloud(encoders[0], flat.reshape(-1, widths[0]), table["items"].to_numpy().astype(np.float64))


def distances(clouds: Mapping[tuple[str, str], Cloud], seed: int) -> Rows:
    """Rows of DISTANCES. clouds: by kind and dataset. Raises UserError where encoders differ."""
    rows: Rows = []
    for kind in sorted({kind for kind, _ in clouds}):
        found = {name: clouds[kind, name] for of, name in sorted(clouds) if of == kind}
        gaussians = {
            name: gaussian(each.vectors, each.weights)
            for name, each in found.items()
            if each.weights.sum() > 1
        }
        for one, other in combinations(found, 2):
            first, second = found[one], found[other]
            if first.encoder != second.encoder:
                raise UserError(f"data/embeddings: {one} and {other} differ in the encoder; run `dvc repro`")
            row: dict[str, Any] = {"of": kind, "encoder": first.encoder, "dataset": one, "other": other}
            row |= {"items": len(first.weights), "other_items": len(second.weights)}
            width = first.vectors.shape[1]
            row |= {"width": width, "deficient": min(row["items"], row["other_items"]) <= width}
            if one in gaussians and other in gaussians:
                row["distance"] = _rounded(distance(gaussians[one], gaussians[other]))
                row["chance"] = _rounded(_chance(first, second, seed))
            rows.append(row)
    return rows


def _chance(first: Cloud, second: Cloud, seed: int) -> float:
    """Mean distance between random parts of both datasets together, of as many embeddings as each has."""
    vectors = np.concatenate([first.vectors, second.vectors])
    weights = np.concatenate([first.weights, second.weights])
    generator = np.random.RandomState(seed)
    found = []
    for _ in range(PARTS):
        order = generator.permutation(len(vectors))
        parts = order[: len(first.weights)], order[len(first.weights) :]
        if all(weights[part].sum() > 1 for part in parts):
            found.append(distance(*(gaussian(vectors[part], weights[part]) for part in parts)))
    return float(np.mean(found)) if found else np.nan


def _rounded(value: float) -> float | None:
    return None if np.isnan(value) else float(f"{value:.{DIGITS - 1}e}")


def trends(distances: Rows, rankings: Rows, seed: int) -> Rows:
    """Rows of TRENDS from rows of DISTANCES and RANKINGS."""
    lines = {
        (row["output"], row["dataset"], row["proxy"]): row["rho"]
        for row in rankings
        if row["ranker"] == LINE and row.get("rho") is not None
    }
    rows: Rows = []
    for kind in sorted({row["of"] for row in distances}):
        far = {
            frozenset((row["dataset"], row["other"])): row["distance"]
            for row in distances
            if row["of"] == kind and row.get("distance") is not None
        }
        for output in sorted({output for output, *_ in lines}):
            alike = {
                frozenset((dataset, proxy)): rho
                for (of, dataset, proxy), rho in lines.items()
                if of == output and frozenset((dataset, proxy)) in far
            }
            if alike:
                rows.append({"of": kind, "output": output, "pairs": len(alike)} | _trend(far, alike, seed))
    return rows


def _trend(
    far: Mapping[frozenset[str], float], alike: Mapping[frozenset[str], float], seed: int
) -> dict[str, float | None]:
    """rho and p; datasets are permuted in `far`, and pairs without a number there are left out of a draw."""
    names = sorted({name for pair in alike for name in pair})
    pairs = sorted(tuple(sorted(names.index(name) for name in pair)) for pair in alike)
    apart = np.full((len(names), len(names)), np.nan)
    for pair, value in far.items():
        if pair <= set(names):
            one, other = (names.index(name) for name in pair)
            apart[one, other] = apart[other, one] = value
    rows, columns = np.array(pairs).T
    rho_of = np.array([alike[frozenset((names[one], names[other]))] for one, other in pairs])
    with np.errstate(invalid="ignore"):
        rho = float(spearman(apart[rows, columns], rho_of))
    if np.isnan(rho):
        return {}
    found: dict[str, float | None] = {"rho": rho}
    if len(names) > 2:
        orders = _orders(len(names), seed)
        drawn = np.array([_spearman(apart[order[rows], order[columns]], rho_of) for order in orders])
        known = drawn[~np.isnan(drawn)]
        found["p"] = float((np.abs(known) >= abs(rho) - CLOSE).mean())
    return found


def _spearman(x: Array, y: Array) -> float:
    known = ~np.isnan(x)
    return float(spearman(x[known], y[known])) if known.sum() > 1 else np.nan


def _orders(count: int, seed: int) -> Iterator[np.ndarray]:
    """All permutations of up to EXACT datasets; above, the order as it is and random ones."""
    if count <= EXACT:
        yield from (np.array(order) for order in permutations(range(count)))
        return
    generator = np.random.RandomState(seed)
    yield np.arange(count)
    yield from (generator.permutation(count) for _ in range(DRAWS - 1))

"""Whether thresholds and the order of models carry over from one dataset to another.

`transfers` applies thresholds calibrated on one dataset or model to another, unweighted or weighted by the
density ratio of embeddings. `distances` measures how far apart datasets are: the Frechet distance between
Gaussians fitted to their embeddings (Dowson and Landau 1982; for datasets Heusel et al. 2017). `trends` asks
whether the order of models differs more between datasets that are further apart.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.comparison.ranking import CLOSE, EXACT, spearman
from vouch.metrics.conformal.selective import TOLERATED, answer_threshold
from vouch.metrics.conformal.sets import density_ratio, group_splits, weighted_thresholds
from vouch.metrics.intervals import percentiles
from vouch.metrics.responses import Array
from vouch.pipeline.errors import UserError
from vouch.tables.asked import ORIGINAL
from vouch.tables.results import NONE

SPLITS = 100
CALIBRATION = 0.5
Vectors = Mapping[str, Mapping[str, Array]]
"""An embedding for each dataset and item."""


@dataclass(frozen=True)
class _Answers:
    """n rows of one model, dataset and output. scores [n]: minus p of the answer, which sorts rows as LAC's
    1 - p does but cannot round to 1 for a tiny p; NaN for texts. p: each row's probabilities."""

    items: list[str]
    groups: list[str]
    scores: Array
    p: list[Any]
    confidence: Array
    right: Array


def item_vectors(items: pa.Table, images: pa.Table, questions: pa.Table) -> dict[str, dict[str, Array]]:
    """By kind and item, the embedding of its question or the mean of its images; all items of a kind or none.

    items: id, images and question of ITEMS; images, questions: rows of EMBEDDINGS of the same dataset.
    """
    import hashlib

    of = {
        "images": items["images"].to_pylist(),
        "questions": [
            [hashlib.sha256((text or "").encode()).hexdigest()] for text in items["question"].to_pylist()
        ],
    }
    vectors = {}
    for kind, table in (("images", images), ("questions", questions)):
        known = dict(zip(table["digest"].to_pylist(), table["embedding"].to_pylist(), strict=True))
        if known and all(names and known.keys() >= set(names) for names in of[kind]):
            every = (np.mean([known[name] for name in names], axis=0, dtype=float) for names in of[kind])
            vectors[kind] = dict(zip(items["id"].to_pylist(), every, strict=True))
    return vectors


def transfers(
    outcomes: pa.Table, label_free: pa.Table, vectors: Mapping[str, Vectors], alpha: float, seed: int
) -> Iterator[dict[str, Any]]:
    """Rows of TRANSFER from rows of OUTCOMES and LABEL_FREE. vectors: by kind.

    In each of SPLITS splits a whole group either calibrates or tests, as in the clean protocol.
    """
    every = _answers(outcomes, label_free)
    for (output, source, here), (there, model, name) in product(sorted(every), sorted(every)):
        if output != there or (source != model and here != name):
            continue
        first, second = every[output, source, here], every[there, model, name]
        row: dict[str, Any] = {"output": output, "from_model": source, "from_dataset": here}
        row |= {"model": model, "dataset": name, "items": len(second.items)}
        home = (source, here) == (model, name)
        yield row | {"weighting": NONE} | _plain(first, second, alpha, seed, home)
        for kind, of in sorted(vectors.items()):
            if here != name and {here, name} <= of.keys() and not np.isnan(first.scores).any():
                source_rows, target_rows = (
                    np.array([of[dataset][item] for item in answers.items])
                    for dataset, answers in ((here, first), (name, second))
                )
                if source_rows.shape[1] == target_rows.shape[1]:
                    weights = density_ratio(source_rows, target_rows)
                    yield row | {"weighting": kind} | _sets(first, second, weights, alpha, seed)


def _answers(outcomes: pa.Table, label_free: pa.Table) -> dict[tuple[str, str, str], _Answers]:
    """By output, model and dataset, for the original prompts that the clean protocol keeps."""
    kept = pc.and_(pc.equal(outcomes["variation"], ORIGINAL), pc.is_valid(outcomes["clean_correct"]))
    names = ["output", "model", "dataset", "prompt"]
    columns = [*names, "item", "group", "confidence", "clean_correct"]
    frame = outcomes.filter(kept).select(columns).to_pandas()
    given = label_free.filter(pc.is_valid(label_free["probabilities"]))
    of = given.select([*names, "probabilities", "answers"]).to_pandas()
    frame = frame.merge(of, on=names, how="left").dropna(subset=["confidence"])
    answers = {}
    for key, part in frame.groupby(names[:3], sort=True):
        pairs = zip(part["probabilities"], part["answers"], strict=True)
        scores = [np.nan if p is None or isinstance(p, float) else -max(p[a] for a in right)
                  for p, right in pairs]  # fmt: skip
        output, model, dataset = key
        answers[str(output), str(model), str(dataset)] = _Answers(
            part["item"].tolist(),
            part["group"].tolist(),
            np.array(scores),
            part["probabilities"].tolist(),
            part["confidence"].to_numpy(float),
            part["clean_correct"].to_numpy(float),
        )
    return answers


def _plain(first: _Answers, second: _Answers, alpha: float, seed: int, same: bool) -> dict[str, Any]:
    """Sets and single answers, by unweighted thresholds. same: whether both are the same rows."""
    groups = np.unique(first.groups, return_inverse=True)[1]
    limit = answer_threshold(first.confidence, first.right, groups, TOLERATED, seed=seed)
    row: dict[str, Any] = {}
    if limit.answered:
        given = second.confidence >= limit.threshold
        row["threshold"] = limit.threshold
        row["answered"] = limit.answered if same else float(given.mean())
        errors = limit.errors / int(limit.answers.sum()) if same else (second.right[given] < 1).mean()
        row["wrong"] = float(errors) if same or given.any() else None
    if np.isnan(first.scores).any() or np.isnan(second.scores).any():
        return row
    return row | _sets(first, second, (np.ones(len(first.items)), np.ones(len(second.items))), alpha, seed)


def _sets(
    first: _Answers, second: _Answers, weights: tuple[Array, Array], alpha: float, seed: int
) -> dict[str, Any]:
    """Coverage and size of LAC sets; weights: of the rows of both. An empty dict if a half is empty."""
    numbers = np.unique([*first.groups, *second.groups], return_inverse=True)[1]
    cut, measured = len(first.groups), []
    most = max(map(len, second.p))
    p = np.array([[*row, *[-1.0] * (most - len(row))] for row in second.p]).T.copy()  # [k, n]
    for split in group_splits(numbers, CALIBRATION, seed, SPLITS):
        calibrates, tests = split[:cut], ~split[cut:]
        if not calibrates.any() or not tests.any():
            return {}
        own = weights[0][calibrates]
        limits = weighted_thresholds(first.scores[calibrates], own, weights[1][tests], alpha)
        tested = p[:, tests]
        size = ((-tested <= limits) & (tested >= 0)).sum(axis=0)
        covered = second.scores[tests] <= limits
        effective = own.sum() ** 2 / (own**2).sum()
        measured.append((covered.mean(), size.mean(), np.isinf(limits).mean(), effective))
    coverage, *others = np.array(measured).T
    low, high = percentiles(coverage)
    sizes, infinite, effective = (float(each.mean()) for each in others)
    return {"coverage": float(coverage.mean()), "low": low, "high": high, "set_size": sizes} | {
        "infinite": infinite,
        "effective": effective,
    }


Rows = list[dict[str, Any]]
LINE = "accuracy_on_the_line"
PARTS = 5
"""Random partitions of a pair. Few suffice: a sum over all numbers of an embedding hardly varies."""
DRAWS = 2000
DIGITS = 6
"""Significant digits: the last ones depend on the number of threads of the linear algebra."""


@dataclass(frozen=True)
class Gaussian:
    """mean [d]; root [d, d]: symmetric square root of the covariance; spread: the covariance's trace."""

    mean: Array
    root: Array
    spread: float


def gaussian(vectors: Array, weights: Array) -> Gaussian:
    """The Gaussian of n embeddings [n, d]; each counts `weights` [n] times: whole numbers, sum at least two.

    The covariance is divided by that sum minus 1. If it lacks full rank, its root does too, but the
    distance is still defined.
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
    """vectors [n, d] of a dataset; weights [n]: how many items have each vector."""

    encoder: str
    vectors: Array
    weights: Array


def cloud(table: pa.Table, where: str) -> Cloud | None:
    """The cloud of rows of EMBEDDINGS, None without rows. Raises UserError if widths or encoders differ."""
    if not table.num_rows:
        return None
    encoders = table["encoder"].unique().to_pylist()
    widths = pc.list_value_length(table["embedding"]).unique().to_pylist()
    if len(encoders) > 1 or len(widths) > 1 or not widths[0]:
        raise UserError(f"{where}: embeddings of several encoders or widths; run `dvc repro` to make it anew")
    flat = pc.list_flatten(table["embedding"]).to_numpy().astype(np.float64)
    return Cloud(encoders[0], flat.reshape(-1, widths[0]), table["items"].to_numpy().astype(np.float64))


def distances(clouds: Mapping[tuple[str, str], Cloud], seed: int) -> Rows:
    """Rows of DISTANCES. clouds: by kind and dataset. Raises UserError if encoders differ."""
    rows: Rows = []
    for kind in sorted({kind for kind, _ in clouds}):
        of_kind = {name: clouds[kind, name] for of, name in sorted(clouds) if of == kind}
        gaussians = {
            name: gaussian(each.vectors, each.weights)
            for name, each in of_kind.items()
            if each.weights.sum() > 1
        }
        for one, other in combinations(of_kind, 2):
            first, second = of_kind[one], of_kind[other]
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
    """Mean distance between two random parts of the datasets' union that are as large as the datasets."""
    vectors = np.concatenate([first.vectors, second.vectors])
    weights = np.concatenate([first.weights, second.weights])
    generator = np.random.RandomState(seed)
    drawn = []
    for _ in range(PARTS):
        order = generator.permutation(len(vectors))
        parts = order[: len(first.weights)], order[len(first.weights) :]
        if all(weights[part].sum() > 1 for part in parts):
            drawn.append(distance(*(gaussian(vectors[part], weights[part]) for part in parts)))
    return float(np.mean(drawn)) if drawn else np.nan


def _rounded(value: float) -> float | None:
    return None if np.isnan(value) else float(f"{value:.{DIGITS - 1}e}")


def trends(distances: Rows, rankings: Rows, seed: int) -> Rows:
    """Rows of TRENDS from rows of DISTANCES and RANKINGS: do close datasets rank models alike?

    That is the rank correlation, over pairs of datasets, of their distance and of how much their rankings
    agree (rho of the ranker LINE); p by permuting datasets.
    """
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
    """rho and p. Each draw permutes the datasets in `far` and leaves out pairs that have no distance."""
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
    trend: dict[str, float | None] = {"rho": rho}
    if len(names) > 2:
        orders = _orders(len(names), seed)
        drawn = np.array([_spearman(apart[order[rows], order[columns]], rho_of) for order in orders])
        known = drawn[~np.isnan(drawn)]
        trend["p"] = float((np.abs(known) >= abs(rho) - CLOSE).mean())
    return trend


def _spearman(x: Array, y: Array) -> float:
    known = ~np.isnan(x)
    return float(spearman(x[known], y[known])) if known.sum() > 1 else np.nan


def _orders(count: int, seed: int) -> Iterator[np.ndarray]:
    """All permutations of at most EXACT datasets; for more, the given order and random ones."""
    if count <= EXACT:
        yield from (np.array(order) for order in permutations(range(count)))
        return
    generator = np.random.RandomState(seed)
    yield np.arange(count)
    yield from (generator.permutation(count) for _ in range(DRAWS - 1))

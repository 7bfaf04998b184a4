"""Rows of TRANSFER: thresholds of one dataset or model on another, as they are and weighted."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.conformal.selective import alone
from vouch.metrics.conformal.sets import group_splits
from vouch.metrics.conformal.weighted import density_ratio, weighted_thresholds
from vouch.metrics.intervals import percentiles
from vouch.metrics.responses import Array
from vouch.tables.asked import ORIGINAL
from vouch.tables.results import NONE

SPLITS = 100
CALIBRATION = 0.5
WRONG = 0.05
Vectors = Mapping[str, Mapping[str, Array]]
"""By dataset and item, an embedding."""


@dataclass(frozen=True)
class _Answers:
    """Of one model, dataset and output, n rows. scores [n]: minus p of the answer, in the order of LAC's
    1 - p, which would round to 1 where p is tiny; NaN for texts. p: by row."""

    items: list[str]
    groups: list[str]
    scores: Array
    p: list[Any]
    confidence: Array
    right: Array


def item_vectors(items: pa.Table, images: pa.Table, questions: pa.Table) -> dict[str, dict[str, Array]]:
    """By kind and item, the mean embedding of its pictures, and that of its question; all or none of a kind.

    items: id, images and question of ITEMS; images, questions: rows of EMBEDDINGS of the same dataset.
    """
    import hashlib

    of = {
        "images": items["images"].to_pylist(),
        "questions": [
            [hashlib.sha256((text or "").encode()).hexdigest()] for text in items["question"].to_pylist()
        ],
    }
    found = {}
    for kind, table in (("images", images), ("questions", questions)):
        known = dict(zip(table["digest"].to_pylist(), table["embedding"].to_pylist(), strict=True))
        if known and all(names and known.keys() >= set(names) for names in of[kind]):
            every = (np.mean([known[name] for name in names], axis=0, dtype=float) for names in of[kind])
            found[kind] = dict(zip(items["id"].to_pylist(), every, strict=True))
    return found


def transfers(
    outcomes: pa.Table, label_free: pa.Table, vectors: Mapping[str, Vectors], alpha: float, seed: int
) -> Iterator[dict[str, Any]]:
    """Rows of TRANSFER from rows of OUTCOMES and LABEL_FREE. vectors: by kind.

    Whole groups calibrate or test, as in the clean protocol, in SPLITS splits.
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
    """By output, model and dataset; of the original prompts that the clean protocol keeps."""
    kept = pc.and_(pc.equal(outcomes["variation"], ORIGINAL), pc.is_valid(outcomes["clean_correct"]))
    names = ["output", "model", "dataset", "prompt"]
    columns = [*names, "item", "group", "confidence", "clean_correct"]
    frame = outcomes.filter(kept).select(columns).to_pandas()
    given = label_free.filter(pc.is_valid(label_free["probabilities"]))
    of = given.select([*names, "probabilities", "answers"]).to_pandas()
    frame = frame.merge(of, on=names, how="left").dropna(subset=["confidence"])
    found = {}
    for place, part in frame.groupby(names[:3], sort=True):
        pairs = zip(part["probabilities"], part["answers"], strict=True)
        scores = [np.nan if p is None or isinstance(p, float) else -max(p[a] for a in right)
                  for p, right in pairs]  # fmt: skip
        output, model, dataset = place
        found[str(output), str(model), str(dataset)] = _Answers(
            part["item"].tolist(),
            part["group"].tolist(),
            np.array(scores),
            part["probabilities"].tolist(),
            part["confidence"].to_numpy(float),
            part["clean_correct"].to_numpy(float),
        )
    return found


def _plain(first: _Answers, second: _Answers, alpha: float, seed: int, same: bool) -> dict[str, Any]:
    """Sets and single answers by thresholds as they are; of its own the share that was shown."""
    groups = np.unique(first.groups, return_inverse=True)[1]
    found = alone(first.confidence, first.right, groups, WRONG, seed=seed)
    row: dict[str, Any] = {}
    if found.answered:
        given = second.confidence >= found.threshold
        row["answered"] = found.answered if same else float(given.mean())
        errors = found.errors / int(found.answers.sum()) if same else (second.right[given] < 1).mean()
        row["wrong"] = float(errors) if same or given.any() else None
    if np.isnan(first.scores).any() or np.isnan(second.scores).any():
        return row
    return row | _sets(first, second, (np.ones(len(first.items)), np.ones(len(second.items))), alpha, seed)


def _sets(
    first: _Answers, second: _Answers, weights: tuple[Array, Array], alpha: float, seed: int
) -> dict[str, Any]:
    """Of LAC sets; weights of the rows of both. Nothing where a half is empty."""
    numbers = np.unique([*first.groups, *second.groups], return_inverse=True)[1]
    cut, found = len(first.groups), []
    most = max(map(len, second.p))
    p = np.array([[*row, *[-1.0] * (most - len(row))] for row in second.p])
    for split in group_splits(numbers, CALIBRATION, seed, SPLITS):
        calibrates, tests = split[:cut], ~split[cut:]
        if not calibrates.any() or not tests.any():
            return {}
        own = weights[0][calibrates]
        limits = weighted_thresholds(first.scores[calibrates], own, weights[1][tests], alpha)
        size = ((-p[tests] <= limits[:, None]) & (p[tests] >= 0)).sum(axis=1)
        covered = second.scores[tests] <= limits
        effective = own.sum() ** 2 / (own**2).sum()
        found.append((covered.mean(), size.mean(), np.isinf(limits).mean(), effective))
    coverage, *others = np.array(found).T
    low, high = percentiles(coverage)
    sizes, infinite, effective = (float(each.mean()) for each in others)
    return {"coverage": float(coverage.mean()), "low": low, "high": high, "set_size": sizes} | {
        "infinite": infinite,
        "effective": effective,
    }

"""Ranking models without labels (Tu et al. 2024)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from vouch.library import check
from vouch.library.check import Ints
from vouch.library.estimates import needs
from vouch.metrics.comparison.rankers import PROBABILITIES, RANKERS, Ranker, RankingTask
from vouch.metrics.intervals import bootstrap, percentiles
from vouch.metrics.responses import Array

if TYPE_CHECKING:
    import pandas as pd

RESAMPLES = 1000


@dataclass(frozen=True)
class LabelFreeRanking:
    """values: by ranker and model, higher is better. ranks: 1 is the best; ties share the best rank.

    rank_ends: by ranker and model the 2.5 and 97.5 percentiles of the rank over resampled groups.
    """

    values: Mapping[str, Mapping[str, float]]
    ranks: Mapping[str, Mapping[str, int]]
    rank_ends: Mapping[str, Mapping[str, tuple[float, float]]]

    def __repr__(self) -> str:
        orders = {
            name: " > ".join(
                " = ".join(model for model in ranks if ranks[model] == rank)
                for rank in sorted(set(ranks.values()))
            )
            for name, ranks in self.ranks.items()
        }
        return f"LabelFreeRanking({'; '.join(f'{name}: {order}' for name, order in orders.items())})"

    def to_frame(self) -> "pd.DataFrame":
        """One row for each ranker and model: value, rank, rank_low, rank_high."""
        needs("to_frame", "pandas", "pandas")
        import pandas as pd

        rows = [
            (name, model, value, self.ranks[name][model], *self.rank_ends[name][model])
            for name, models in self.values.items()
            for model, value in models.items()
        ]
        return pd.DataFrame(rows, columns=["ranker", "model", "value", "rank", "rank_low", "rank_high"])


def rank_without_labels(
    probabilities: Mapping[str, Any],
    *,
    proxy: Mapping[str, Any] | None = None,
    proxy_answers: Any = None,
    groups: ArrayLike | None = None,
    alpha: float = 0.1,
    seed: int = 0,
) -> LabelFreeRanking:
    """Ranks models by their probabilities, without an answer key.

    probabilities: by model [n, k], each row sums to 1, the same questions for all; NaN for options that a
    question lacks. Rankers: confidence, entropy, entropy_top, gap. With proxy (by model [m, k] on other
    questions) and proxy_answers ([m] indices or a mask) also accuracy_on_the_line, atc, atc_scaled, certainty
    and set_size. alpha: of the sets of the last two. groups: [n] questions that are not independent; they are
    resampled as a whole, from the seed, for the intervals of the ranks. No ranker is right on every task: Tu
    et al. (2024) measured rank correlations of .2 to .9.

    Raises ValueError that names the argument, and the row if one is at fault.

    >>> sure, unsure = [[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.5, 0.5]]
    >>> rank_without_labels({"a": unsure, "b": sure}).ranks["confidence"]
    {'a': 2, 'b': 1}
    """
    level, start = check.share(alpha, "alpha"), check.seed(seed)
    task = _task(probabilities, "probabilities", None)
    if len(task.models) < 2:
        raise ValueError(f"probabilities: {len(task.models)} model(s); at least 2 are needed")
    if (proxy is None) != (proxy_answers is None):
        raise ValueError("proxy and proxy_answers belong together; give both or neither")
    known = _task(proxy, "proxy", proxy_answers) if proxy is not None else None
    if known and known.models != task.models:
        raise ValueError(f"proxy has the models {', '.join(known.models)}, not {', '.join(task.models)}")
    numbers = check.groups(groups, task.performance.shape[1])
    values, ranks, ends = {}, {}, {}
    for name, ranker in sorted(RANKERS.items()):
        scores = _values(ranker, task, known, level)
        if scores is None:
            continue
        drawn = _drawn_ranks(scores, numbers, start)
        means = scores.mean(axis=1)
        values[name] = dict(zip(task.models, means.tolist(), strict=True))
        order = scipy.stats.rankdata(-means.round(12), method="min").astype(int).tolist()
        ranks[name] = dict(zip(task.models, order, strict=True))
        ends[name] = {m: percentiles(drawn[:, i]) for i, m in enumerate(task.models)}
    return LabelFreeRanking(values, ranks, ends)


def _drawn_ranks(values: Array, groups: Ints, seed: int) -> Array:
    """[RESAMPLES, models] ranks of the models' means over resampled groups; values: [models, items]."""
    sums = np.zeros((int(groups.max()) + 1, len(values)))
    np.add.at(sums, groups, values.T)
    counts = np.repeat(np.bincount(groups).astype(float)[:, None], len(values), axis=1)
    return np.asarray(scipy.stats.rankdata(-bootstrap(sums, counts, seed, RESAMPLES), method="min", axis=1))


def _values(ranker: Ranker, task: RankingTask, proxy: RankingTask | None, alpha: float) -> Array | None:
    if ranker.needs and PROBABILITIES not in ranker.needs:
        return None
    if not ranker.by_proxy:
        return ranker.values(task)
    return ranker.values(task, proxy, alpha) if proxy else None


def _task(probabilities: Any, name: str, answers: Any) -> RankingTask:
    given = check.mapping(probabilities, name, "{'a': [[0.9, 0.1]]}")
    if not given:
        raise ValueError(f"{name}: no model; at least 2 are needed")
    models = tuple(sorted(given))
    arrays = [check.numeric(given[model], f"{name} of {model}", 2).astype(float) for model in models]
    shapes = {array.shape for array in arrays}
    if len(shapes) != 1:
        raise ValueError(f"{name} has different shapes: {', '.join(map(str, sorted(shapes)))}")
    every = np.stack(arrays)
    sums, missing = np.nansum(every, axis=2), np.isnan(every)
    outside, other = (every < 0) | (every > 1), missing != missing[:1]
    for index, model in enumerate(models):
        where, total = f"{name} of {model}", sums[index]
        check.refuse(outside[index].any(axis=1), where, "has a number outside 0 to 1")
        far = np.flatnonzero(~np.isclose(total, 1, atol=1e-3))
        if far.size:
            raise ValueError(f"{where}: row {far[0]} sums to {total[far[0]]:.4g}, not to 1")
        check.refuse(other[index].any(axis=1), where, f"has other options than that of {models[0]}")
    right = np.zeros(every.shape[1:], dtype=bool)
    performance = np.zeros(every.shape[:2])
    if answers is not None:
        right = check.answers(answers, np.where(missing[0], -np.inf, 0.0), "proxy_answers")
        tops = every == np.nanmax(every, axis=2, keepdims=True)
        performance = (tops & right).sum(axis=2) / tops.sum(axis=2)
    groups = np.arange(every.shape[1])
    return RankingTask("", "", "", models, groups, performance, {PROBABILITIES: every}, right)

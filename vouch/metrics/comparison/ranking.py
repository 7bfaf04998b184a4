"""How well rankings without labels agree with performance (Tu et al. 2024).

`tasks` arranges the label-free scores of each dataset and output as arrays; `ranked` applies every ranker to
a task and to resamples of its items; `rankings` correlates the result with performance. Correlations are
computed only here: both sides hold one number per model in the last axis, higher is better, and the result
is NaN if one side is constant or holds a NaN.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy
from numpy.typing import NDArray

from vouch.metrics.comparison.config import CompareConfig
from vouch.metrics.comparison.rankers import PROBABILITIES, RANKERS, RankingTask
from vouch.metrics.comparison.statistics import GRAIN
from vouch.metrics.intervals import SHARES, bootstrap, some
from vouch.metrics.responses import Array
from vouch.tables import MEANINGS, SAMPLES, SIMILARITIES, TOKENS
from vouch.tables.asked import OUTPUTS, TEXT
from vouch.tables.results import COMBINED, FEW_LABELS, MEAN

EXACT = 8
"""The largest number of models for which every permutation is tried."""
CLOSE = 1e-9


def spearman(x: Array, y: Array) -> Array:
    """[...] Spearman's rho, ties at their mean rank."""
    return _pearson(_ranks(x), _ranks(y))


def weighted_tau(x: Array, y: Array) -> Array:
    """[...] weighted Kendall tau (Vigna 2015), as scipy.stats.weightedtau computes it by default.

    A pair weighs 1 / (1 + r) + 1 / (1 + s), with r and s the ranks of its models from the top, 0 for the
    best. The result is the mean of two taus: ranks by x (ties by y), and ranks by y (ties by x).
    """
    signs_x, signs_y = _signs(x), _signs(y)
    # A pair's weight is a sum over its two models, so the sum over all pairs is a sum over models.
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


def tau_as_printed(values: Array, performance: Array, uncertainty: bool) -> float:
    """`weighted_tau` of [models] as Tu et al. print it: of an uncertainty the absolute value, with its own
    sign in the weights; of other scores as it is."""
    tau = float(weighted_tau(-values if uncertainty else values, performance))
    return abs(tau) if uncertainty else tau


def _signs(values: Array) -> NDArray[np.int8]:
    """[..., n, n] the sign of each model's value minus each other's."""
    one, other = values[..., :, None], values[..., None, :]
    return np.asarray((one > other).view(np.int8) - (one < other).view(np.int8))


def p_values(x: Array, y: Array) -> tuple[float, float]:
    """Two-sided p of the rho of [models], and the smallest that any order of these models could have.

    Up to EXACT models: the share of all permutations whose rho is as far from 0. For more: Student's t with
    n - 2 degrees of freedom, and 2 / n! for the smallest. (NaN, NaN) if rho is NaN.
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
    return max(least, float(2 * scipy.special.stdtr(count - 2, -t))), least


@cache
def _permutations(count: int) -> NDArray[np.int64]:
    return np.array(list(permutations(range(count))))


def _ranks(values: Array) -> Array:
    """Twice the ranks: whole numbers, whose sums are exact."""
    return np.asarray(np.rint(2 * scipy.stats.rankdata(values, axis=-1)))


def _pearson(x: Array, y: Array) -> Array:
    """[...] Pearson correlation of whole numbers [..., n]."""
    count = x.shape[-1]

    def product(a: Array, b: Array) -> Array:
        return np.asarray(count * (a * b).sum(axis=-1) - a.sum(axis=-1) * b.sum(axis=-1))

    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.clip(product(x, y) / np.sqrt(product(x, x) * product(y, y)), -1, 1))


def _places(first: Array, second: Array) -> NDArray[np.int64]:
    """[..., n] rank from the top by `first`, 0 for the best; ties are ordered by `second`."""
    order = np.lexsort((second, first), axis=-1)[..., ::-1]
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.broadcast_to(np.arange(order.shape[-1]), order.shape), axis=-1)
    return places


@dataclass(frozen=True)
class Ranking:
    """One ranker's values for some models, and their performance; higher is better.

    keys: the columns ranker, score and proxy. models: indices of the models among those of the task.
    values, performance [models]; drawn: both for each resample, [resamples, models].
    """

    keys: dict[str, str]
    uncertainty: bool
    models: tuple[int, ...]
    values: Array
    performance: Array
    drawn: tuple[Array, Array]


def ranked(
    here: Sequence[RankingTask], proxies: Sequence[RankingTask], config: CompareConfig, alpha: float
) -> list[Ranking]:
    """Every ranker that has values for at least two models, `combined` last; all on the same draws."""
    performance = np.rint(GRAIN * here[0].performance)
    every = list(_values(here, proxies, alpha))
    matrices = [performance, *(np.rint(GRAIN * values) for *_, values in every)]
    means, draws = _resampled(matrices, here[0].groups, config)
    rankings = []
    for number, (keys, uncertainty, _) in enumerate(every, start=1):
        known = np.flatnonzero(~np.isnan(means[number]) & ~np.isnan(means[0]))
        if len(known) > 1:
            values, truth = means[[number, 0]][:, known]
            drawn = draws[number][:, known], draws[0][:, known]
            rankings.append(Ranking(keys, uncertainty, tuple(known.tolist()), values, truth, drawn))
    return [*rankings, *_combined([ranking for ranking in rankings if not ranking.keys["proxy"]])]


def _values(
    here: Sequence[RankingTask], proxies: Sequence[RankingTask], alpha: float
) -> Iterator[tuple[dict[str, str], bool, Array]]:
    """Keys, whether the authors' score is an uncertainty, and values [models, items] of the task."""
    for name, ranker in sorted(RANKERS.items()):
        for task in filter(ranker.applies, here):
            keys = {"ranker": name, "score": task.score, "proxy": ""}
            if not ranker.by_proxy:
                yield keys, ranker.uncertainty, ranker.values(task)
                continue
            for proxy in filter(ranker.applies, proxies):
                common = tuple(model for model in task.models if model in proxy.models)
                if common:
                    values = np.full(task.performance.shape, np.nan)
                    rows = [task.models.index(model) for model in common]
                    values[rows] = ranker.values(task.only(common), proxy.only(common), alpha)
                    yield keys | {"proxy": proxy.dataset}, ranker.uncertainty, values


def _resampled(
    matrices: Sequence[Array], groups: np.ndarray, config: CompareConfig
) -> tuple[Array, list[Array]]:
    """Means [matrices, models] over the items, and per matrix [resamples, models] over resampled groups."""
    stacked = np.concatenate(matrices).T  # [items, matrices x models]
    known = ~np.isnan(stacked)
    total = int(groups.max()) + 1
    sums, counts = np.zeros((2, total, stacked.shape[1]))
    np.add.at(sums, groups, np.where(known, stacked, 0.0))
    np.add.at(counts, groups, known)
    with np.errstate(invalid="ignore"):
        means = sums.sum(axis=0) / counts.sum(axis=0) / GRAIN
    drawn = bootstrap(sums, counts, config.seed, config.resamples) / GRAIN
    return means.reshape(len(matrices), -1), np.split(drawn, len(matrices), axis=1)


def _combined(found: Sequence[Ranking]) -> Iterator[Ranking]:
    """Each model's mean rank from the bottom, 1 / models ... 1, over all rankers without a proxy.

    Covers only the models that all these rankers have.
    """
    if len(found) < 2:
        return
    models = tuple(sorted(set.intersection(*(set(ranking.models) for ranking in found))))
    if len(models) < 2:
        return
    places = [[ranking.models.index(model) for model in models] for ranking in found]

    def mean(values: Sequence[Array]) -> Array:
        ranks = [
            2 * scipy.stats.rankdata(v[..., own], axis=-1) for v, own in zip(values, places, strict=True)
        ]
        return np.asarray(np.sum(ranks, axis=0) / (2 * len(found) * len(models)))

    keys, first = {"ranker": COMBINED, "score": "", "proxy": ""}, found[0]
    values, drawn = (mean([r.values for r in found]), mean([r.drawn[0] for r in found]))
    truth = first.performance[places[0]]
    yield Ranking(keys, False, models, values, truth, (drawn, first.drawn[1][:, places[0]]))


KEYS = ["model", "dataset", "prompt", "temperature"]


def tasks(label_free: pa.Table) -> Iterator[list[RankingTask]]:
    """For each dataset and output: its task, then one per temperature. From rows of LABEL_FREE.

    All tasks of a dataset and output have the same models and items.
    """
    frame = label_free.to_pandas()
    indices = frame.groupby(["dataset", "output"]).indices
    for dataset, output in sorted(indices, key=lambda pair: (pair[0], OUTPUTS.index(pair[1]))):
        rows = frame.iloc[indices[dataset, output]]
        plain = rows["temperature"].isna()
        sampled = rows[~plain].groupby("temperature")
        yield [_task(rows, rows[plain], ""), *(_task(rows, each, f"t{t:g}") for t, each in sampled)]


def _task(frame: pd.DataFrame, rows: pd.DataFrame, score: str) -> RankingTask:
    """The task made of these rows. frame: all rows of its dataset and output."""
    models = sorted(set(frame["model"]))
    of_prompts = frame.drop_duplicates("prompt").sort_values("prompt")
    groups = np.unique(of_prompts["group"].to_numpy(str), return_inverse=True)[1]
    cells = (
        pd.Index(models).get_indexer(rows["model"]),
        pd.Index(of_prompts["prompt"]).get_indexer(rows["prompt"]),
    )
    shape = len(models), len(of_prompts)

    def matrix(name: str) -> Array:
        values = np.full(shape, np.nan)
        values[cells] = rows[name].to_numpy(float)
        return values

    names = [*TOKENS, *SAMPLES, *MEANINGS, *(name for name in SIMILARITIES if name in rows)]
    label_free = {name: matrix(name) for name in names if rows[name].notna().any()}
    dataset, output = frame[["dataset", "output"]].iloc[0]
    most = int(rows[PROBABILITIES].map(len, na_action="ignore").max()) if output != TEXT else 0
    answers = np.zeros((shape[1], most), dtype=bool)
    if most:
        label_free[PROBABILITIES] = np.full((*shape, most), np.nan)
        columns = (rows[PROBABILITIES], rows["answers"])
        for model, prompt, options, correct in zip(*cells, *columns, strict=True):
            label_free[PROBABILITIES][model, prompt, : len(options)] = options
            answers[prompt, correct] = True
    return RankingTask(
        dataset, output, score, tuple(map(str, models)), groups, matrix("performance"), label_free, answers
    )


def with_similarity(label_free: pa.Table, similarity: pa.Table) -> pa.Table:
    """Rows of LABEL_FREE with the columns SIMILARITIES, null if TEXT_SIMILARITY has no row."""
    known = similarity.to_pandas().set_index(KEYS)
    similarities = known.reindex(pd.MultiIndex.from_frame(label_free.select(KEYS).to_pandas()))
    for name in SIMILARITIES:
        label_free = label_free.append_column(
            name, pa.array(similarities[name], pa.float64(), from_pandas=True)
        )
    return label_free


Rows = list[dict[str, Any]]
MEASURES = {"rho": spearman, "tau": weighted_tau}


def rankings(label_free: pa.Table, config: CompareConfig, alpha: float) -> tuple[Rows, Rows]:
    """Rows of RANKINGS and of RANKED from rows of LABEL_FREE. alpha: target miscoverage of the sets."""
    every = list(tasks(label_free))
    summaries: Rows = []
    values: Rows = []
    for here in every:
        proxies = [other[0] for other in every if other[0].output == here[0].output and other is not here]
        where = {"dataset": here[0].dataset, "output": here[0].output}
        of_task = ranked(here, proxies, config, alpha)
        summaries += [where | row for row in _summaries(of_task)]
        values += [where | row for ranking in of_task for row in _rows(ranking, here[0].models)]
        performance = np.rint(GRAIN * here[0].performance)
        performance = performance[~np.isnan(performance).all(axis=1)]
        labelled = few_labels(performance, config.labels, config.draws, config.seed)
        if labelled:
            summaries.append(where | {"score": "", "proxy": ""} | labelled)
    return summaries, values


def _summaries(found: Sequence[Ranking]) -> Rows:
    """A row for each ranking; if there are several proxies, a row for their mean comes before them."""
    rows: Rows = []
    for name, score in dict.fromkeys((r.keys["ranker"], r.keys["score"]) for r in found):
        own = [r for r in found if (r.keys["ranker"], r.keys["score"]) == (name, score)]
        drawn = [{key: measure(*r.drawn) for key, measure in MEASURES.items()} for r in own]
        numbers = [_points(r) | _ends([draws]) for r, draws in zip(own, drawn, strict=True)]
        if own[0].keys["proxy"]:
            points = {key: _mean([number[key] for number in numbers]) for key in (*MEASURES, "tau_paper")}
            known = [draws for draws, row in zip(drawn, numbers, strict=True) if row["rho"] is not None]
            fewest = min(len(ranking.models) for ranking in own)
            rows.append(own[0].keys | {"proxy": MEAN, "models": fewest} | points | _ends(known))
        rows += [ranking.keys | number for ranking, number in zip(own, numbers, strict=True)]
    return rows


def _points(ranking: Ranking) -> dict[str, Any]:
    values, performance = ranking.values, ranking.performance
    p, least = p_values(values, performance)
    row = {key: float(measure(values, performance)) for key, measure in MEASURES.items()}
    row |= {"p": p, "p_least": least, "tau_paper": tau_as_printed(values, performance, ranking.uncertainty)}
    return {"models": len(ranking.models)} | {key: some(value) for key, value in row.items()}


def _ends(drawn: Sequence[Mapping[str, Array]]) -> dict[str, float | None]:
    """2.5 and 97.5 percentiles of each measure's mean over several rankings; None if no ranking has it."""
    ends: dict[str, float | None] = {}
    for key in MEASURES if drawn else ():
        mean = np.mean([draws[key] for draws in drawn], axis=0)
        mean = mean[~np.isnan(mean)]
        low, high = np.percentile(mean, SHARES) if len(mean) else (np.nan, np.nan)
        ends |= {f"{key}_low": some(low), f"{key}_high": some(high)}
    return ends


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _rows(ranking: Ranking, models: Sequence[str]) -> Rows:
    ranks = scipy.stats.rankdata(-ranking.values, method="min").astype(int).tolist()
    columns = ranking.values.tolist(), ranks, ranking.performance.tolist()
    return [
        ranking.keys | {"model": models[model], "value": value, "rank": rank, "performance": performance}
        for model, value, rank, performance in zip(ranking.models, *columns, strict=True)
    ]


def few_labels(performance: Array, labels: int, draws: int, seed: int) -> dict[str, Any] | None:
    """How the order on `labels` items agrees with that on all: means over draws, and rho's standard deviation
    (Tu et al. 2024, table 3).

    performance: [models, items] whole numbers, NaN if a model gave no answer. All models are judged on the
    same items, which are drawn without replacement and still count among all. A draw on which all models are
    equal gives no order and counts as 0. None if there are no more items than labels, or no order at all.
    """
    count, total = performance.shape
    if total <= labels or count < 2:
        return None
    generator = np.random.RandomState(seed)
    picked = np.stack([generator.permutation(total)[:labels] for _ in range(draws)])
    of_draws = _means(performance[:, picked])  # [models, draws]
    whole = np.broadcast_to(_means(performance), (draws, count))
    if np.isnan(spearman(whole[0], whole[0])):
        return None
    rho, tau = (np.nan_to_num(measure(of_draws.T, whole)) for measure in (spearman, weighted_tau))
    return {
        "ranker": FEW_LABELS,
        "models": count,
        "labels": labels,
        "rho": float(rho.mean()),
        "sd": float(rho.std(ddof=1)) if draws > 1 else None,
        "tau": float(tau.mean()),
        "tau_paper": float(tau.mean()),
    }


def _means(values: Array) -> Array:
    """Means of the known values over the last axis; 0 if none is known."""
    known = ~np.isnan(values)
    return np.asarray(np.where(known, values, 0.0).sum(axis=-1) / np.maximum(known.sum(axis=-1), 1))

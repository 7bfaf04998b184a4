"""Ranking models without labels: what every ranker says, against performance."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.stats import rankdata

from vouch.metrics.comparison.config import Config
from vouch.metrics.comparison.variations import GRAIN
from vouch.metrics.intervals import SHARES, some
from vouch.metrics.ranking.correlation import p_values, spearman, weighted_tau
from vouch.metrics.ranking.ranked import Ranking, ranked
from vouch.metrics.ranking.tasks import tasks
from vouch.metrics.responses import Array
from vouch.tables.rankings import FEW_LABELS, MEAN

Rows = list[dict[str, Any]]
MEASURES = {"rho": spearman, "tau": weighted_tau}


def rankings(label_free: pa.Table, config: Config, alpha: float) -> tuple[Rows, Rows]:
    """Rows of RANKINGS and of RANKED from rows of LABEL_FREE. alpha: target miscoverage of the sets."""
    every = list(tasks(label_free))
    summaries: Rows = []
    values: Rows = []
    for here in every:
        proxies = [other[0] for other in every if other[0].output == here[0].output and other is not here]
        where = {"dataset": here[0].dataset, "output": here[0].output}
        found = ranked(here, proxies, config, alpha)
        summaries += [where | row for row in _summaries(found)]
        values += [where | row for ranking in found for row in _rows(ranking, here[0].models)]
        performance = np.rint(GRAIN * here[0].performance)
        performance = performance[~np.isnan(performance).all(axis=1)]
        labelled = few_labels(performance, config.labels, config.draws, config.seed)
        if labelled:
            summaries.append(where | {"score": "", "proxy": ""} | labelled)
    return summaries, values


def _summaries(found: Sequence[Ranking]) -> Rows:
    """A row for each ranking, before the first of several proxies one for their mean."""
    rows: Rows = []
    for name, score in dict.fromkeys((r.place["ranker"], r.place["score"]) for r in found):
        own = [r for r in found if (r.place["ranker"], r.place["score"]) == (name, score)]
        drawn = [{key: measure(*r.drawn) for key, measure in MEASURES.items()} for r in own]
        numbers = [_points(r) | _ends([draws]) for r, draws in zip(own, drawn, strict=True)]
        if own[0].place["proxy"]:
            points = {key: _mean([number[key] for number in numbers]) for key in (*MEASURES, "tau_paper")}
            known = [draws for draws, row in zip(drawn, numbers, strict=True) if row["rho"] is not None]
            fewest = min(len(ranking.models) for ranking in own)
            rows.append(own[0].place | {"proxy": MEAN, "models": fewest} | points | _ends(known))
        rows += [ranking.place | number for ranking, number in zip(own, numbers, strict=True)]
    return rows


def _points(ranking: Ranking) -> dict[str, Any]:
    values, performance = ranking.values, ranking.performance
    p, least = p_values(values, performance)
    literal = -values if ranking.uncertainty else values
    row = {key: float(measure(values, performance)) for key, measure in MEASURES.items()}
    row |= {"p": p, "p_least": least, "tau_paper": abs(float(weighted_tau(literal, performance)))}
    return {"models": len(ranking.models)} | {key: some(value) for key, value in row.items()}


def _ends(drawn: Sequence[Mapping[str, Array]]) -> dict[str, float | None]:
    """2.5 and 97.5 percentiles of each measure's mean over several rankings; None where none has one."""
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
    ranks = rankdata(-ranking.values, method="min")
    return [
        ranking.place
        | {
            "model": models[model],
            "value": float(ranking.values[place]),
            "rank": int(ranks[place]),
            "performance": float(ranking.performance[place]),
        }
        for place, model in enumerate(ranking.models)
    ]


def few_labels(performance: Array, labels: int, draws: int, seed: int) -> dict[str, Any] | None:
    """Models' order on so many items against that on all: means over draws, and rho's standard deviation.

    Array of RANKINGS (Tu et al. 2024, table 3).

    performance: [models, items] whole numbers, NaN where a model gave no answer. All models are judged on the
    same items, which are drawn without replacement and stay among the whole. A draw on which all models are
    equal orders nothing and counts as 0. None where there are no more items than labels, or no order at all.
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
        "rho": float(rho.mean()),
        "sd": float(rho.std(ddof=1)) if draws > 1 else None,
        "tau": float(tau.mean()),
        "tau_paper": abs(float(tau.mean())),
    }


def _means(values: Array) -> Array:
    """Over the last axis, of what is known; 0 where nothing is."""
    known = ~np.isnan(values)
    return np.asarray(np.where(known, values, 0.0).sum(axis=-1) / np.maximum(known.sum(axis=-1), 1))

"""Ranking models without labels: what every ranker says, against performance."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.stats import rankdata

from stages.compare.config import Config
from stages.compare.correlation import Numbers, p_values, spearman, weighted_tau
from stages.compare.few_labels import few_labels
from stages.compare.ranked import Ranking, ranked
from stages.compare.resampling import SHARES
from stages.compare.tasks import tasks
from stages.compare.variations import GRAIN
from stages.contracts.rankings import MEAN

Rows = list[dict[str, Any]]


def rankings(signals: pa.Table, config: Config, alpha: float) -> tuple[Rows, Rows]:
    """Rows of RANKINGS and of RANKED from rows of SIGNALS. alpha: target miscoverage of prediction sets."""
    every = list(tasks(signals))
    summaries: Rows = []
    values: Rows = []
    for here in every:
        proxies = [other[0] for other in every if other[0].ask == here[0].ask and other is not here]
        where = {"dataset": here[0].dataset, "ask": here[0].ask}
        found = ranked(here, proxies, config, alpha)
        summaries += [where | row for row in _summaries(found)]
        values += [where | row for ranking in found for row in _values(ranking, here[0].models)]
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
        numbers = [_numbers(ranking) for ranking in own]
        if own[0].place["proxy"]:
            points = {key: _mean([number[key] for number in numbers]) for key in ("rho", "tau", "tau_paper")}
            ends = _ends([spearman(*r.drawn) for r in own], "rho") | _ends(
                [weighted_tau(*r.drawn) for r in own], "tau"
            )
            fewest = min(len(ranking.models) for ranking in own)
            rows.append(own[0].place | {"proxy": MEAN, "models": fewest} | points | ends)
        rows += [ranking.place | number for ranking, number in zip(own, numbers, strict=True)]
    return rows


def _numbers(ranking: Ranking) -> dict[str, Any]:
    values, performance = ranking.values, ranking.performance
    p, least = p_values(values, performance)
    literal = -values if ranking.uncertainty else values
    row: dict[str, float | None] = {
        "rho": float(spearman(values, performance)),
        "p": p,
        "p_least": least,
        "tau": float(weighted_tau(values, performance)),
        "tau_paper": abs(float(weighted_tau(literal, performance))),
    }
    row |= _ends([spearman(*ranking.drawn)], "rho") | _ends([weighted_tau(*ranking.drawn)], "tau")
    return {"models": len(ranking.models)} | {key: _some(value) for key, value in row.items()}


def _ends(draws: Sequence[Numbers], name: str) -> dict[str, float | None]:
    """2.5 and 97.5 percentiles of the mean over several measures of each draw; None where none has one."""
    mean = np.mean(draws, axis=0)
    mean = mean[~np.isnan(mean)]
    low, high = np.percentile(mean, SHARES) if len(mean) else (np.nan, np.nan)
    return {f"{name}_low": _some(float(low)), f"{name}_high": _some(float(high))}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _some(value: float | None) -> float | None:
    return None if value is None or np.isnan(value) else value


def _values(ranking: Ranking, models: Sequence[str]) -> Rows:
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

"""What every ranker says of the models of one task, on the items and on each resample of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from vouch.metrics.comparison.config import Config
from vouch.metrics.comparison.resampling import bootstrap
from vouch.metrics.comparison.variations import GRAIN
from vouch.metrics.ranking.rankers import RANKERS, Ranker
from vouch.metrics.ranking.task import Task
from vouch.metrics.responses import Array
from vouch.tables.rankings import COMBINED


@dataclass(frozen=True)
class Ranking:
    """One ranker's values of some models, and their performance; higher is better.

    place: the columns ranker, score and proxy. models: places of the models among those of the task.
    values, performance [models]; drawn: both for each resample, [resamples, models].
    """

    place: dict[str, str]
    uncertainty: bool
    models: tuple[int, ...]
    values: Array
    performance: Array
    drawn: tuple[Array, Array]


def ranked(here: Sequence[Task], proxies: Sequence[Task], config: Config, alpha: float) -> list[Ranking]:
    """Every ranker that says something about two models at least, `combined` last; all on the same draws."""
    performance = np.rint(GRAIN * here[0].performance)
    every = list(_values(here, proxies, alpha))
    matrices = [performance, *(np.rint(GRAIN * values) for *_, values in every)]
    means, draws = _resampled(matrices, here[0].groups, config)
    found = []
    for number, (place, uncertainty, _) in enumerate(every, start=1):
        known = np.flatnonzero(~np.isnan(means[number]) & ~np.isnan(means[0]))
        if len(known) > 1:
            found.append(
                Ranking(
                    place,
                    uncertainty,
                    tuple(known.tolist()),
                    means[number, known],
                    means[0, known],
                    (draws[number][:, known], draws[0][:, known]),
                )
            )
    return [*found, *_combined([ranking for ranking in found if not ranking.place["proxy"]])]


def _values(
    here: Sequence[Task], proxies: Sequence[Task], alpha: float
) -> Iterator[tuple[dict[str, str], bool, Array]]:
    """Place, whether the authors' score is an uncertainty, and values [models, items] of the task."""
    for name, ranker in RANKERS.items():
        for task in here:
            place = {"ranker": name, "score": task.score, "proxy": ""}
            if not _applies(ranker, task):
                continue
            if ranker.per_item:
                yield place, ranker.uncertainty, ranker.per_item(task)
            for proxy in proxies if ranker.per_proxy else ():
                common = tuple(model for model in task.models if model in proxy.models)
                if ranker.per_proxy and common and _applies(ranker, proxy):
                    values = np.full(task.performance.shape, np.nan)
                    rows = [task.models.index(model) for model in common]
                    values[rows] = ranker.per_proxy(task.only(common), proxy.only(common), alpha)
                    yield place | {"proxy": proxy.dataset}, ranker.uncertainty, values


def _applies(ranker: Ranker, task: Task) -> bool:
    return any(name in task.label_free for name in ranker.needs) if ranker.needs else not task.score


def _resampled(matrices: Sequence[Array], groups: np.ndarray, config: Config) -> tuple[Array, list[Array]]:
    """Means [matrices, models] over the items, and of each matrix [resamples, models] over whole groups."""
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
    """The mean over all rankers without a proxy of the model's place from below, 1 / models ... 1.

    Of the models that all of them have.
    """
    if len(found) < 2:
        return
    models = tuple(sorted(set.intersection(*(set(ranking.models) for ranking in found))))
    if len(models) < 2:
        return
    places = [[ranking.models.index(model) for model in models] for ranking in found]

    def mean(values: Sequence[Array]) -> Array:
        ranks = [2 * rankdata(v[..., own], axis=-1) for v, own in zip(values, places, strict=True)]
        return np.asarray(np.sum(ranks, axis=0) / (2 * len(found) * len(models)))

    first = found[0]
    yield Ranking(
        {"ranker": COMBINED, "score": "", "proxy": ""},
        False,
        models,
        mean([ranking.values for ranking in found]),
        first.performance[places[0]],
        (mean([ranking.drawn[0] for ranking in found]), first.drawn[1][:, places[0]]),
    )

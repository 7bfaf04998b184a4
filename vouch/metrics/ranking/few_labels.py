"""What a few labels would tell: models' order on some items against that on all (Tu et al. 2024, table 3)."""

from typing import Any

import numpy as np

from vouch.metrics.ranking.correlation import Numbers, spearman, weighted_tau
from vouch.tables.rankings import FEW_LABELS


def few_labels(performance: Numbers, labels: int, draws: int, seed: int) -> dict[str, Any] | None:
    """Numbers of RANKINGS: means over draws of so many items, and the standard deviation of rho.

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


def _means(values: Numbers) -> Numbers:
    """Over the last axis, of what is known; 0 where nothing is."""
    known = ~np.isnan(values)
    return np.asarray(np.where(known, values, 0.0).sum(axis=-1) / np.maximum(known.sum(axis=-1), 1))

"""Thresholds of average thresholded confidence."""

import numpy as np

from vouch.metrics.ranking.tasks import Numbers


def above(values: Numbers, proxy: Numbers, performance: Numbers) -> Numbers:
    """[models, items] whether a value is above its model's threshold; NaN where the value is unknown.

    values: [models, items] of the task. proxy, performance: [models, items] of the labelled one. Of n known
    proxy values exactly round(n x mean performance) are above the threshold, but for ties. NaN for a model
    whose performance on the proxy is unknown or no share.
    """
    found = np.full(values.shape, np.nan)
    for model, own in enumerate(values):
        known = ~np.isnan(proxy[model]) & ~np.isnan(performance[model])
        share = performance[model][known].mean() if known.any() else np.nan
        if not 0 <= share <= 1:
            continue
        ordered = np.sort(proxy[model][known])
        below = len(ordered) - int(np.rint(share * len(ordered)))
        threshold = ordered[below - 1] if below else -np.inf
        found[model] = np.where(np.isnan(own), np.nan, own > threshold)
    return found

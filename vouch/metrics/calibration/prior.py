"""Accuracy after the model's prior over letters is divided out (Zheng et al. 2024, PriDe).

On the calibration half the prior of a letter is what the model gives it whatever option stands there,

    prior(d) = mean over groups of softmax_d( mean over the group's prompts of log p(d | prompt) ),

and on the test half every native option gets p(d | prompt) / (k prior(d)), with k native options; those that
a template adds keep theirs. The inner mean takes out what the options say where they stand in every
rotation: in `circular`, and in data that hold all circular copies of a question as a group. Elsewhere it
rests on right answers and options being spread evenly over the letters. Numbers of options have priors of
their own.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from vouch.metrics.calibration.debias import CIRCULAR
from vouch.metrics.calibration.probabilities import Probabilities, clean_probabilities
from vouch.metrics.config import Config
from vouch.metrics.conformal.splits import Splits, group_splits
from vouch.metrics.intervals import SHARES
from vouch.metrics.join import Block
from vouch.metrics.protocols import Figure
from vouch.metrics.registry import Metric
from vouch.metrics.responses import Bools, Floats, Ints
from vouch.tables.prompts import LETTERS, ORIGINAL

METRIC = "accuracy_debiased_prior"
DECLARED = {
    METRIC: Metric(
        "Accuracy without prior",
        "after the model's prior over letters is divided out",
        "higher",
        source="Zheng et al. 2024 (PriDe)",
    ),
}
FLOOR = 1e-12
"""Least probability, for letters that a server left out."""


def without_prior(blocks: Mapping[str, Block], config: Config) -> tuple[str, Figure] | None:
    """The figure and the variation that it belongs to: `circular`, else `original`; None without either.

    blocks: by variation, of letters. Only questions without defects count. The mean over the splits with the
    2.5 and 97.5 percentiles; every split estimates on one half and is right or wrong on the other.
    """
    variation = CIRCULAR if CIRCULAR in blocks else ORIGINAL
    block = blocks.get(variation)
    if block is None or block.output != LETTERS:
        return None
    rows = block.responses.take(~block.responses.defective)
    if not len(rows):
        return None
    probabilities = clean_probabilities(rows)
    splits = group_splits(rows.groups, config.calibration, config.seed, config.splits)
    if splits.sizes.max() == splits.rows:
        return None
    right = np.zeros(len(splits))
    for chosen, native in _patterns(probabilities):
        right += _right(probabilities, chosen, native, rows.groups, splits)
    accuracy = right / (splits.rows - splits.sizes)
    low, high = np.percentile(accuracy, SHARES)
    return variation, Figure("", METRIC, float(accuracy.mean()), len(rows), float(low), float(high))


def _patterns(probabilities: Probabilities) -> Iterator[tuple[Ints, Bools]]:
    """Rows whose native options stand at the same letters, and these letters [k]."""
    native = probabilities.present & (probabilities.roles >= 0)
    found, number = np.unique(native, axis=0, return_inverse=True)
    for place, letters in enumerate(found):
        yield np.flatnonzero(number.ravel() == place), letters


def _right(probabilities: Probabilities, chosen: Ints, native: Bools, groups: Ints, splits: Splits) -> Floats:
    """[splits] how many of the chosen rows are right among those that test."""
    logs = np.log(np.maximum(probabilities.p[chosen], FLOOR))
    logs[~probabilities.present[chosen]] = -np.inf
    first, group = np.unique(groups[chosen], return_index=True, return_inverse=True)[1:]
    priors = _priors(logs[:, native], group)
    calibrating = splits.calibrating(chosen)
    estimates = calibrating[:, first].astype(np.float64)
    known = estimates.sum(axis=1, keepdims=True)
    even = 1 / max(1, int(native.sum()))
    mean = np.where(known > 0, estimates @ priors / np.maximum(known, 1), even)
    right = np.empty(len(mean))
    for split, prior in enumerate(mean):
        test = ~calibrating[split]
        moved = logs[test]
        moved[:, native] -= np.log(native.sum() * prior)
        tops = moved == moved.max(axis=1, keepdims=True)
        right[split] = ((tops & probabilities.answers[chosen[test]]).sum(axis=1) / tops.sum(axis=1)).sum()
    return right


def _priors(logs: Floats, group: Ints) -> Floats:
    """[groups, letters] softmax of each group's mean logs [n, letters]."""
    sums = np.zeros((int(group.max()) + 1, logs.shape[1]))
    np.add.at(sums, group, logs)
    sums /= np.bincount(group)[:, None]
    weights = np.exp(sums - sums.max(axis=1, keepdims=True, initial=-np.inf))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))

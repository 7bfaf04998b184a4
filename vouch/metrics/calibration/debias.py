"""Accuracy without the bias towards letters: an option's probability averaged over the places it stood at.

A question that is asked with its options in every rotation (`circular`) shows every option at every place
once, so what the model gives to a letter whatever stands there falls on all options alike (Zheng et al.
2024). In two orders (`original` and `option_order`) it does so roughly.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from vouch.metrics.calibration.probabilities import clean_probabilities
from vouch.metrics.intervals import cluster_mean
from vouch.metrics.join import Block
from vouch.metrics.protocols import Figure
from vouch.metrics.registry import Metric
from vouch.tables.prompts import NONE_OF_ABOVE, ORIGINAL

METRIC = "accuracy_debiased"
DECLARED = {
    METRIC: Metric(
        "Accuracy, debiased",
        "options' probabilities averaged over the places they stood at",
        "higher",
        source="Zheng et al. 2024",
    ),
}
CIRCULAR = "circular"
PAIR = (ORIGINAL, "option_order")


def debiased(blocks: Mapping[str, Block]) -> tuple[str, Figure] | None:
    """The figure and the variation that it belongs to; None where the questions were asked in one order.

    blocks: by variation. Only questions without defects that were answered in every order count.
    """
    if CIRCULAR in blocks:
        return _averaged([blocks[CIRCULAR]], CIRCULAR)
    if all(name in blocks for name in PAIR):
        return _averaged([blocks[name] for name in PAIR], PAIR[0])
    return None


def _averaged(blocks: Sequence[Block], variation: str) -> tuple[str, Figure] | None:
    names = sorted({name for block in blocks for name in block.items})
    group_of = {name: g for block in blocks for name, g in zip(block.items, block.groups, strict=True)}
    width = max(int(block.responses.roles.max(initial=0)) for block in blocks) + 1 - NONE_OF_ABOVE
    mass, right = np.zeros((len(names), width)), np.zeros((len(names), width), dtype=bool)
    asked, own = np.zeros(len(names), dtype=int), np.zeros(len(names), dtype=int)
    for block in blocks:
        kept = ~block.responses.defective
        rows = block.responses.take(kept)
        probabilities = clean_probabilities(rows)
        item = np.searchsorted(names, np.asarray(block.items)[kept])
        row, letter = np.nonzero(probabilities.present)
        role = probabilities.roles[row, letter] - NONE_OF_ABOVE
        np.add.at(mass, (item[row], role), probabilities.p[row, letter])
        right[item[row], role] |= probabilities.answers[row, letter]
        asked += np.bincount(item, minlength=len(names))
        np.maximum.at(own, item, (probabilities.present & (probabilities.roles >= 0)).sum(axis=1))
    whole = asked == (own if variation == CIRCULAR else len(blocks))
    whole &= asked > 0
    if not whole.any():
        return None
    tops = mass[whole] == mass[whole].max(axis=1, keepdims=True)
    correct = (tops & right[whole]).sum(axis=1) / tops.sum(axis=1)
    groups = np.asarray([group_of[name] for name in names])[whole]
    low, high = cluster_mean(correct, np.unique(groups, return_inverse=True)[1])
    return variation, Figure("", METRIC, float(correct.mean()), len(correct), low, high)

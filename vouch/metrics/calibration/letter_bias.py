"""Accuracy without the bias towards letters (Zheng et al. 2024), in two ways.

`debiased`: an option's probability averaged over the places it stood at. A question that is asked with its
options in every rotation (`circular`) shows every option at every place once, so what the model gives to a
letter whatever stands there falls on all options alike. In two orders (`original` and `option_order`) it does
so roughly.

`without_prior`: the model's prior over letters is divided out (PriDe). On the calibration half the prior of a
letter is what the model gives it whatever option stands there,

    prior(d) = mean over groups of softmax_d( mean over the group's prompts of log p(d | prompt) ),

and on the test half every native option gets p(d | prompt) / (k prior(d)), with k native options; those that
a template adds keep theirs. The inner mean takes out what the options say where they stand in every
rotation: in `circular`, and in data that hold all circular copies of a question as a group. Elsewhere it
rests on right answers and options being spread evenly over the letters. Numbers of options have priors of
their own.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from vouch.metrics.calibration.calibration import Probabilities, clean_probabilities, log_softmax
from vouch.metrics.config import Config
from vouch.metrics.conformal.sets import Splits, group_splits
from vouch.metrics.intervals import CLEAN, Figure, mean_figure, split_figure
from vouch.metrics.join import Block
from vouch.metrics.responses import Bools, Floats, Ints
from vouch.tables.asked import CIRCULAR, LETTERS, ORIGINAL
from vouch.tables.names import NONE_OF_ABOVE

PAIR = (ORIGINAL, "option_order")
FLOOR = 1e-12
"""Probability of letters that a server left out."""


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
    mass, right = np.zeros((2, len(names), width)), np.zeros((len(names), width), dtype=bool)
    asked, own = np.zeros(len(names), dtype=int), np.zeros(len(names), dtype=int)
    for block in blocks:
        kept = ~block.responses.defective
        probabilities = clean_probabilities(block.responses.take(kept))
        item = np.searchsorted(names, np.asarray(block.items)[kept])
        row, letter = np.nonzero(probabilities.present)
        role = probabilities.roles[row, letter] - NONE_OF_ABOVE
        logs = log_softmax(probabilities.logits)
        # Sums of p as whole numbers and what they lack or exceed, so that 1 - 1e-20 is no 1.
        likely = (logs > np.log(0.5))[row, letter]
        rest = np.exp(-probabilities.sureness)[row]
        np.add.at(mass[0], (item[row], role), likely)
        np.add.at(mass[1], (item[row], role), np.where(likely, -rest, probabilities.p[row, letter]))
        right[item[row], role] |= probabilities.answers[row, letter]
        asked += np.bincount(item, minlength=len(names))
        np.maximum.at(own, item, (probabilities.present & (probabilities.roles >= 0)).sum(axis=1))
    whole = asked == (own if variation == CIRCULAR else len(blocks))
    whole &= asked > 0
    if not whole.any():
        return None
    tops = _largest(*mass[:, whole])
    correct = (tops & right[whole]).sum(axis=1) / tops.sum(axis=1)
    groups = np.asarray([group_of[name] for name in names])[whole]
    numbers = np.unique(groups, return_inverse=True)[1]
    return variation, mean_figure("accuracy_debiased", correct, numbers, CLEAN)


def _largest(numbers: Floats, rests: Floats) -> Bools:
    """[n, k] the largest of the sums of a whole number and a rest; of nearly equal ones the rests decide."""
    total = numbers + rests
    close = total > total.max(axis=1, keepdims=True) - 1e-12
    most = np.where(close, numbers, -np.inf).max(axis=1, keepdims=True)
    close &= numbers == most
    return np.asarray(close & (rests == np.where(close, rests, -np.inf).max(axis=1, keepdims=True)))


def without_prior(blocks: Mapping[str, Block], config: Config) -> tuple[str, Figure] | None:
    """The figure and the variation that it belongs to: `circular`, else `original`; None without either.

    blocks: by variation, of letters. Only questions without defects count. The mean over the splits with the
    2.5 and 97.5 percentiles; every split estimates on one half and is right or wrong on the other.
    """
    variation = CIRCULAR if CIRCULAR in blocks else ORIGINAL
    block = blocks.get(variation)
    if block is None or block.output != LETTERS or block.responses.defective.all():
        return None
    rows = block.responses.take(~block.responses.defective)
    probabilities = clean_probabilities(rows)
    splits = group_splits(rows.groups, config.calibration, config.seed, config.splits)
    if splits.sizes.max() == splits.rows:
        return None
    right = np.zeros(len(splits))
    native = probabilities.present & (probabilities.roles >= 0)
    patterns, number = np.unique(native, axis=0, return_inverse=True)
    for place, letters in enumerate(patterns):
        chosen = np.flatnonzero(number.ravel() == place)
        right += _right(probabilities, chosen, letters, rows.groups, splits)
    accuracy = right / (splits.rows - splits.sizes)
    return variation, split_figure("accuracy_debiased_prior", accuracy, len(rows))


def _right(probabilities: Probabilities, chosen: Ints, native: Bools, groups: Ints, splits: Splits) -> Floats:
    """[splits] how many of the chosen rows, whose native options stand at the same letters [k], are right
    among those that test."""
    logs = log_softmax(probabilities.logits[chosen])
    logs[np.isneginf(logs)] = np.log(FLOOR)
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

"""Certainty by the size of prediction sets over classes of options (Schmalfuss et al. 2025).

Only the native options of a prompt count. Where a variation flips the answer, all options that are then
correct are one class with the sum of their probabilities. A row's certainty is 1 - (|C| - 1) / (|P| - 1), C
its LAC set and P its classes: 1 for a set of one class, 0 for a set of all.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.calibration.probabilities import authors_probabilities
from vouch.metrics.config import Config
from vouch.metrics.conformal.authors import AUTHORS, authors_split, authors_threshold
from vouch.metrics.conformal.membership import answer_scores, set_membership
from vouch.metrics.conformal.ranked import rank
from vouch.metrics.conformal.scores import with_penalties
from vouch.metrics.conformal.splits import group_splits
from vouch.metrics.conformal.thresholds import thresholds
from vouch.metrics.responses import Array, Bools, Responses
from vouch.tables.prompts import KEPT


def classes(responses: Responses, effect: str) -> Responses:
    """The same rows with a letter for each class; the merged one comes last and stands for no option.

    Its logit is the log of the sum of the exponentials. effect: of the variation, as in PROMPTS.
    """
    shown = np.arange(responses.logits.shape[1]) < responses.options[:, None]
    native = shown & (responses.roles >= 0)
    right = responses.answers & native
    if effect == KEPT:
        return _packed(responses, responses.logits, right, native)
    merged = np.logaddexp.reduce(np.where(right, responses.logits.astype(np.float64), -np.inf), axis=1)
    logits = np.column_stack([responses.logits, merged])
    some = right.any(axis=1)
    answers = np.column_stack([np.zeros_like(right), some])
    return _packed(responses, logits, answers, np.column_stack([native & ~right, some]))


def _packed(responses: Responses, logits: NDArray[np.floating], answers: Bools, kept: Bools) -> Responses:
    """The kept columns of every row [n, c], moved to the left."""
    order = np.argsort(~kept, axis=1, kind="stable")
    count = kept.sum(axis=1)
    moved = np.take_along_axis(np.where(kept, logits, -np.inf), order, axis=1)
    return replace(
        responses,
        logits=np.asfortranarray(moved, dtype=logits.dtype),
        answers=np.asfortranarray(np.take_along_axis(answers, order, axis=1)),
        roles=np.zeros(kept.shape, dtype=np.int32),
        letters=count,
        options=count,
    )


def certainty(responses: Responses, effect: str, protocol: str, config: Config) -> Array:
    """[n] certainty of each row in a protocol; NaN for a row with one class or that never tests.

    faithful: the test half of the one split with `config.seed`. clean: mean over the splits in which a row
    tests, groups whole, without the defective rows. An empty set holds the most probable class.
    """
    found = classes(responses, effect)
    usable = (found.options > 1) & np.isfinite(found.logits).any(axis=1)
    if protocol == "clean":
        usable &= ~responses.defective
    values = np.full(len(responses), np.nan)
    if usable.any():
        rows = found.take(usable)
        sizes = (_clean if protocol == "clean" else _faithful)(rows, config)
        values[usable] = 1 - (sizes - 1) / (rows.options - 1)
    return values


def _faithful(rows: Responses, config: Config) -> Array:
    """[n] set sizes, NaN for the rows that calibrate."""
    test, calibration = authors_split(len(rows), config.calibration, config.seed)
    probabilities = authors_probabilities(rows)
    threshold = authors_threshold(AUTHORS["lac"].answers(probabilities)[calibration], config.main_alpha)
    sizes = np.full(len(rows), np.nan)
    sizes[test] = AUTHORS["lac"].sets(probabilities, threshold).size[test]
    return sizes


def _clean(rows: Responses, config: Config) -> Array:
    """[n] mean set sizes, NaN for a row that calibrates in every split."""
    ranked, scores = rank(rows), {"lac": with_penalties("lac", config.settings.penalties)}
    splits = group_splits(rows.groups, config.calibration, config.seed, config.splits)
    all_alike = np.zeros(len(rows), dtype=np.int64)
    answers = answer_scores(ranked, scores)["lac"]
    limits = {"lac": thresholds(answers, all_alike, 1, splits, config.main_alpha)}
    sizes, _ = set_membership(ranked, scores, limits, all_alike)["lac"].row_means(splits)
    return np.where(splits.tests > 0, sizes, np.nan)

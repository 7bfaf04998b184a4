"""The two statistical protocols: `faithful`, the benchmark authors' code, and `clean`, a statistician's
choice.

faithful (Kostumov et al. 2024) reproduces the authors' numbers, quirks included: one split that tears groups
apart, every released letter counts, the stored dtype is kept, ties fall as in numpy's argsort, and ECE and
MCE rest on all rows, calibration half included. The authors give no intervals.

clean leaves out defective rows, counts only the options that the prompt shows, computes in float64 and draws
many splits of whole groups. No number depends on the order of options or on how ties are broken. Intervals
are over the splits for sets and temperature scaling, over groups for all else.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from vouch.metrics.calibration import (
    Probabilities,
    authors_probabilities,
    clean_probabilities,
    tally,
    torchmetrics_slots,
)
from vouch.metrics.confidence import OF_BINS, PER_ROW, confidence_figures
from vouch.metrics.config import ScoreConfig
from vouch.metrics.conformal.figures import OF_SETS, SWEPT, SetCounts, calibrated_on, rows_of, set_figures
from vouch.metrics.conformal.selective import selective_figures
from vouch.metrics.conformal.sets import SetMembership, Splits, group_splits
from vouch.metrics.metric import (
    CLEAN,
    MARGINAL,
    SHARE,
    Figure,
    MetricColumn,
    Protocol,
    declare,
    mean_figure,
    metrics,
)
from vouch.metrics.responses import NO_ROLE, Bools, Floats, Ints, Responses, count
from vouch.tables import DONT_KNOW, HEADLINE, NONE_OF_ABOVE


@lru_cache(maxsize=8)
def authors_split(rows: int, calibration: float, seed: int) -> tuple[Ints, Ints]:
    """(test, calibration) row numbers, as sklearn's train_test_split(train_size, random_state) draws them.

    A seeded permutation of all rows: the first n - floor(calibration n) test, the rest calibrate.
    Groups are torn apart. Generator: the legacy Mersenne Twister, whose stream numpy has frozen.
    Variations with equally many rows share a split, so it is cached and therefore read-only.
    """
    order = np.random.RandomState(seed).permutation(rows)
    order.setflags(write=False)
    tests = rows - math.floor(calibration * rows)
    return order[:tests], order[tests:]


def authors_threshold(scores: Floats, alpha: float) -> np.floating:
    """np.quantile(scores, ceil((n+1)(1-alpha))/n, method="higher") in the dtype of `scores` [n].

    That is the 0-based order statistic ceil((n-1) level), one above the textbook's for level < 1.
    +inf if n is too small for the level to be at most 1 (numpy would raise).
    """
    number = len(scores)
    rank = math.ceil((number + 1) * (1 - alpha))
    if rank > number:
        return scores.dtype.type(np.inf)
    index = -((1 - number) * rank // number)
    smallest: np.floating = np.partition(scores, index)[index]
    return smallest


@dataclass(frozen=True)
class Sets:
    """size: how many letters; covered: whether an answer is among them. Both [n]."""

    size: np.ndarray
    covered: Bools


class Authors(NamedTuple):
    """answers(probabilities) -> [n]: score of the answer in the stored dtype; sets: the prediction sets.

    An item with several answers has the smallest score among them, because a set covers it as soon as it
    holds one of them.
    """

    answers: Callable[[Probabilities], Floats]
    sets: Callable[[Probabilities, np.floating], Sets]


def _measure(kept: Bools, answers: Bools) -> Sets:
    """Sets from the kept letters [n, k] and the answers in the same order."""
    return Sets(count(kept), np.asarray((kept & answers).any(axis=1)))


def _lac_answers(probabilities: Probabilities) -> Floats:
    """[n] 1 - p of the answer."""
    return np.asarray(1 - (probabilities.p * probabilities.answers).max(axis=1))


def _lac_sets(probabilities: Probabilities, threshold: np.floating) -> Sets:
    """The letters with p >= 1 - threshold; if there is none, the most probable one (of equals, the first)."""
    kept = (probabilities.p >= probabilities.p.dtype.type(1) - threshold) & probabilities.present
    empty = np.flatnonzero(~kept.any(axis=1))
    kept[empty, probabilities.p[empty].argmax(axis=1)] = True
    return _measure(kept, probabilities.answers)


def _aps_answers(probabilities: Probabilities) -> Floats:
    """[n] running sum down to the answer, in the released order of ties (see ordering)."""
    # The smallest sum counts if there are several answers; other letters get more than any sum (about 1).
    beyond = probabilities.p.dtype.type(4)
    scores = np.full(len(probabilities.p), beyond)
    for summed, answers in zip(probabilities.cumulative.T, probabilities.ranked_answers.T, strict=True):
        np.minimum(scores, summed + beyond * ~answers, out=scores)
    return scores


def _aps_sets(probabilities: Probabilities, threshold: np.floating) -> Sets:
    """Letters in descending order while the running sum is <= threshold, at least the first.

    The letter that crosses it is left out; much of the coverage comes from the letter kept in an empty set.
    """
    kept = (probabilities.cumulative <= threshold) & probabilities.ranked_present
    kept[:, 0] = True
    return _measure(kept, probabilities.ranked_answers)


def _margins(probabilities: Probabilities) -> Floats:
    """[n, k] largest other p minus the letter's own, in the stored dtype; negative for the largest p."""
    p = probabilities.p
    ranked = np.maximum(probabilities.ranked, 0)
    second = ranked[:, 1] if p.shape[1] > 1 else np.zeros_like(p[:, 0])
    first = np.zeros(p.shape, dtype=bool)
    first[np.arange(len(p)), p.argmax(axis=1)] = True
    return np.asarray(np.where(first, second[:, None], ranked[:, :1]) - p)


def _literal_margins(probabilities: Probabilities) -> Floats:
    """[n, k] largest p minus the second largest, the same for every letter of a row."""
    return np.tile(-_margins(probabilities).min(axis=1, keepdims=True), probabilities.p.shape[1])


def _by_letter(scores: Callable[[Probabilities], Floats]) -> Authors:
    """Sets of all letters with a score [n, k] up to the threshold; an empty one gets the most probable."""

    def answers(probabilities: Probabilities) -> Floats:
        beyond = probabilities.p.dtype.type(4)
        return np.asarray(np.where(probabilities.answers, scores(probabilities), beyond).min(axis=1))

    def sets(probabilities: Probabilities, threshold: np.floating) -> Sets:
        kept = (scores(probabilities) <= threshold) & probabilities.present
        empty = np.flatnonzero(~kept.any(axis=1))
        kept[empty, probabilities.p[empty].argmax(axis=1)] = True
        return _measure(kept, probabilities.answers)

    return Authors(answers, sets)


AUTHORS: dict[str, Authors] = {
    "lac": Authors(_lac_answers, _lac_sets),
    "aps": Authors(_aps_answers, _aps_sets),
    # Azad et al. 2025 use the same threshold and name neither code nor split: those of Kostumov et al.
    "margin": _by_letter(_margins),
    "margin_literal": _by_letter(_literal_margins),
}
"""Scores that both protocols know, as the authors compute them."""


declare("groups", "Groups", "number of groups of items, each of which is one observation", unit="groups")
declare("rows_dropped", "Dropped", "rows that cleaning found defective", unit="rows")
declare(
    "sibling_share",
    "Leaked",
    "share of the test rows that have a row of their group in the calibration half",
    better="lower",
    unit=SHARE,
)
Formula = Callable[[Any], Any]


def faithful(responses: Responses, config: ScoreConfig, every_row: bool = False) -> Protocol:
    """Metrics of n responses and, per row, whether it tests and the size and coverage of its sets.

    Rates like accuracy are means over the test half, or over every row.
    """
    if not len(responses):
        return Protocol([])
    test, calibration = authors_split(len(responses), config.calibration, config.seed)
    probabilities = authors_probabilities(_with_authors_roles(_with_own_answers(responses)))
    counted = np.arange(len(responses)) if every_row else test
    figures = [*_row_figures(probabilities, counted), *_bin_figures(probabilities, config.bins)]
    groups = responses.groups
    figures.append(Figure("", "groups", float(np.count_nonzero(np.bincount(groups))), len(groups)))
    leaked = float(np.isin(groups[test], groups[calibration]).mean())
    figures.append(Figure("", "sibling_share", leaked, len(test)))
    scores = (*HEADLINE, *(name for name in AUTHORS if name in config.scores and name not in HEADLINE))
    answers = {name: AUTHORS[name].answers(probabilities) for name in scores}
    sets, infinite = _sets(probabilities, answers, calibration, config.main_alpha)
    never = Figure("", "infinite_threshold_rate", float(infinite), len(test))
    figures.append(replace(never, calibration=MARGINAL, alpha=config.main_alpha))
    figures += _set_figures(probabilities, sets, test, config.main_alpha)
    for share in config.shares:
        other_test, other = authors_split(len(responses), share, config.seed)
        swept, _ = _sets(probabilities, answers, other, config.main_alpha)
        found = _set_figures(probabilities, swept, other_test, config.main_alpha)
        figures += [
            replace(each, metric=calibrated_on(each.metric, share)) for each in found if each.metric in SWEPT
        ]
    columns = _columns({name: sets[name] for name in HEADLINE}, test, len(responses))
    return Protocol(figures, columns)


def _sets(
    probabilities: Probabilities, answers: Mapping[str, Floats], calibration: Ints, alpha: float
) -> tuple[dict[str, Sets], bool]:
    """Sets of all rows by score, and whether too few rows [c] calibrate for a finite threshold.

    answers: by score, that of each row's answer [n].
    """
    limits = {name: authors_threshold(scores[calibration], alpha) for name, scores in answers.items()}
    sets = {name: AUTHORS[name].sets(probabilities, limit) for name, limit in limits.items()}
    return sets, any(np.isinf(limit) for limit in limits.values())


def _with_own_answers(responses: Responses) -> Responses:
    """No option that a template adds is an answer, even if it says the same as the item's own answer."""
    added = (responses.roles == NONE_OF_ABOVE) | (responses.roles == DONT_KNOW)
    return replace(responses, answers=responses.answers & ~added)


def _with_authors_roles(responses: Responses) -> Responses:
    """Gives the last letters the roles of the added options if more were released than the prompt shows.

    The authors count the letters E and F whatever the prompt showed under them.
    """
    rows = np.flatnonzero(responses.letters > responses.options)
    if not len(rows):
        return responses
    roles, letters = responses.roles[rows], responses.letters[rows]
    none, unsure = (roles == NONE_OF_ABOVE).any(axis=1), (roles == DONT_KNOW).any(axis=1)
    roles[roles < 0] = NO_ROLE
    roles[none, letters[none] - 1] = NONE_OF_ABOVE
    roles[unsure, (letters - none)[unsure] - 1] = DONT_KNOW
    every = responses.roles.copy(order="K")
    every[rows] = roles
    return replace(responses, roles=every)


def _authors(table: Mapping[str, Formula]) -> Iterator[tuple[str, Formula]]:
    """The metrics of a table that the authors have too."""
    yield from ((name, formula) for name, formula in table.items() if metrics()[name].authors)


def _row_figures(probabilities: Probabilities, test: Ints) -> list[Figure]:
    figures = []
    for name, formula in _authors(PER_ROW):
        values = formula(probabilities)
        if values is not None:
            rows = values[test] if metrics()[name].authors == "test" else values
            figures.append(Figure("", name, _mean(rows), len(rows)))
    return figures


def _bin_figures(probabilities: Probabilities, bins: int) -> list[Figure]:
    confidence = probabilities.confidence.astype(np.float32)
    slots = torchmetrics_slots(confidence, bins)
    tallied = tally(slots, bins + 1, confidence, probabilities.correct)
    return [Figure("", name, float(formula(tallied)), len(slots)) for name, formula in _authors(OF_BINS)]


def _set_figures(
    probabilities: Probabilities, sets: Mapping[str, Sets], test: Ints, alpha: float
) -> list[Figure]:
    correct, options = (
        np.array(_mean(each[test])) for each in (probabilities.correct, probabilities.options)
    )
    counted = {
        score: SetCounts(np.bincount(of_score.size[test] * 4 + of_score.covered[test] * 2), correct, options)
        for score, of_score in sets.items()
    }
    figures: list[Figure] = []
    for name, formula in _authors(OF_SETS):
        values = {score: float(formula(each)) for score, each in counted.items()}
        values["mean"] = sum(values[score] for score in HEADLINE) / len(HEADLINE)
        figures.extend(
            Figure(score, name, value, len(test), calibration=MARGINAL, alpha=alpha)
            for score, value in values.items()
        )
    return figures


def _columns(sets: Mapping[str, Sets], test: Ints, count: int) -> dict[str, MetricColumn]:
    testing = np.zeros(count, dtype=bool)
    testing[test] = True
    half = np.where(testing, "test", "calibration")
    columns = {"half": MetricColumn(half, np.ones(count, dtype=bool))}
    for score, of_score in sets.items():
        columns[f"size_{score}"] = MetricColumn(of_score.size, testing)
        columns[f"covered_{score}"] = MetricColumn(of_score.covered, testing)
    return columns


def _mean(values: np.ndarray) -> float:
    total = np.count_nonzero(values) if values.dtype == bool else values.sum(dtype=np.float64)
    return float(total / len(values))


def clean(responses: Responses, config: ScoreConfig) -> Protocol:
    """Metrics of the clean rows among n responses and, per row, its mean coverage and set size."""
    rows = responses.take(~responses.defective)
    figures = [Figure("", "rows_dropped", float(len(responses) - len(rows)), len(responses))]
    if not len(rows):
        return Protocol(figures)
    probabilities = clean_probabilities(rows)
    ranked = rows_of(rows, probabilities.correct, config.scores, config.parameters)
    splits = group_splits(rows.groups, config.calibration, config.seed, config.splits)
    groups = float(np.count_nonzero(np.bincount(rows.groups)))
    figures.append(Figure("", "groups", groups, len(rows)))
    for name, formula in PER_ROW.items():
        values = formula(probabilities)
        if values is not None:
            figures.append(mean_figure(name, values, rows.groups, CLEAN))
    figures += confidence_figures(probabilities, ranked, rows.groups, splits, config)
    figures += selective_figures(probabilities.sureness, probabilities.correct, rows.groups, config.seed)
    of_sets, membership = set_figures(ranked, rows.groups, splits, config)
    return Protocol(
        figures + of_sets, _clean_columns(probabilities, membership, splits, ~responses.defective)
    )


def _clean_columns(
    probabilities: Probabilities, found: Mapping[str, SetMembership], splits: Splits, kept: Bools
) -> dict[str, MetricColumn]:
    columns = {"clean_correct": _spread(probabilities.correct, np.ones(splits.rows, dtype=bool), kept)}
    for score in HEADLINE:
        size, covered = found[score].row_means(splits)
        columns[f"clean_covered_{score}"] = _spread(covered, splits.tests > 0, kept)
        columns[f"clean_size_{score}"] = _spread(size, splits.tests > 0, kept)
    return columns


def _spread(values: Floats | Bools, known: Bools, kept: Bools) -> MetricColumn:
    """Values of the kept rows laid out over all rows; unknown for dropped rows."""
    every, everywhere = np.zeros(len(kept)), np.zeros(len(kept), dtype=bool)
    every[kept], everywhere[kept] = values, known
    return MetricColumn(every, everywhere)

"""A question asked several times: in several orders, as numbered tests, as turns, or sampled.

`debiased` and `without_prior` give the accuracy without letter bias (Zheng et al. 2024), in two ways:

`debiased` averages an option's probability over the positions it was shown at. A question asked with its
options in every rotation (`circular`) shows every option at every position once, so whatever the model adds
to a letter falls on all options alike; two orders (`original` and `option_order`) do so roughly.

`without_prior` divides the model's prior over letters out (PriDe). On the calibration half it estimates

    prior(d) = mean over groups of softmax_d( mean over the group's prompts of log p(d | prompt) )

and on the test half every native option gets p(d | prompt) / (k prior(d)), with k native options; options
added by a template keep their probability. In `circular`, or if a group holds all circular copies of a
question, the inner mean cancels the options' content. Elsewhere the estimate assumes that correct answers and
options are spread evenly over the letters. Each number of options has a prior of its own.

`number_figures` covers the tests of a question and the turns of a conversation, `first_figures` the first
text sampled for each test (temperature 0.2 in ReForm-Eval), `preference_figures` the positions that generated
answers prefer (all: Li et al. 2023).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import scipy

from vouch.metrics.calibration import Probabilities, clean_probabilities, log_softmax
from vouch.metrics.confidence import OF_LETTERS, Letters
from vouch.metrics.config import DEFAULT_ANSWER, ScoreConfig
from vouch.metrics.conformal.sets import Splits, group_splits
from vouch.metrics.intervals import centred, group_sums, mean_interval, percentiles, resampled
from vouch.metrics.join import Block
from vouch.metrics.metric import CLEAN, SHARE, Figure, declare, mean_figure, named, split_figure
from vouch.metrics.perturbation import Predictions, PromptIndex
from vouch.metrics.responses import Array, Bools, Floats, Ints
from vouch.metrics.robustness import OF_TESTS, OF_TURNS, instability
from vouch.metrics.text.corpus import corpus_figures, corpus_sums
from vouch.metrics.text.grading import GRADED_COLUMNS, grade_texts
from vouch.metrics.text.texts import Numbers, TextBlock
from vouch.tables import NONE_OF_ABOVE
from vouch.tables.asked import CIRCULAR, LETTERS, LIKELIHOOD, ORIGINAL, TEXT
from vouch.tables.results import OUTCOMES

declare(
    "accuracy_debiased",
    "Accuracy, debiased",
    "options' probabilities averaged over the places they stood at",
    better="higher",
    unit=SHARE,
    source="Zheng et al. 2024",
    detail="those of `circular`, else of `original` and `option_order`",
)
declare(
    "accuracy_debiased_prior",
    "Accuracy without prior",
    "after the model's prior over letters is divided out",
    better="higher",
    unit=SHARE,
    source="Zheng et al. 2024 (PriDe)",
    detail="the prior of the calibration half, accuracy on the test half; exact if a group has an option at "
    "every letter (`circular`, circular copies), else it assumes that answers are spread evenly",
)
PAIR = (ORIGINAL, "option_order")
FLOOR = 1e-12
"""Probability of letters that a server left out."""


def debiased(blocks: Mapping[str, Block]) -> tuple[str, Figure] | None:
    """The figure and the variation that it belongs to; None if the questions were asked in only one order.

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
        # Sums of p as whole numbers plus a rest, so that 1 - 1e-20 differs from 1.
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
    """[n, k] the largest of the sums of a whole number and a rest; among near ties the rests decide."""
    total = numbers + rests
    close = total > total.max(axis=1, keepdims=True) - 1e-12
    most = np.where(close, numbers, -np.inf).max(axis=1, keepdims=True)
    close &= numbers == most
    return np.asarray(close & (rests == np.where(close, rests, -np.inf).max(axis=1, keepdims=True)))


def without_prior(blocks: Mapping[str, Block], config: ScoreConfig) -> tuple[str, Figure] | None:
    """The figure and the variation that it belongs to: `circular`, else `original`; None without either.

    blocks: by variation, of letters. Only questions without defects count. The mean over the splits with the
    2.5 and 97.5 percentiles; every split estimates the prior on one half and is scored on the other.
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
    for index, letters in enumerate(patterns):
        chosen = np.flatnonzero(number.ravel() == index)
        right += _right(probabilities, chosen, letters, rows.groups, splits)
    accuracy = right / (splits.rows - splits.sizes)
    return variation, split_figure("accuracy_debiased_prior", accuracy, len(rows))


def _right(probabilities: Probabilities, chosen: Ints, native: Bools, groups: Ints, splits: Splits) -> Floats:
    """[splits] how many of the chosen rows that test are correct. native [k]: which letters are native
    options, the same letters in all these rows."""
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
    return np.asarray(scipy.special.softmax(sums, axis=1) if sums.shape[1] else sums)


declare("gap_to_likelihood", "Gap to likelihood", "accuracy minus that of likelihood")
declare("gap_to_text", "Gap to text", "accuracy minus that of text")
PAIRS = ((LETTERS, LIKELIHOOD), (LETTERS, TEXT), (LIKELIHOOD, TEXT))


def gap_figures(
    predictions: Mapping[str, Mapping[str, Predictions]], protocol: str
) -> Iterator[tuple[str, str, Figure]]:
    """(variation, output, figure): accuracy of `output` minus that of the output in the metric's name.

    Covers the prompts that both answered. predictions: by output and variation.
    """
    for variation in dict.fromkeys(name for parts in predictions.values() for name in parts):
        for first, second in PAIRS:
            if variation not in predictions[first] or variation not in predictions[second]:
                continue
            one, other = (predictions[output][variation].counted(protocol) for output in (first, second))
            _, here, there = np.intersect1d(one.prompts, other.prompts, return_indices=True)
            gaps = one.correct[here] - other.correct[there]
            known = ~np.isnan(gaps)
            if not known.any():
                continue
            low: float | None = None
            high: float | None = None
            if protocol == CLEAN:
                ends = mean_interval((gaps[known] + 1) / 2, one.groups[here][known])
                low, high = (None if end is None else 2 * end - 1 for end in ends)
                low, high = (None, None) if low == high else (low, high)
            value = float(gaps[known].mean())
            yield variation, first, Figure("", f"gap_to_{second}", value, int(known.sum()), low, high)


def preference_figures(
    predictions: Predictions, index: PromptIndex, protocol: str, seed: int
) -> Iterator[Figure]:
    """chosen_share_A, correct_share_A, ... for the first option and so on, whatever its label.

    Rows that name one option; several correct ones share. clean: bootstrap intervals over groups.
    """
    rows = predictions.counted(protocol)
    rows = rows.take(rows.option >= 0)
    right = index.correct_shares(rows.prompts)
    width = max(right.shape[1], int(rows.option.max(initial=0)) + 1)
    if width < 2 or not len(rows):
        return
    shares = np.zeros((len(rows), 2 * width))
    shares[np.arange(len(rows)), rows.option] = 1
    shares[:, width : width + right.shape[1]] = right
    exact = Letters(*np.split(shares.mean(axis=0), 2))
    draws = None
    if protocol == CLEAN:
        totals = resampled(group_sums(rows.groups, [(0, share, 1) for share in shares.T]), seed)
        draws = Letters(*np.split(totals / totals[:, :width].sum(axis=1, keepdims=True), 2, axis=1))
    for metric, formula in OF_LETTERS.items():
        drawn = None if draws is None else named(metric, formula(draws))
        for name, value in named(metric, formula(exact)).items():
            ends = (None, None) if drawn is None else centred(float(value), drawn[name])
            yield Figure("", name, float(value), len(rows), *ends)


declare(
    "accuracy_test",
    "Accuracy of a test",
    "by number of the test of a question",
    better="higher",
    unit=SHARE,
    detail="for `instruction` the K-th instruction; of the questions that have all of them",
)
declare("accuracy_turn", "Accuracy of a turn", "by turn of the conversation", better="higher", unit=SHARE)
TEST, TURN = "test", "turn"


def number_figures(predictions: Predictions, protocol: str, seed: int) -> Iterator[Figure]:
    """Figures of one variation and output; none if prompts are not numbered."""
    rows = predictions.counted(protocol)
    if rows.tests.any():
        yield from _instability(rows, protocol)
        whole = _whole(rows.take(~np.isnan(rows.correct)))
        yield from _cells(whole, whole.tests - 1, TEST, protocol, seed)
    known = rows.take(~np.isnan(rows.correct))
    yield from _cells(known, known.turns - 1, TURN, protocol, seed)


def _instability(rows: Predictions, protocol: str) -> Iterator[Figure]:
    """Instability of the questions with two or more answered tests."""
    again = np.bincount(rows.items)[rows.items] > 1
    if again.any():
        _, first, number = np.unique(rows.items[again], return_index=True, return_inverse=True)
        values = instability(number, rows.answers[again])
        yield mean_figure("instability", values, rows.groups[again][first], protocol)


def _whole(rows: Predictions) -> Predictions:
    """The rows of questions that have every test."""
    if not len(rows):
        return rows
    return rows.take((np.bincount(rows.items) == rows.tests.max())[rows.items])


def _cells(rows: Predictions, cells: Ints, over: str, protocol: str, seed: int) -> Iterator[Figure]:
    """Accuracy by test or turn, and figures computed from these; none if there is only one."""
    number = int(cells.max(initial=0)) + 1
    counts = np.bincount(cells, minlength=number)
    if number < 2 or not counts.all():
        return
    for cell in range(number):
        here = cells == cell
        yield mean_figure(f"accuracy_{over}_{cell + 1}", rows.correct[here], rows.groups[here], protocol)
    sums = _sums(rows, cells, number)
    draws = resampled(sums, seed) if protocol == CLEAN and len(sums) > 1 else None
    for name, formula in (OF_TESTS if over == TEST else OF_TURNS).items():
        value = float(formula(_means(sums.sum(axis=0)[None]))[0])
        drawn = None if draws is None else formula(_means(draws))
        if not np.isnan(value):
            # Noise in the means widens a range, but does not shift a slope or correlation on average.
            yield Figure("", name, value, len(rows), *_ends(drawn, value, resting=over == TURN))


def _sums(rows: Predictions, cells: Ints, number: int) -> Array:
    """[G, 2 * cells] by group: the sums of the accuracies, then the numbers of rows."""
    groups = np.unique(rows.groups, return_inverse=True)[1]
    cell, size = groups * number + cells, (int(groups.max()) + 1) * number
    columns = [np.bincount(cell, weights, size).reshape(-1, number) for weights in (rows.correct, None)]
    return np.concatenate(columns, axis=1).astype(np.float64)


def _means(totals: Array) -> Array:
    sums, counts = np.split(totals, 2, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums / counts)


def _ends(draws: Array | None, value: float, resting: bool) -> tuple[float | None, float | None]:
    """2.5 and 97.5 percentiles of the draws in which the value is known; none if they are all equal.

    resting: whether noise leaves the value unbiased; if not, the percentiles are taken about their median.
    """
    known = None if draws is None else draws[~np.isnan(draws)]
    if known is None or not len(known) or known.min() == known.max():
        return None, None
    return percentiles(known) if resting else centred(value, known)


@dataclass(frozen=True)
class FirstSamples:
    """predictions: the first samples at a temperature, n rows. graded: values [n] by metric; summed: sums
    [n, s] by metric of a whole corpus."""

    score: str
    predictions: Predictions
    graded: Mapping[str, Numbers]
    summed: Mapping[str, Floats]


def first_samples(
    index: PromptIndex, outcomes: pa.Table, block: TextBlock, dataset: str, config: ScoreConfig
) -> Iterator[FirstSamples]:
    """One for each temperature; none if prompts are not numbered. A prompt without samples has no row.

    outcomes: rows of OUTCOMES of the greedy texts of the block, row by row.
    """
    if not index.numbered(block.prompts):
        return
    names = config.answers.get(dataset, [DEFAULT_ANSWER])
    for temperature, samples in block.samples.items():
        rows = [row for row, drawn in enumerate(samples) if drawn]
        questions, texts = [block.questions[row] for row in rows], [samples[row][0] for row in rows]
        graded, measured = grade_texts(questions, texts, config, names)
        grades = np.array([one.grade for one in graded])
        unknown = np.isnan(grades)
        columns = {name: [getattr(one, name) for one in graded] for name in GRADED_COLUMNS}
        columns["correct"] = pa.array(grades >= 0.5, mask=unknown)
        columns["clean_correct"] = pa.array(grades, mask=unknown | block.defective[rows])
        predictions = index.predictions(_replaced(outcomes.take(rows), columns), texts)
        if predictions is not None:
            summed = corpus_sums(names, texts, [one.references for one in questions])
            graded_by = {"accuracy": grades} | measured
            yield FirstSamples(f"first_t{temperature:g}", predictions, graded_by, summed)


def first_figures(firsts: FirstSamples, protocol: str, seed: int) -> Iterator[Figure]:
    """Means of the metrics over all prompts, and figures of tests and turns; all have the samples' score."""
    predictions = firsts.predictions
    for metric, values in firsts.graded.items():
        known = ~np.isnan(values)
        if protocol == CLEAN:
            known &= ~predictions.defective
        if known.any():
            yield mean_figure(metric, values[known], predictions.groups[known], protocol, firsts.score)
    counted = ~predictions.defective if protocol == CLEAN else np.ones(len(predictions), dtype=bool)
    of_all = corpus_figures(firsts.summed, counted, predictions.groups, protocol, seed)
    for figure in (*of_all, *number_figures(predictions, protocol, seed)):
        yield replace(figure, score=firsts.score)


def _replaced(outcomes: pa.Table, columns: Mapping[str, object]) -> pa.Table:
    for name, values in columns.items():
        index = OUTCOMES.schema.get_field_index(name)
        field = OUTCOMES.schema.field(name)
        outcomes = outcomes.set_column(index, field, pa.array(values, field.type))
    return outcomes

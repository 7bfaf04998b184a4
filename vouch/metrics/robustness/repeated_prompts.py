"""How outputs differ, and where generated answers point (Li et al. 2023, ReForm-Eval).

faithful: all rows, no interval. clean: those without defects, ties shared, intervals over groups.

Metrics of numbered prompts: the tests of a question and the turns of a conversation (Li et al. 2023).

faithful: all rows, no interval. clean: rows without defects; 95 % intervals over groups, of single accuracies
and instability by the sandwich formula, of what several accuracies make by the bootstrap.

What several texts sampled for a prompt say: how they differ, and the first of each numbered prompt.

Li et al. 2023 (ReForm-Eval) grade one text for every test of a question, drawn at temperature 0.2 from models
that sample. Figures of greedy texts have an empty score, those of several samples of the same prompt
`tTEMPERATURE`, those of first samples `first_tTEMPERATURE`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from vouch.metrics.calibration.figures import OF_LETTERS, Letters
from vouch.metrics.config import DEFAULT_ANSWER, Config
from vouch.metrics.intervals import (
    CLEAN,
    Figure,
    centred,
    group_sums,
    mean_figure,
    mean_interval,
    percentiles,
    resampled,
)
from vouch.metrics.registry import named
from vouch.metrics.responses import Array, Ints
from vouch.metrics.robustness.metrics import OF_TESTS, OF_TURNS, instability
from vouch.metrics.robustness.predictions import Predictions, PromptIndex
from vouch.metrics.text.grading import SAID, grade_texts
from vouch.metrics.text.texts import Numbers, Question, TextBlock
from vouch.tables.asked import LETTERS, LIKELIHOOD, TEXT
from vouch.tables.results import OUTCOMES, UNREAD

PAIRS = ((LETTERS, LIKELIHOOD), (LETTERS, TEXT), (LIKELIHOOD, TEXT))


def gap_figures(predictions: Sequence[Predictions], protocol: str) -> Iterator[tuple[str, str, Figure]]:
    """(variation, output, figure): accuracy of `output` minus that of the output in the metric's name.

    On the prompts that both answered.
    """
    by_place = {(each.variation, each.output): each for each in predictions}
    for variation in dict.fromkeys(each.variation for each in predictions):
        for first, second in PAIRS:
            sides = [by_place.get((variation, output)) for output in (first, second)]
            if sides[0] is None or sides[1] is None:
                continue
            one, other = (side.counted(protocol) for side in sides if side is not None)
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
    """chosen_share_A, right_share_A, ... by place, whatever its mark looks like; several right ones share.

    Of the rows that name one option. clean: intervals of a bootstrap over groups, as those of letters.
    """
    rows = predictions.counted(protocol)
    rows = rows.take(rows.place >= 0)
    right = index.right_shares(rows.prompts)
    width = max(right.shape[1], int(rows.place.max(initial=0)) + 1)
    if width < 2 or not len(rows):
        return
    shares = np.zeros((len(rows), 2 * width))
    shares[np.arange(len(rows)), rows.place] = 1
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


TEST, TURN = "test", "turn"


def number_figures(predictions: Predictions, protocol: str, seed: int) -> Iterator[Figure]:
    """Figures of one variation and output; nothing where prompts are not numbered."""
    rows = predictions.counted(protocol)
    if rows.tests.any():
        yield from _instability(rows, protocol)
        whole = _whole(rows.take(~np.isnan(rows.correct)))
        yield from _cells(whole, whole.tests - 1, TEST, protocol, seed)
    known = rows.take(~np.isnan(rows.correct))
    yield from _cells(known, known.turns - 1, TURN, protocol, seed)


def _instability(rows: Predictions, protocol: str) -> Iterator[Figure]:
    """Questions with two answered tests or more."""
    again = np.bincount(rows.items)[rows.items] > 1
    if again.any():
        _, first, number = np.unique(rows.items[again], return_index=True, return_inverse=True)
        values = instability(number, rows.answers[again])
        yield mean_figure("instability", values, rows.groups[again][first], protocol)


def _whole(rows: Predictions) -> Predictions:
    """The questions that have every test."""
    if not len(rows):
        return rows
    return rows.take((np.bincount(rows.items) == rows.tests.max())[rows.items])


def _cells(rows: Predictions, cells: Ints, over: str, protocol: str, seed: int) -> Iterator[Figure]:
    """Accuracy by test or turn, and what is made of them; nothing where there is but one."""
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
            # Noise in the means widens a range, and leaves a slope or correlation where it is on average.
            yield Figure("", name, value, len(rows), *_ends(drawn, value, resting=over == TURN))


def _sums(rows: Predictions, cells: Ints, number: int) -> Array:
    """[G, 2 * cells] by group the sums of the accuracies and the numbers of rows."""
    groups = np.unique(rows.groups, return_inverse=True)[1]
    place, size = groups * number + cells, (int(groups.max()) + 1) * number
    columns = [np.bincount(place, weights, size).reshape(-1, number) for weights in (rows.correct, None)]
    return np.concatenate(columns, axis=1).astype(np.float64)


def _means(totals: Array) -> Array:
    sums, counts = np.split(totals, 2, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums / counts)


def _ends(draws: Array | None, value: float, resting: bool) -> tuple[float | None, float | None]:
    """2.5 and 97.5 percentiles of the draws in which the value is known; none where they are all alike.

    resting: whether noise leaves the value where it is; else the percentiles are taken about their median.
    """
    known = None if draws is None else draws[~np.isnan(draws)]
    if known is None or not len(known) or known.min() == known.max():
        return None, None
    return percentiles(known) if resting else centred(value, known)


def sampled_agreement(
    questions: Sequence[Question],
    texts: Sequence[str],
    samples: Sequence[Sequence[str]],
    config: Config,
    names: Sequence[str],
) -> Numbers:
    """[n] share of the samples that give the answer of the greedy text; NaN without samples, or where that
    text was not read.

    Self-consistency as confidence (Wang et al. 2023; Xiong et al. 2024). names: as for `grade_texts`.
    """
    _, greedy, _ = read_samples(questions, [[text] for text in texts], config, names)
    rows, answers, _ = read_samples(questions, samples, config, names)
    same = answers == greedy[rows]
    counts = np.bincount(rows, minlength=len(samples))
    agreed = np.bincount(rows, same, minlength=len(samples))
    read = np.array([answer.startswith("=") for answer in greedy])
    return np.where((counts > 0) & read, agreed / np.maximum(counts, 1), np.nan)


def read_samples(
    questions: Sequence[Question], samples: Sequence[Sequence[str]], config: Config, names: Sequence[str]
) -> tuple[Ints, np.ndarray, Numbers]:
    """Of every sample its row, its answer, `=` before one that was read and `?` before another text, and its
    grade."""
    rows = [row for row, texts in enumerate(samples) for _ in texts]
    texts = [text for said in samples for text in said]
    graded = grade_texts([questions[row] for row in rows], texts, config, names)[0] if texts else []
    answers = [
        f"?{text}" if one.parser in UNREAD else f"={one.answer}"
        for one, text in zip(graded, texts, strict=True)
    ]
    grades = np.array([one.grade for one in graded])
    return np.array(rows, dtype=np.int64), np.array(answers, dtype=object), grades


@dataclass(frozen=True)
class FirstSamples:
    """predictions: what the first samples at a temperature said, n rows. graded: by metric its values [n]."""

    score: str
    predictions: Predictions
    graded: Mapping[str, Numbers]


def first_samples(
    index: PromptIndex, outcomes: pa.Table, block: TextBlock, dataset: str, config: Config
) -> Iterator[FirstSamples]:
    """One for each temperature; none where prompts are not numbered. A prompt without samples has no row.

    outcomes: rows of OUTCOMES of the greedy texts of the block, row by row.
    """
    if not index.numbered(block.prompts):
        return
    names = config.answers.get(dataset, [DEFAULT_ANSWER])
    for temperature, samples in block.samples.items():
        rows = [row for row, drawn in enumerate(samples) if drawn]
        texts = [samples[row][0] for row in rows]
        graded, measured = grade_texts([block.questions[row] for row in rows], texts, config, names)
        grades = np.array([one.grade for one in graded])
        unknown = np.isnan(grades)
        columns = {name: [getattr(one, name) for one in graded] for name in SAID}
        columns["correct"] = pa.array(grades >= 0.5, mask=unknown)
        columns["clean_correct"] = pa.array(grades, mask=unknown | block.defective[rows])
        predictions = index.predictions(_replaced(outcomes.take(rows), columns), texts)
        if predictions is not None:
            yield FirstSamples(f"first_t{temperature:g}", predictions, {"accuracy": grades} | measured)


def first_figures(firsts: FirstSamples, protocol: str, seed: int) -> Iterator[Figure]:
    """Means of the metrics over all prompts, and what is made of their numbers; all with the score."""
    predictions = firsts.predictions
    for metric, values in firsts.graded.items():
        known = ~np.isnan(values)
        if protocol == CLEAN:
            known &= ~predictions.defective
        if known.any():
            yield mean_figure(metric, values[known], predictions.groups[known], protocol, firsts.score)
    for figure in number_figures(predictions, protocol, seed):
        yield replace(figure, score=firsts.score)


def _replaced(outcomes: pa.Table, columns: Mapping[str, object]) -> pa.Table:
    for name, values in columns.items():
        place = OUTCOMES.schema.get_field_index(name)
        field = OUTCOMES.schema.field(name)
        outcomes = outcomes.set_column(place, field, pa.array(values, field.type))
    return outcomes

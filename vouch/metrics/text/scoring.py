"""Generated texts graded and scored: rows of the metrics and outcomes tables, in both protocols.

`grade_texts` reads every text with the parsers and answer metrics. `read_samples` does the same for sampled
texts; `split_p_true` takes out the prompts that ask a model about its own answer: P(true) is p(True) /
(p(True) + p(False)) by the logits of their letters, averaged over the orders shown (Kadavath et al. 2022).
`score_texts` makes the figures. faithful: plain means over all rows, as Li et al. 2023 and Tu et al. 2024
take them, and answer metrics as VLMEvalKit computes them. clean: no defective rows, 95 % intervals with
groups as observations.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.calibration import equal_slots, resampled_bins, softmax, tally
from vouch.metrics.confidence import OF_BINS, Order, auroc
from vouch.metrics.config import DEFAULT_ANSWER, ScoreConfig
from vouch.metrics.conformal.selective import numbered, sampled_sets, selective_figures
from vouch.metrics.conformal.sets import group_splits
from vouch.metrics.intervals import Interval, centred, group_sums, resampled
from vouch.metrics.label_free import PER_SAMPLE, PER_TEXT
from vouch.metrics.metric import (
    CLEAN,
    FAITHFUL,
    SHARE,
    Figure,
    MetricColumn,
    declare,
    is_share,
    mean_figure,
    split_figure,
)
from vouch.metrics.responses import Bools, Floats, Ints
from vouch.metrics.tables import Scored, metric_rows, outcome_table
from vouch.metrics.text.answers import ANSWERS, IN_VLMEVALKIT, numeric
from vouch.metrics.text.captions import Scores
from vouch.metrics.text.corpus import OF_CORPUS, corpus_figures, corpus_sums
from vouch.metrics.text.judge import Places, Verdicts, decided, judged_rows
from vouch.metrics.text.parsers import READER, first_mark
from vouch.metrics.text.reader.open import declined, value
from vouch.metrics.text.reader.options import DECLINED, NONE, Reading
from vouch.metrics.text.reader.options import SEVERAL as CONTRADICTORY
from vouch.metrics.text.texts import VERBALISED, Numbers, TextBlock, TextQuestion
from vouch.metrics.text.wording import LONGEST, plain, short
from vouch.metrics.uncertainty import clustered_entropy
from vouch.metrics.unranked import ACCURACY_RULES, JUDGED_RATE, UNDECIDED_RATE
from vouch.tables.asked import OWN
from vouch.tables.results import JUDGE, REFUSAL, SEVERAL, UNPARSED, UNREAD
from vouch.tables.thoughts import apart

TRUE = 0
"""Position of True among the options of variation p_true, as `order` of the prompts table counts."""


def split_p_true(letters: pa.Table, prompts: pa.Table) -> tuple[pa.Table, pa.Table, dict[str, float]]:
    """Letters and prompts without those that ask about the model's own answers, and P(true) by item.

    An item has a P(true) only if each of its prompts has an answer.
    """
    own = prompts.filter(pc.equal(prompts["effect"], OWN))
    if not own.num_rows:
        return letters, prompts, {}
    about_own = pc.is_in(letters["prompt"], own["id"].combine_chunks())
    answers = {row["prompt"]: row["logits"] for row in letters.filter(about_own).to_pylist()}
    others = prompts.filter(pc.not_equal(prompts["effect"], OWN))
    return letters.filter(pc.invert(about_own)), others, _by_item(own, answers)


def _by_item(own: pa.Table, answers: Mapping[str, list[float] | None]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for row in own.select(["id", "item", "order"]).to_pylist():
        share, logits = np.nan, (answers.get(row["id"]) or ())[:2]
        if max(logits, default=-np.inf) > -np.inf:
            share = float(softmax(np.array([logits]))[0, row["order"].index(TRUE)])
        found.setdefault(row["item"], []).append(share)
    means = {item: float(np.mean(shares)) for item, shares in found.items()}
    return {item: mean for item, mean in means.items() if not np.isnan(mean)}


Measures = Mapping[tuple[str, str], Numbers]
"""Values [n] by score and metric, NaN if unknown."""
GRADED_COLUMNS = ("parser", "reason", "answer", "predicted", "chosen")
"""Fields of Graded that the outcomes keep as they are."""
FEW_WORDS = 3
_LONGEST_REASON = 120
_UNDECIDED = {DECLINED: REFUSAL, CONTRADICTORY: SEVERAL, NONE: UNPARSED}


@dataclass(frozen=True)
class Graded:
    """The result for one text: columns of OUTCOMES. grade: how correct it is, 0 ... 1; NaN if unknown."""

    parser: str
    reason: str | None
    answer: str
    predicted: int | None
    chosen: int | None
    grade: float


def grade_texts(
    questions: Sequence[TextQuestion],
    texts: Sequence[str],
    config: ScoreConfig,
    metrics: Sequence[str],
    verdicts: Places | None = None,
) -> tuple[list[Graded], dict[str, Numbers]]:
    """Every text graded, and [n] values of each answer metric, NaN if it does not apply.

    metrics: names of answer metrics; the first grades open questions, if its values are at most 1. Those of
    a whole corpus are left to `corpus_figures`.
    verdicts: of a model as judge, if there is one.
    """
    measured = _answer_metrics({name: ANSWERS[name] for name in metrics if name in ANSWERS}, questions, texts)
    first = metrics[0]
    scaled = is_share(first)
    graded = [
        _choice(question, text, config.parsers, verdicts or {})
        if question.choices is not None
        else _open(question, text, first, float(measured[first][row]) if scaled else np.nan, config.parsers)
        for row, (question, text) in enumerate(zip(questions, texts, strict=True))
    ]
    return graded, {name: values for name, values in measured.items() if not np.isnan(values).all()}


def _answer_metrics(
    formulas: Mapping[str, Scores], questions: Sequence[TextQuestion], texts: Sequence[str]
) -> dict[str, Numbers]:
    """[n] values of each metric, NaN without references."""
    measured = {name: np.full(len(texts), np.nan) for name in formulas}
    rows = [row for row, question in enumerate(questions) if question.references]
    for name, values in measured.items():
        values[rows] = formulas[name](
            [texts[row] for row in rows], [questions[row].references for row in rows]
        )
    return measured


def of_corpus(
    names: Sequence[str], questions: Sequence[TextQuestion], texts: Sequence[str]
) -> dict[str, Floats]:
    """[n, s] sums of the metrics of a whole corpus among the names; nothing if there are none."""
    wanted = [name for name in names if name in OF_CORPUS]
    return corpus_sums(wanted, texts, [one.references for one in questions]) if wanted else {}


def _of_faithful(block: TextBlock, grades: Numbers, names: Sequence[str]) -> dict[tuple[str, str], Numbers]:
    """The measures that the faithful protocol has others of. grades [n]: those of the clean one. names: of
    answer metrics, the first of which grades open questions."""
    formulas = {name: IN_VLMEVALKIT[name] for name in names if name in IN_VLMEVALKIT}
    measured = _answer_metrics(formulas, block.questions, block.texts)
    measures = {("", name): values for name, values in measured.items() if not np.isnan(values).all()}
    if ("", names[0]) in measures and is_share(names[0]):
        own = measures["", names[0]]
        measures["", "accuracy"] = np.where(np.isnan(own), grades, own)
    return measures


def _choice(question: TextQuestion, text: str, parsers: Sequence[str], verdicts: Places) -> Graded:
    """Right if the text names a correct option, unless it also names one that a variation made wrong, or
    names several and chooses none."""
    assert question.choices is not None
    parser, reading = decided(text, question.choices, parsers, verdicts)
    reason, named = _reason(reading), reading.places
    shown = [index for index in named if index < len(question.order)]
    # In the order of the item, so that the order shown cannot matter; added options last.
    shown.sort(key=lambda one: question.order[one] % 2**32)
    texts, letters = question.choices.texts, question.choices.labels
    answer = " | ".join(plain(texts[index]) or plain(letters[index]) for index in shown)[:LONGEST]
    if reading.verdict in _UNDECIDED:
        return Graded(_UNDECIDED[reading.verdict], reason, answer or short(text), None, None, 0.0)
    flipped = question.native - question.answers
    right = float(bool(question.answers & set(named)) and not flipped & set(named))
    if len(shown) != 1:
        return Graded(parser, reason, answer or short(text), None, None, right if shown else 0.0)
    (index,) = shown
    return Graded(parser, reason, answer, index, question.order[index], right)


def _open(question: TextQuestion, text: str, metric: str, grade: float, parsers: Sequence[str]) -> Graded:
    """A correct answer is never scored as a refusal, even `Sorry`. If a number is asked for, a few words
    that do not decline are a wrong answer."""
    answer = short(apart(text).answer)
    if READER not in parsers or grade > 0 or not answer:
        return Graded(metric if answer else UNPARSED, None, answer, None, None, grade)
    long = len(answer.split()) > FEW_WORDS
    reading = value(text) if long and numeric(question.references) else declined(text)
    return Graded(_UNDECIDED.get(reading.verdict, metric), _reason(reading), answer, None, None, grade)


def _reason(reading: Reading) -> str | None:
    return f"{reading.kind}: {reading.span}"[:_LONGEST_REASON] if reading.kind else None


def sampled_agreement(
    questions: Sequence[TextQuestion],
    texts: Sequence[str],
    samples: Sequence[Sequence[str]],
    config: ScoreConfig,
    names: Sequence[str],
) -> Numbers:
    """[n] share of the samples that give the answer of the greedy text; NaN without samples, or if that
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
    questions: Sequence[TextQuestion],
    samples: Sequence[Sequence[str]],
    config: ScoreConfig,
    names: Sequence[str],
) -> tuple[Ints, np.ndarray, Numbers]:
    """For every sample: its row; its answer, after `=`, or its whole text, after `?`, if none was read; its
    grade."""
    rows = [row for row, texts in enumerate(samples) for _ in texts]
    texts = [text for sampled in samples for text in sampled]
    graded = grade_texts([questions[row] for row in rows], texts, config, names)[0] if texts else []
    answers = [
        f"?{text}" if one.parser in UNREAD else f"={one.answer}"
        for one, text in zip(graded, texts, strict=True)
    ]
    grades = np.array([one.grade for one in graded])
    return np.array(rows, dtype=np.int64), np.array(answers, dtype=object), grades


_TRON = "Wang et al. 2024, TRON"
_UNREACHED = "share of the questions of which no sample is correct"
_SAMPLES = "samples that all but half of alpha of the questions need for a correct one"
_COVERAGE = "share of the sets of sampled answers that hold a correct one"
_SET_SIZE = "mean number of distinct answers in a set of sampled ones"
declare("tron_unreached", "Unreached", _UNREACHED, better="lower", unit=SHARE, source=_TRON)
declare("tron_samples", "Samples", _SAMPLES, better="lower", unit="samples", source=_TRON)
declare("tron_coverage", "Coverage, sampled", _COVERAGE, better="higher", unit=SHARE, source=_TRON)
declare("tron_set_size", "Set size, sampled", _SET_SIZE, better="lower", source=_TRON)


def sampled_figures(block: TextBlock, rows: Ints, config: ScoreConfig, names: Sequence[str]) -> list[Figure]:
    """Sets of the answers sampled for some rows. Each of the two guarantees gets half of alpha, so they have
    the same target as all others.

    tron_unreached  share of the questions without a correct sample: no sets if over half of alpha in a split
    tron_samples, tron_coverage, tron_set_size  as in SampledSetSizes
    names: as for `grade_texts`.
    """
    figures: list[Figure] = []
    for temperature, samples in block.samples.items():
        score = f"t{temperature:g}"
        most = max((len(samples[row]) for row in rows), default=0)
        whole = [row for row in rows if most and len(samples[row]) == most]
        if not whole:
            continue
        of_whole = [block.questions[row] for row in whole], [samples[row] for row in whole]
        _, answers, grades = read_samples(*of_whole, config, names)
        drawn = numbered(answers.reshape(-1, most).tolist(), (grades.reshape(-1, most) >= 1).tolist())
        groups = block.numbers[whole]
        unreached = np.asarray(~drawn.right.any(axis=1))
        figures.append(mean_figure("tron_unreached", unreached, groups, CLEAN, score))
        splits = group_splits(groups, config.calibration, config.seed, config.splits)
        if not (splits.sizes.min() and splits.sizes.max() < len(whole)):
            continue
        sets = sampled_sets(drawn, splits, config.main_alpha / 2, config.main_alpha / 2)
        if sets is not None:
            values = {
                "tron_samples": sets.samples,
                "tron_coverage": sets.coverage,
                "tron_set_size": sets.size,
            }
            figures += [split_figure(name, each, len(whole), score) for name, each in values.items()]
    return figures


_HITS, _LI = "choices that are answered with a mark in brackets", "Li et al. 2023"
declare("format_hit_rate", "Format hits", _HITS, better="higher", unit=SHARE, ranked=True, source=_LI)
_STATES = "share of the texts that state how sure the model is"
declare("stated_rate", "Stated", _STATES, unit=SHARE, source="Xiong et al. 2024")
_BRIER = "squared distance between confidence and whether the answer is correct, 0 to 1"
_UNIT = "squared distance"
declare("brier_answer", "Brier of the answer", _BRIER, better="lower", unit=_UNIT, source="Brier 1950")


def score_texts(
    model: str, dataset: str, block: TextBlock, config: ScoreConfig, verdicts: Verdicts | None = None
) -> Scored:
    """Rows of the metrics table and the outcomes table of one model, dataset and variation.

    verdicts: of a model as judge; None if there is none.
    """
    names = config.answers.get(dataset, [DEFAULT_ANSWER])
    graded, measured = grade_texts(
        block.questions, block.texts, config, names, verdicts.places if verdicts else None
    )
    measures = _measures(block, graded, measured) | _instability(block, config, names)
    if verdicts is not None:
        measures |= _of_judge(graded, measures["", "accuracy"])
    by_judge = judged_rows(block, measures["", "accuracy"], verdicts) if verdicts else {}
    grades, confidence = measures["", "accuracy"], np.exp(-PER_TEXT["nll_avg"](block.tokens))
    sure = _confidences(block, config, names)
    if VERBALISED in sure:
        measures[VERBALISED, "stated_rate"] = (~np.isnan(sure[VERBALISED])).astype(float)
    faithful = measures | _of_faithful(block, grades, names)
    grades_of = {CLEAN: grades, FAITHFUL: faithful["", "accuracy"]}
    summed = of_corpus(names, block.questions, block.texts)

    def figures(protocol: str, category: str, kept: Bools) -> list[Figure]:
        of = list(_confident(protocol, block, grades_of[protocol], {"": confidence} | sure, kept))
        found = _figures(protocol, block, measures if protocol == CLEAN else faithful, kept)
        found += [each for rows in of if not rows.score for each in _calibration(protocol, rows, config)]
        if summed:
            taken = kept & ~block.defective if protocol == CLEAN else kept
            found += corpus_figures(summed, taken, block.numbers, protocol, config.seed)
        if protocol == CLEAN:
            for rows in of:
                found += selective_figures(rows.confidence, rows.right, rows.groups, config.seed, rows.score)
            found += [each for score, rows in by_judge.items() for each in rows.figures(kept, score)]
            counted = np.flatnonzero(kept & ~block.defective & ~np.isnan(grades))
            found += sampled_figures(block, counted, config, names)
        for rows in of:
            if rows.score:
                found += _calibration(protocol, rows, config) + _ranking(protocol, rows, config)
        return found

    known = ~np.isnan(grades)
    columns = {name: [getattr(one, name) for one in graded] for name in GRADED_COLUMNS} | {
        "correct": MetricColumn(grades_of[FAITHFUL] >= 0.5, known),
        "confidence": MetricColumn(confidence, ~np.isnan(confidence)),
        "clean_correct": MetricColumn(grades, known & ~block.defective),
    }
    predicted = [-1 if one.predicted is None else one.predicted for one in graded]
    rows = metric_rows(model, dataset, block, predicted, figures)
    return rows, outcome_table(model, dataset, block, columns)


def _measures(
    block: TextBlock, graded: Sequence[Graded], measured: Mapping[str, Numbers]
) -> dict[tuple[str, str], Numbers]:
    parsers = np.array([one.parser for one in graded])
    unparsed, several = parsers == UNPARSED, parsers == SEVERAL
    measures = {
        ("", "accuracy"): np.array([one.grade for one in graded]),
        ("", "unparsed_rate"): unparsed.astype(float),
        ("", "refusal_rate"): (parsers == REFUSAL).astype(float),
        ("", "several_rate"): several.astype(float),
        ("", UNDECIDED_RATE): (unparsed | several).astype(float),
        ("", "format_hit_rate"): _format_hits(block),
    }
    measures |= {("", name): values for name, values in measured.items()}
    for name in sorted([*PER_TEXT, *PER_SAMPLE]):
        if name in PER_TEXT:
            measures["", name] = PER_TEXT[name](block.tokens)
            continue
        for temperature, samples in block.samples.items():
            pairs = zip(block.texts, samples, strict=True)
            agreed = [PER_SAMPLE[name](text, drawn) if drawn else np.nan for text, drawn in pairs]
            measures[f"t{temperature:g}", name] = np.array(agreed)
    return measures


def _instability(
    block: TextBlock, config: ScoreConfig, names: Sequence[str]
) -> dict[tuple[str, str], Numbers]:
    """Instability of one prompt's samples: how much of it by instruction, order or mark (Li et al. 2023) has
    nothing to do with the prompt."""
    entropies = {}
    for temperature, samples in block.samples.items():
        drawn, answers, _ = read_samples(block.questions, samples, config, names)
        entropy = clustered_entropy(drawn, answers, len(samples))
        entropies[f"t{temperature:g}", "instability"] = entropy.astype(np.float64)
    return entropies


def _of_judge(graded: Sequence[Graded], grades: Numbers) -> Measures:
    """The share that a judge decided, and the accuracy if all texts that it decided counted as wrong."""
    by_judge = np.array([one.parser == JUDGE for one in graded])
    return {
        ("", JUDGED_RATE): by_judge.astype(float),
        ("", ACCURACY_RULES): np.where(by_judge, 0.0, grades),
    }


def _format_hits(block: TextBlock) -> Numbers:
    """[n] whether a choice is answered with any mark in brackets; NaN for open questions."""
    asked = zip(block.questions, block.texts, strict=True)
    hits = [
        np.nan if one.choices is None else float(first_mark(text, one.choices) is not None)
        for one, text in asked
    ]
    return np.array(hits)


def _figures(protocol: str, block: TextBlock, measures: Measures, kept: Bools) -> list[Figure]:
    rows = kept & ~block.defective if protocol == CLEAN else kept
    figures = [Figure("", "groups", float(len(np.unique(block.numbers[rows]))), int(rows.sum()))]
    if protocol == CLEAN:
        figures.append(Figure("", "rows_dropped", float((kept & ~rows).sum()), int(kept.sum())))
    for (score, metric), values in measures.items():
        known = rows & ~np.isnan(values)
        if known.any():
            figures.append(mean_figure(metric, values[known], block.numbers[known], protocol, score))
    return figures


def _confidences(block: TextBlock, config: ScoreConfig, names: Sequence[str]) -> dict[str, Numbers]:
    """[n] by score, how sure the model is by signs other than the tokens of its text: what it states, and how
    many samples give the same answer; NaN if unknown. names: of answer metrics."""
    confidences = {} if block.stated is None else {VERBALISED: block.stated}
    for temperature, samples in block.samples.items():
        agreed = sampled_agreement(block.questions, block.texts, samples, config, names)
        confidences[f"t{temperature:g}"] = agreed
    return confidences


class _Rows(NamedTuple):
    """Texts [n] with a grade and a confidence by the uncertainty estimate `score`."""

    score: str
    confidence: Numbers
    right: Numbers
    groups: Ints


def _confident(
    protocol: str, block: TextBlock, grades: Numbers, sure: Mapping[str, Numbers], kept: Bools
) -> Iterator[_Rows]:
    """Rows for each uncertainty estimate that is known for at least one text that the protocol counts."""
    counted = kept & ~block.defective if protocol == CLEAN else kept
    for score, values in sure.items():
        known = counted & ~np.isnan(grades) & ~np.isnan(values)
        if known.any():
            yield _Rows(score, values[known], grades[known], block.numbers[known])


def _ranking(protocol: str, rows: _Rows, config: ScoreConfig) -> list[Figure]:
    """How well confidence ranks correct answers first, and its squared distance from correctness."""
    score, sure, right, groups = rows
    figures = [mean_figure("brier_answer", (sure - right) ** 2, groups, protocol, score)]
    levels, slots = np.unique(-sure, return_inverse=True)
    tallies = [(slots, values, len(levels)) for values in (np.ones(len(right)), right)]
    sums = group_sums(groups, tallies)
    value = float(auroc(Order(*np.split(sums.sum(axis=0), 2))))
    if np.isnan(value):
        return figures
    ends: Interval = (None, None)
    if protocol == CLEAN:
        ends = centred(value, auroc(Order(*np.split(resampled(sums, config.seed), 2, axis=-1))))
    return [*figures, Figure(score, "auroc", value, len(right), *ends)]


def _calibration(protocol: str, rows: _Rows, config: ScoreConfig) -> list[Figure]:
    """Metrics of calibration bins."""
    score, sure, right, groups = rows
    slots = equal_slots(sure, config.bins)
    bins = tally(slots, config.bins, sure, right)
    values = {name: float(formula(bins)) for name, formula in OF_BINS.items()}
    if protocol != CLEAN:
        return [Figure(score, name, value, len(slots)) for name, value in values.items()]
    draws = resampled_bins(slots, config.bins, sure, right, groups, config.seed)
    return [
        Figure(score, name, value, len(slots), *centred(value, OF_BINS[name](draws)))
        for name, value in values.items()
    ]

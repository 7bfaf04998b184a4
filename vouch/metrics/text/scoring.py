"""Graded texts scored: rows of the metrics and outcomes tables, in both protocols.

`split_p_true` takes out the prompts that ask a model about its own answer: P(true) is p(True) / (p(True) +
p(False)) by the logits of their letters, averaged over the orders shown (Kadavath et al. 2022).
`score_texts` grades the texts (grading.py) and makes the figures. faithful: plain means over all rows, as Li
et al. 2023 and Tu et al. 2024 take them, and answer metrics as VLMEvalKit computes them. clean: no defective
rows, 95 % intervals with groups as observations.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

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
from vouch.metrics.responses import Bools, Ints
from vouch.metrics.tables import Scored, metric_rows, outcome_table
from vouch.metrics.text.answers import IN_VLMEVALKIT
from vouch.metrics.text.corpus import corpus_figures, corpus_sums
from vouch.metrics.text.grading import (
    GRADED_COLUMNS,
    Graded,
    answer_metrics,
    grade_texts,
    read_samples,
    sampled_agreement,
)
from vouch.metrics.text.judge import Verdicts, judged_rows
from vouch.metrics.text.parsers import first_mark
from vouch.metrics.text.texts import Numbers, TextBlock
from vouch.metrics.uncertainty import clustered_entropy
from vouch.metrics.unranked import ACCURACY_RULES, JUDGED_RATE, UNDECIDED_RATE
from vouch.tables.asked import OWN, VERBALISED
from vouch.tables.results import JUDGE, REFUSAL, SEVERAL, UNPARSED

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
    shares_of: dict[str, list[float]] = {}
    for row in own.select(["id", "item", "order"]).to_pylist():
        share, logits = np.nan, (answers.get(row["id"]) or ())[:2]
        if max(logits, default=-np.inf) > -np.inf:
            share = float(softmax(np.array([logits]))[0, row["order"].index(TRUE)])
        shares_of.setdefault(row["item"], []).append(share)
    means = {item: float(np.mean(shares)) for item, shares in shares_of.items()}
    return {item: mean for item, mean in means.items() if not np.isnan(mean)}


Measures = Mapping[tuple[str, str], Numbers]
"""Values [n] by score and metric, NaN if unknown."""


def _of_faithful(block: TextBlock, grades: Numbers, names: Sequence[str]) -> dict[tuple[str, str], Numbers]:
    """The measures that the faithful protocol has others of. grades [n]: those of the clean one. names: of
    answer metrics, the first of which grades open questions."""
    formulas = {name: IN_VLMEVALKIT[name] for name in names if name in IN_VLMEVALKIT}
    measured = answer_metrics(formulas, block.questions, block.texts)
    measures = {("", name): values for name, values in measured.items() if not np.isnan(values).all()}
    if ("", names[0]) in measures and is_share(names[0]):
        own = measures["", names[0]]
        measures["", "accuracy"] = np.where(np.isnan(own), grades, own)
    return measures


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
    measures |= _of_judge(graded, measures["", "accuracy"]) if verdicts else {}
    by_judge = judged_rows(block, measures["", "accuracy"], verdicts) if verdicts else {}
    grades, confidence = measures["", "accuracy"], np.exp(-PER_TEXT["nll_avg"](block.tokens))
    sure = _confidences(block, config, names)
    if VERBALISED in sure:
        measures[VERBALISED, "stated_rate"] = (~np.isnan(sure[VERBALISED])).astype(float)
    faithful = measures | _of_faithful(block, grades, names)
    grades_of = {CLEAN: grades, FAITHFUL: faithful["", "accuracy"]}
    summed = corpus_sums(names, block.texts, [one.references for one in block.questions])

    def figures_of(protocol: str, category: str, kept: Bools) -> list[Figure]:
        of = list(_confident(protocol, block, grades_of[protocol], {"": confidence} | sure, kept))
        figures = _figures(protocol, block, measures if protocol == CLEAN else faithful, kept)
        figures += [each for rows in of if not rows.score for each in _calibration(protocol, rows, config)]
        if summed:
            taken = kept & ~block.defective if protocol == CLEAN else kept
            figures += corpus_figures(summed, taken, block.numbers, protocol, config.seed)
        if protocol == CLEAN:
            for one in of:
                figures += selective_figures(one.confidence, one.right, one.groups, config.seed, one.score)
            figures += [each for score, rows in by_judge.items() for each in rows.figures(kept, score)]
            counted = np.flatnonzero(kept & ~block.defective & ~np.isnan(grades))
            figures += sampled_figures(block, counted, config, names)
        for rows in of:
            if rows.score:
                figures += _calibration(protocol, rows, config) + _ranking(protocol, rows, config)
        return figures

    predicted = [-1 if one.predicted is None else one.predicted for one in graded]
    rows = metric_rows(model, dataset, block, predicted, figures_of)
    columns = _columns(graded, grades_of, confidence, block.defective)
    return rows, outcome_table(model, dataset, block, columns)


def _columns(
    graded: Sequence[Graded], grades_of: Mapping[str, Numbers], confidence: Numbers, defective: Bools
) -> dict[str, Any]:
    """The columns of OUTCOMES that texts have. grades_of: by protocol."""
    known = ~np.isnan(grades_of[CLEAN])
    return {name: [getattr(one, name) for one in graded] for name in GRADED_COLUMNS} | {
        "correct": MetricColumn(grades_of[FAITHFUL] >= 0.5, known),
        "confidence": MetricColumn(confidence, ~np.isnan(confidence)),
        "clean_correct": MetricColumn(grades_of[CLEAN], known & ~defective),
    }


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

"""Generated texts as rows of the metrics and outcomes tables, in both protocols.

faithful: plain means over all rows, as the authors take them (Li et al. 2023, Tu et al. 2024).
clean: without defective rows, with 95 % intervals that treat a group as one observation.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from vouch.metrics.calibration.bins import equal_slots, resampled_bins, tally
from vouch.metrics.calibration.metrics import OF_BINS
from vouch.metrics.config import DEFAULT_ANSWER, Config
from vouch.metrics.intervals import centred
from vouch.metrics.protocols import CLEAN, Column, Figure, mean_figure
from vouch.metrics.ranking.scores import PER_SAMPLE, PER_TEXT
from vouch.metrics.responses import Bools
from vouch.metrics.robustness.samples import sampled_instability
from vouch.metrics.tables import Scored, metric_rows, outcome_table
from vouch.metrics.text.judging import SAID, Judged, judge
from vouch.metrics.text.parsers.published import first_mark
from vouch.metrics.text.texts import TextBlock
from vouch.metrics.text.tokens import Numbers
from vouch.tables.outcomes import CONTRADICTORY, REFUSAL, UNPARSED

RATES = (("unparsed_rate", UNPARSED), ("refusal_rate", REFUSAL), ("contradictory_rate", CONTRADICTORY))
Measures = Mapping[tuple[str, str], Numbers]
"""By score and metric, values [n], NaN where unknown."""


def score_texts(model: str, dataset: str, block: TextBlock, config: Config) -> Scored:
    """Rows of the metrics table and the outcomes table of one model, dataset and variation."""
    names = config.answers.get(dataset, [DEFAULT_ANSWER])
    judged, graded = judge(block.questions, block.texts, config, names)
    measures = _measures(block, judged, graded)
    for temperature, samples in block.samples.items():
        drawn = sampled_instability(block.questions, samples, config, names)
        measures[f"t{temperature:g}", "instability"] = drawn
    grades, confidence = measures["", "accuracy"], np.exp(-PER_TEXT["nll_avg"](block.tokens))

    def figures(protocol: str, category: str, kept: Bools) -> list[Figure]:
        of_bins = _calibration(protocol, block, grades, confidence, kept, config)
        return _figures(protocol, block, measures, kept) + of_bins

    known = ~np.isnan(grades)
    columns = {name: [getattr(one, name) for one in judged] for name in SAID} | {
        "correct": Column(grades >= 0.5, known),
        "confidence": Column(confidence, ~np.isnan(confidence)),
        "clean_correct": Column(grades, known & ~block.defective),
    }
    return metric_rows(model, dataset, block, figures), outcome_table(model, dataset, block, columns)


def _measures(
    block: TextBlock, judged: Sequence[Judged], graded: Mapping[str, Numbers]
) -> dict[tuple[str, str], Numbers]:
    found = {
        ("", "accuracy"): np.array([one.grade for one in judged]),
        **{("", name): np.array([float(one.parser == unread) for one in judged]) for name, unread in RATES},
        ("", "format_hit_rate"): _format_hits(block),
    }
    found |= {("", name): values for name, values in graded.items()}
    for name in sorted(PER_TEXT | PER_SAMPLE):
        if name in PER_TEXT:
            found["", name] = PER_TEXT[name](block.tokens)
            continue
        for temperature, samples in block.samples.items():
            pairs = zip(block.texts, samples, strict=True)
            agreed = [PER_SAMPLE[name](text, drawn) if drawn else np.nan for text, drawn in pairs]
            found[f"t{temperature:g}", name] = np.array(agreed)
    return found


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


def _calibration(
    protocol: str, block: TextBlock, grades: Numbers, confidence: Numbers, kept: Bools, config: Config
) -> list[Figure]:
    """Metrics of bins, where both what a text is worth and how sure the model was are known."""
    known = kept & ~np.isnan(grades) & ~np.isnan(confidence)
    if protocol == CLEAN:
        known &= ~block.defective
    if not known.any():
        return []
    sure, right, groups = confidence[known], grades[known], block.numbers[known]
    slots = equal_slots(sure, config.bins)
    bins = tally(slots, config.bins, sure, right)
    values = {name: float(formula(bins)) for name, formula in OF_BINS.items()}
    if protocol != CLEAN:
        return [Figure("", name, value, len(slots)) for name, value in values.items()]
    draws = resampled_bins(slots, config.bins, sure, right, groups, config.seed)
    return [
        Figure("", name, value, len(slots), *centred(value, OF_BINS[name](draws)))
        for name, value in values.items()
    ]

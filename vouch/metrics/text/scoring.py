"""Generated texts as rows of the metrics and outcomes tables, in both protocols.

faithful: plain means over all rows, as the authors take them (Li et al. 2023, Tu et al. 2024).
clean: without defective rows, with 95 % intervals that treat a group as one observation.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from vouch.metrics.calibration.bins import equal_slots, tally
from vouch.metrics.calibration.metrics import OF_BINS
from vouch.metrics.config import DEFAULT_ANSWER, Config
from vouch.metrics.intervals import centred, cluster_mean, cluster_number, resampled_bins
from vouch.metrics.protocols import Figure
from vouch.metrics.ranking.scores import PER_SAMPLE, PER_TEXT
from vouch.metrics.registry import SHARE, Metric
from vouch.metrics.responses import Bools
from vouch.metrics.robustness.metrics import INSTABILITY
from vouch.metrics.robustness.sampled import sampled_instability
from vouch.metrics.tables import PROTOCOLS, Scored, categories_of
from vouch.metrics.text.answers import ANSWERS
from vouch.metrics.text.judging import SAID, Judged, judge
from vouch.metrics.text.parsers.simple import first_mark
from vouch.metrics.text.texts import TextBlock
from vouch.metrics.text.tokens import Numbers
from vouch.metrics.unanswered import unanswered
from vouch.tables.outcomes import OUTCOMES, REFUSAL, UNPARSED
from vouch.tables.prompts import TEXT

FORMAT_HIT_RATE = "format_hit_rate"
DECLARED = {
    FORMAT_HIT_RATE: Metric(
        "Format hits",
        "choices that are answered with a mark in brackets",
        "higher",
        source="Li et al. 2023",
        ranked=True,
    ),
    "refusal_rate": Metric("Refused", "texts that decline to answer", "lower"),
    "unparsed_rate": Metric("Unparsed", "texts in which no answer is found", "lower", ranked=True),
}


class Measure(NamedTuple):
    """values [n], NaN where unknown. most: the largest possible one, None where there is none."""

    values: Numbers
    most: float | None


Measures = Mapping[tuple[str, str], Measure]  # by score and metric


def score_texts(model: str, dataset: str, block: TextBlock, config: Config) -> Scored:
    """Rows of the metrics table and the outcomes table of one model, dataset and variation.

    Prompts without an answer are counted by `unanswered` and rest in nothing else.
    """
    names = config.answers.get(dataset, [DEFAULT_ANSWER])
    judged, graded = judge(block.questions, block.texts, config, names)
    measures = _measures(block, judged, graded)
    for temperature, samples in block.samples.items():
        drawn = sampled_instability(block.questions, samples, config, names)
        measures[f"t{temperature:g}", INSTABILITY] = Measure(drawn, None)
    confidence = np.exp(-PER_TEXT["nll_avg"].of(block.tokens))
    rows = []
    for protocol in PROTOCOLS:
        place = {"model": model, "dataset": dataset, "variation": block.variation}
        place |= {"output": TEXT, "protocol": protocol}
        for category, chosen in categories_of(block.asked.categories):
            kept = chosen[block.asked.answered]
            figures = _figures(protocol, block, measures, kept) if kept.any() else []
            if kept.any():
                figures += _calibration(protocol, block, measures["", "accuracy"], confidence, kept, config)
            figures += unanswered(protocol, block.asked, chosen)
            rows += [place | {"category": category} | vars(figure) for figure in figures]
    return rows, _outcomes(model, dataset, block, judged, confidence)


def _measures(
    block: TextBlock, judged: Sequence[Judged], graded: Mapping[str, Numbers]
) -> dict[tuple[str, str], Measure]:
    def share(state: str) -> Measure:
        return Measure(np.array([float(one.parser == state) for one in judged]), 1.0)

    found = {
        ("", "accuracy"): Measure(np.array([one.grade for one in judged]), 1.0),
        ("", "unparsed_rate"): share(UNPARSED),
        ("", "refusal_rate"): share(REFUSAL),
        ("", FORMAT_HIT_RATE): Measure(_format_hits(block), 1.0),
    }
    for name, values in graded.items():
        found["", name] = Measure(values, 1.0 if ANSWERS[name].bounded else None)
    for name in sorted(PER_TEXT | PER_SAMPLE):
        if name in PER_TEXT:
            most = 1.0 if PER_TEXT[name].metric.unit == SHARE else None
            found["", name] = Measure(PER_TEXT[name].of(block.tokens), most)
            continue
        _, formula = PER_SAMPLE[name]
        for temperature, samples in block.samples.items():
            pairs = zip(block.texts, samples, strict=True)
            agreed = [formula(text, drawn) if drawn else np.nan for text, drawn in pairs]
            found[f"t{temperature:g}", name] = Measure(np.array(agreed), 1.0)
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
    rows = kept & ~block.defective if protocol == "clean" else kept
    figures = [Figure("", "groups", float(len(np.unique(block.numbers[rows]))), int(rows.sum()))]
    if protocol == "clean":
        figures.append(Figure("", "rows_dropped", float((kept & ~rows).sum()), int(kept.sum())))
    for (score, metric), (values, most) in measures.items():
        known = rows & ~np.isnan(values)
        if not known.any():
            continue
        of_rows, groups = values[known], block.numbers[known]
        low: float | None = None
        high: float | None = None
        if protocol == "clean":
            low, high = (cluster_mean if most == 1 else cluster_number)(of_rows, groups)
        figures.append(Figure(score, metric, float(of_rows.mean()), len(of_rows), low, high))
    return figures


def _calibration(
    protocol: str, block: TextBlock, accuracy: Measure, confidence: Numbers, kept: Bools, config: Config
) -> list[Figure]:
    """Metrics of bins, where both what a text is worth and how sure the model was are known."""
    known = kept & ~np.isnan(accuracy.values) & ~np.isnan(confidence)
    if protocol == "clean":
        known &= ~block.defective
    if not known.any():
        return []
    sure, right, groups = confidence[known], accuracy.values[known], block.numbers[known]
    slots = equal_slots(sure, config.bins)
    bins = tally(slots, config.bins, sure, right)
    values = {name: float(formula.of(bins)) for name, formula in OF_BINS.items()}
    if protocol != "clean":
        return [Figure("", name, value, len(slots)) for name, value in values.items()]
    draws = resampled_bins(slots, config.bins, sure, right, groups, config.seed)
    return [
        Figure("", name, value, len(slots), *centred(value, OF_BINS[name].of(draws)))
        for name, value in values.items()
    ]


def _outcomes(
    model: str, dataset: str, block: TextBlock, judged: Sequence[Judged], confidence: Numbers
) -> pa.Table:
    count = len(judged)
    grades = np.array([one.grade for one in judged])
    unknown = np.isnan(grades)
    columns: dict[str, Any] = {
        "model": [model] * count,
        "dataset": [dataset] * count,
        "prompt": block.prompts,
        "item": block.items,
        "group": block.groups,
        "variation": [block.variation] * count,
        "output": [TEXT] * count,
        "effect": block.effects,
        **{name: [getattr(one, name) for one in judged] for name in SAID},
        "correct": pa.array(grades >= 0.5, mask=unknown),
        "confidence": pa.array(confidence, mask=np.isnan(confidence)),
        "clean_correct": pa.array(grades, mask=unknown | block.defective),
    }
    arrays = [
        pa.array(columns[field.name], field.type) if field.name in columns else pa.nulls(count, field.type)
        for field in OUTCOMES.schema
    ]
    return pa.Table.from_arrays(arrays, schema=OUTCOMES.schema)

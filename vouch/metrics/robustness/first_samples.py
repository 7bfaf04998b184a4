"""The first text sampled for each numbered prompt: what ReForm-Eval scores (Li et al. 2023).

Its authors judge one text for every test of a question, drawn at temperature 0.2 from models that sample.
Figures of greedy texts have an empty score, those of several samples of the same prompt `tTEMPERATURE`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from vouch.metrics.config import DEFAULT_ANSWER, Config
from vouch.metrics.intervals import cluster_mean, cluster_number
from vouch.metrics.protocols import Figure
from vouch.metrics.robustness.predictions import CLEAN, Facts, Predictions
from vouch.metrics.robustness.repeated_prompts import number_figures
from vouch.metrics.text.answers import ANSWERS
from vouch.metrics.text.judging import SAID, judge
from vouch.metrics.text.texts import TextBlock
from vouch.metrics.text.tokens import Numbers
from vouch.tables.outcomes import OUTCOMES

FIRST = "first_t"
"""Before the temperature it makes the score of these metrics: `first_t0.2`."""


@dataclass(frozen=True)
class Firsts:
    """predictions: what the first samples at a temperature said, n rows. graded: by metric its values [n]."""

    score: str
    predictions: Predictions
    graded: Mapping[str, Numbers]


def first_samples(
    facts: Facts, outcomes: pa.Table, block: TextBlock, dataset: str, config: Config
) -> Iterator[Firsts]:
    """One for each temperature; none where prompts are not numbered. A prompt without samples has no row.

    outcomes: rows of OUTCOMES of the greedy texts of the block, row by row.
    """
    if not facts.numbered(block.prompts):
        return
    names = config.answers.get(dataset, [DEFAULT_ANSWER])
    for temperature, samples in block.samples.items():
        rows = [row for row, drawn in enumerate(samples) if drawn]
        texts = [samples[row][0] for row in rows]
        judged, graded = judge([block.questions[row] for row in rows], texts, config, names)
        grades = np.array([one.grade for one in judged])
        unknown = np.isnan(grades)
        columns = {name: [getattr(one, name) for one in judged] for name in SAID}
        columns["correct"] = pa.array(grades >= 0.5, mask=unknown)
        columns["clean_correct"] = pa.array(grades, mask=unknown | block.defective[rows])
        predictions = facts.predictions(_replaced(outcomes.take(rows), columns), texts)
        if predictions is not None:
            yield Firsts(f"{FIRST}{temperature:g}", predictions, {"accuracy": grades} | graded)


def first_figures(firsts: Firsts, protocol: str, seed: int) -> Iterator[Figure]:
    """Means of the metrics over all prompts, and what is made of their numbers; all with the score."""
    predictions = firsts.predictions
    for metric, values in firsts.graded.items():
        known = ~np.isnan(values)
        if protocol == CLEAN:
            known &= ~predictions.defective
        if not known.any():
            continue
        low: float | None = None
        high: float | None = None
        if protocol == CLEAN:
            bounded = metric == "accuracy" or ANSWERS[metric].bounded
            low, high = (cluster_mean if bounded else cluster_number)(
                values[known], predictions.groups[known]
            )
        yield Figure(firsts.score, metric, float(values[known].mean()), int(known.sum()), low, high)
    for figure in number_figures(predictions, protocol, seed):
        yield replace(figure, score=firsts.score)


def _replaced(outcomes: pa.Table, columns: Mapping[str, object]) -> pa.Table:
    for name, values in columns.items():
        place = OUTCOMES.schema.get_field_index(name)
        field = OUTCOMES.schema.field(name)
        outcomes = outcomes.set_column(place, field, pa.array(values, field.type))
    return outcomes

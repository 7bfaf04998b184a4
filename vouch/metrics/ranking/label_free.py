"""Rows of LABEL_FREE: scores that rank models without labels, item by item."""

from typing import Any

import numpy as np
import pyarrow as pa

from vouch.metrics.calibration.probabilities import clean_probabilities
from vouch.metrics.config import DEFAULT_ANSWER, Config
from vouch.metrics.join import Block
from vouch.metrics.protocols import Column
from vouch.metrics.ranking.scores import PER_SAMPLE, PER_TEXT
from vouch.metrics.registry import is_share
from vouch.metrics.tables import filled, names_of
from vouch.metrics.text.answers import ANSWERS
from vouch.metrics.text.texts import TextBlock
from vouch.metrics.text.tokens import Numbers
from vouch.tables.label_free import LABEL_FREE
from vouch.tables.names import SAMPLES, TOKENS
from vouch.tables.prompts import ORIGINAL


def option_scores(model: str, dataset: str, block: Block, outcomes: pa.Table) -> pa.Table:
    """Of answers that give each option a number; outcomes: the rows of OUTCOMES of the same block."""
    if block.variation != ORIGINAL or not len(block.responses):
        return LABEL_FREE.schema.empty_table()
    probabilities = clean_probabilities(block.responses)
    columns = names_of(model, dataset, block) | {
        "performance": outcomes["clean_correct"],
        "answers": [np.flatnonzero(row) for row in probabilities.answers],
        "probabilities": [
            p[:options] for p, options in zip(probabilities.p, probabilities.options, strict=True)
        ],
    }
    return filled(LABEL_FREE.schema, columns).filter(pa.array(~block.responses.defective))


def text_scores(model: str, dataset: str, block: TextBlock, outcomes: pa.Table, config: Config) -> pa.Table:
    """Of generated texts; outcomes: the rows of OUTCOMES of the same block."""
    if block.variation != ORIGINAL:
        return LABEL_FREE.schema.empty_table()
    named = names_of(model, dataset, block) | {"performance": _performance(dataset, block, outcomes, config)}
    rows: list[dict[str, Any]] = [{name: _known(PER_TEXT[name](block.tokens)) for name in TOKENS}]
    for temperature, samples in sorted(block.samples.items()):
        sampled = {
            name: [
                PER_SAMPLE[name](text, drawn) if drawn else None
                for text, drawn in zip(block.texts, samples, strict=True)
            ]
            for name in SAMPLES
        }
        rows.append({"temperature": [round(temperature, 6)] * len(block.texts)} | sampled)
    tables = [filled(LABEL_FREE.schema, named | columns) for columns in rows]
    return pa.concat_tables([table.filter(pa.array(~block.defective)) for table in tables])


def _performance(dataset: str, block: TextBlock, outcomes: pa.Table, config: Config) -> Any:
    """How right each text is; open questions by the first answer metric also where that has no scale."""
    metric = config.answers.get(dataset, [DEFAULT_ANSWER])[0]
    if is_share(metric):
        return outcomes["clean_correct"]
    rows = [row for row, question in enumerate(block.questions) if question.references]
    values = outcomes["clean_correct"].fill_null(np.nan).to_numpy().copy()
    values[rows] = ANSWERS[metric](
        [block.texts[row] for row in rows], [block.questions[row].references for row in rows]
    )
    return _known(values)


def _known(values: Numbers) -> Column:
    return Column(values, ~np.isnan(values))

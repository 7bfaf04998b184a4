"""Rows of LABEL_FREE: scores that rank models without labels, item by item."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.calibration.probabilities import clean_probabilities
from vouch.metrics.config import DEFAULT_ANSWER, Config
from vouch.metrics.join import Block
from vouch.metrics.ranking.scores import PER_SAMPLE, PER_TEXT
from vouch.metrics.responses import Bools
from vouch.metrics.text.answers import ANSWERS
from vouch.metrics.text.texts import TextBlock
from vouch.metrics.text.tokens import Numbers
from vouch.tables.label_free import LABEL_FREE, SAMPLES, TOKENS
from vouch.tables.prompts import ORIGINAL, TEXT


def option_scores(model: str, dataset: str, block: Block, outcomes: pa.Table) -> pa.Table:
    """Of answers that give each option a number; outcomes: the rows of OUTCOMES of the same block."""
    if block.variation != ORIGINAL or not len(block.responses):
        return LABEL_FREE.schema.empty_table()
    probabilities = clean_probabilities(block.responses)
    rows = range(len(probabilities.p))
    columns = {
        "model": [model] * len(rows),
        "dataset": [dataset] * len(rows),
        "prompt": block.prompts,
        "group": block.groups,
        "output": [block.output] * len(rows),
        "performance": outcomes["clean_correct"],
        "answers": [np.flatnonzero(probabilities.answers[row]) for row in rows],
        "probabilities": [probabilities.p[row, : probabilities.options[row]] for row in rows],
    }
    return _table(columns, ~block.responses.defective)


def text_scores(model: str, dataset: str, block: TextBlock, outcomes: pa.Table, config: Config) -> pa.Table:
    """Of generated texts; outcomes: the rows of OUTCOMES of the same block."""
    if block.variation != ORIGINAL:
        return LABEL_FREE.schema.empty_table()
    columns: dict[str, Any] = {
        "model": [model] * len(block.texts),
        "dataset": [dataset] * len(block.texts),
        "prompt": block.prompts,
        "group": block.groups,
        "output": [TEXT] * len(block.texts),
        "performance": _performance(dataset, block, outcomes, config),
    }
    tokens = {name: _known(PER_TEXT[name].of(block.tokens)) for name in TOKENS}
    parts = [_table(columns | tokens, ~block.defective)]
    for temperature, samples in sorted(block.samples.items()):
        sampled = {
            name: [
                PER_SAMPLE[name][1](text, drawn) if drawn else None
                for text, drawn in zip(block.texts, samples, strict=True)
            ]
            for name in SAMPLES
        }
        at = {"temperature": [round(temperature, 6)] * len(block.texts)}
        parts.append(_table(columns | at | sampled, ~block.defective))
    return pa.concat_tables(parts)


def _performance(dataset: str, block: TextBlock, outcomes: pa.Table, config: Config) -> pa.ChunkedArray:
    """How right each text is; open questions by the first answer metric also where that has no scale."""
    metric = ANSWERS[config.answers.get(dataset, [DEFAULT_ANSWER])[0]]
    if metric.bounded:
        return outcomes["clean_correct"]
    rows = [row for row, question in enumerate(block.questions) if question.references]
    values = outcomes["clean_correct"].fill_null(np.nan).to_numpy().copy()
    values[rows] = metric.scores(
        [block.texts[row] for row in rows], [block.questions[row].references for row in rows]
    )
    return pa.chunked_array([_known(values)])


def _known(values: Numbers) -> pa.Array:
    return pa.array(values, mask=np.isnan(values))


def _table(columns: dict[str, Any], kept: Bools) -> pa.Table:
    count = len(kept)
    arrays = [
        _array(columns[field.name], field.type) if field.name in columns else pa.nulls(count, field.type)
        for field in LABEL_FREE.schema
    ]
    return pa.Table.from_arrays(arrays, schema=LABEL_FREE.schema).filter(pa.array(kept))


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return pc.cast(values, kind)
    return pa.array(values, kind)

"""Protocols as rows of the metrics and outcomes tables."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from vouch.metrics.calibration.probabilities import Probabilities, clean_probabilities
from vouch.metrics.config import Config
from vouch.metrics.join import Block
from vouch.metrics.likelihood import reduced
from vouch.metrics.protocols import Column, Protocol
from vouch.metrics.protocols.clean import clean
from vouch.metrics.protocols.faithful import faithful
from vouch.metrics.responses import Ints
from vouch.metrics.unanswered import unanswered
from vouch.tables.outcomes import OUTCOMES
from vouch.tables.prompts import LETTERS, ORIGINAL

PROTOCOLS = {"faithful": faithful, "clean": clean}
# The authors who read out likelihoods average all rows: their split is only there for the sets.
PLAIN_PROTOCOLS = PROTOCOLS | {"faithful": partial(faithful, every_row=True)}
ALL = "all"
Scored = tuple[list[dict[str, Any]], pa.Table]


def score_block(model: str, dataset: str, block: Block, config: Config) -> Scored:
    """Rows of the metrics table and the outcomes table of one model, dataset and variation.

    Where the items have several categories, each is split and calibrated on its own, as the
    benchmark's tables by category are; outcomes come from all items together. Prompts without an answer
    are counted by `unanswered` and rest in nothing else: where none is answered, it stands alone.
    """
    rows, protocols = [], []
    asked = block.asked
    for name, protocol in (PROTOCOLS if block.output == LETTERS else PLAIN_PROTOCOLS).items():
        place = {"model": model, "dataset": dataset, "variation": block.variation}
        place |= {"output": block.output, "protocol": name}
        for category, chosen in categories_of(asked.categories):
            kept = chosen[asked.answered]
            whole = category == ALL and block.variation == ORIGINAL
            settings = config if whole else config.with_one_threshold()
            part = protocol(block.responses.take(kept), settings) if kept.any() else Protocol([])
            if category == ALL:
                protocols.append(part)
            figures = [*part.figures, *reduced(name, block, kept), *unanswered(name, asked, chosen)]
            rows += [place | {"category": category} | vars(figure) for figure in figures]
    if not len(block.responses):
        return rows, OUTCOMES.schema.empty_table()
    return rows, _outcomes(model, dataset, block, protocols)


def categories_of(categories: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Every part that is scored by itself, and which rows [m] it has."""
    yield ALL, np.ones(len(categories), dtype=bool)
    names = [str(name) for name in np.unique(categories)]
    if len(names) > 1:
        yield from ((name, categories == name) for name in names if name not in ("", ALL))


def _outcomes(model: str, dataset: str, block: Block, protocols: list[Protocol]) -> pa.Table:
    """What the prompt's own options say, for every row, and what the protocols add."""
    probabilities = clean_probabilities(block.responses)
    predicted = probabilities.tops.argmax(axis=1)
    rows = np.arange(len(predicted))
    surprise = -np.log(np.where(probabilities.p > 0, probabilities.p, 1))
    columns: dict[str, Any] = {
        "model": [model] * len(rows),
        "dataset": [dataset] * len(rows),
        "prompt": block.prompts,
        "item": block.items,
        "group": block.groups,
        "variation": [block.variation] * len(rows),
        "output": [block.output] * len(rows),
        "effect": block.effects,
        "predicted": predicted,
        "chosen": _chosen(probabilities),
        "correct": probabilities.answers[rows, predicted],
        "confidence": probabilities.confidence,
        "entropy": (probabilities.p * surprise).sum(axis=1),
    }
    for protocol in protocols:
        columns |= protocol.columns
    columns["half"] = np.where(columns.pop("testing").values, "test", "calibration")
    arrays = [_array(columns.get(field.name), len(rows), field.type) for field in OUTCOMES.schema]
    return pa.Table.from_arrays(arrays, schema=OUTCOMES.schema)


def _chosen(probabilities: Probabilities) -> Ints:
    """[n] what the option with the largest logit stands for, the same whatever order options stand in."""
    # Without a sign the negative numbers of added options are the largest: they come last.
    numbers = probabilities.roles.astype(np.uint32).astype(np.int64)
    place = np.where(probabilities.tops, numbers, 2**32).argmin(axis=1)
    return np.asarray(probabilities.roles[np.arange(len(place)), place])


def _array(values: Any, count: int, kind: pa.DataType) -> pa.Array:
    """Null where a column is not known, and everywhere where a protocol without rows made none."""
    if values is None:
        return pa.nulls(count, kind)
    if isinstance(values, Column):
        return pa.array(values.values, mask=~values.known).cast(kind)
    return pa.array(values).cast(kind)

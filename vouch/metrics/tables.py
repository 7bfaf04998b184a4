"""Both protocols' figures and columns as rows of the metrics and outcomes tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.calibration import Probabilities, clean_probabilities
from vouch.metrics.config import ScoreConfig
from vouch.metrics.conformal.scores import order_of
from vouch.metrics.conformal.sets import NotANumber
from vouch.metrics.join import Block, VariationPrompts, letter_mass, reduced
from vouch.metrics.metric import ALL, CLEAN, FAITHFUL, SHARE, Figure, MetricColumn, declare, mean_figure
from vouch.metrics.protocols import clean, faithful
from vouch.metrics.responses import Bools, Ints, entropy, rank
from vouch.metrics.text.texts import TextBlock
from vouch.metrics.unranked import UNANSWERED
from vouch.pipeline.errors import UserError
from vouch.tables.asked import LETTERS, ORIGINAL
from vouch.tables.results import OUTCOMES

PROTOCOLS = {FAITHFUL: faithful, CLEAN: clean}
# The authors who read out likelihoods average all rows: they need their split only for the sets.
PLAIN_PROTOCOLS = PROTOCOLS | {FAITHFUL: partial(faithful, every_row=True)}
declare(
    UNANSWERED,
    "Unanswered",
    "share of the prompts without an answer",
    better="lower",
    unit=SHARE,
    detail="only the letter mass, where known, counts them",
)
Scored = tuple[list[dict[str, Any]], pa.Table]


def score_block(model: str, dataset: str, block: Block, config: ScoreConfig) -> Scored:
    """Rows of the metrics table and the outcomes table of one model, dataset and variation.

    If the items have several categories, each is split and calibrated on its own, as the
    benchmark's tables by category are; outcomes come from all items together.
    """
    protocols = PROTOCOLS if block.output == LETTERS else PLAIN_PROTOCOLS
    columns: dict[str, MetricColumn] = {}
    choices = _choices_of(block) if len(block.responses) else {}

    def figures(protocol: str, category: str, kept: Bools) -> list[Figure]:
        whole = category == ALL and block.variation == ORIGINAL
        settings = config if whole else config.with_one_threshold()
        part = protocols[protocol](block.responses.take(kept), settings)
        if category == ALL:
            columns.update(part.columns)
        return [*part.figures, *reduced(protocol, block, kept)]

    try:
        rows = metric_rows(model, dataset, block, choices.get("predicted", ()), figures)
    except NotANumber as error:
        ranked = rank(block.responses)
        unknown = np.isnan(order_of(error.score, config.parameters)(ranked)) & ranked.present
        row = int(unknown.any(axis=1).argmax())
        raise UserError(
            f"data/responses/{dataset}/{model}.{block.output}.parquet: prompt {block.prompts[row]}: the "
            f"nonconformity score {error.score} is NaN; correct its function, or leave it out of score.scores"
        ) from error
    if not len(block.responses):
        return rows, OUTCOMES.schema.empty_table()
    return rows, outcome_table(model, dataset, block, choices | columns)


def metric_rows(
    model: str,
    dataset: str,
    block: Block | TextBlock,
    predicted: Sequence[int] | Ints,
    figures: Callable[[str, str, Bools], list[Figure]],
) -> list[dict[str, Any]]:
    """Rows of METRICS in both protocols, of all items and of each category.

    predicted [n]: the option chosen in each answered row, as shown, -1 if none was.
    figures(protocol, category, kept): the figures of the rows that are kept, if any. Prompts without an
    answer are counted by `unanswered` and, if their letter mass is known, by letter_mass and low_mass_rate,
    but by no other metric.
    """
    rows, asked = [], block.asked
    chosen_of = np.full(len(asked.answered), -1)
    chosen_of[asked.answered] = predicted
    for protocol in PROTOCOLS:
        keys = {"model": model, "dataset": dataset, "variation": block.variation}
        keys |= {"output": block.output, "protocol": protocol}
        for category, chosen in _categories(asked.categories):
            kept = chosen[asked.answered]
            of_category = figures(protocol, category, kept) if kept.any() else []
            counted = chosen & ~asked.defective if protocol == CLEAN else chosen
            of_category += [*_unanswered(protocol, asked, counted), *letter_mass(protocol, asked, counted)]
            if asked.yes_no is not None and (answered := counted & asked.answered).any():
                of_category += asked.yes_no.figures(protocol, chosen_of, asked.groups, answered)
            rows += [keys | {"category": category} | vars(figure) for figure in of_category]
    return rows


def _categories(categories: np.ndarray) -> Iterator[tuple[str, Bools]]:
    """Yields (category, mask [m]), all items first."""
    yield ALL, np.ones(len(categories), dtype=bool)
    names = [str(name) for name in np.unique(categories)]
    if len(names) > 1:
        yield from ((name, categories == name) for name in names if name not in ("", ALL))


def _unanswered(protocol: str, asked: VariationPrompts, rows: Bools) -> list[Figure]:
    """The share without an answer among the rows [m] that count; nothing if none counts."""
    return (
        [mean_figure(UNANSWERED, ~asked.answered[rows], asked.groups[rows], protocol)] if rows.any() else []
    )


def _choices_of(block: Block) -> dict[str, Any]:
    """Columns computed from the options that the prompt shows, for every row."""
    probabilities = clean_probabilities(block.responses)
    predicted = probabilities.tops.argmax(axis=1)
    return {
        "predicted": predicted,
        "chosen": _chosen(probabilities),
        "correct": probabilities.answers[np.arange(len(predicted)), predicted],
        "confidence": probabilities.confidence,
        "entropy": entropy(probabilities.p),
    }


def _chosen(probabilities: Probabilities) -> Ints:
    """[n] role of the option with the largest logit; it does not depend on the order of the options."""
    # Without a sign the negative numbers of added options are the largest: they come last.
    numbers = probabilities.roles.astype(np.uint32).astype(np.int64)
    index = np.where(probabilities.tops, numbers, 2**32).argmin(axis=1)
    return np.asarray(probabilities.roles[np.arange(len(index)), index])


def outcome_table(model: str, dataset: str, block: Block | TextBlock, columns: Mapping[str, Any]) -> pa.Table:
    """Rows of OUTCOMES from the results for each answered row."""
    return filled(OUTCOMES.schema, names_of(model, dataset, block) | dict(columns))


def names_of(model: str, dataset: str, block: Block | TextBlock) -> dict[str, Any]:
    """Columns that say which rows these are."""
    whole = {"model": model, "dataset": dataset, "variation": block.variation, "output": block.output}
    every = {"prompt": block.prompts, "item": block.items, "group": block.groups, "effect": block.effects}
    return every | {name: [value] * len(block.prompts) for name, value in whole.items()}


def filled(schema: pa.Schema, columns: Mapping[str, Any]) -> pa.Table:
    """A table with these columns, among them `prompt`; missing columns and unknown values are null."""
    rows = len(columns["prompt"])
    arrays = [_array(columns.get(field.name), rows, field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: Any, rows: int, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    if values is None:
        return pa.nulls(rows, kind)
    if isinstance(values, MetricColumn):
        return pa.array(values.values, mask=~values.known).cast(kind)
    return pc.cast(values, kind) if isinstance(values, pa.ChunkedArray) else pa.array(values, kind)

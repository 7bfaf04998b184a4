"""Likelihoods of option texts, scored as letters are: the summed log-likelihood stands for the logit.

The sum is what ReForm-Eval compares (Li et al. 2023). It prefers short options, so the accuracy by mean per
token and per byte stands beside it.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.calibration.probabilities import authors_probabilities, clean_probabilities
from vouch.metrics.join import AGAIN, Aligned, Block, aligned, matrix_block
from vouch.metrics.lists import cells
from vouch.metrics.protocols import CLEAN, Figure, mean_figure
from vouch.metrics.responses import Bools, Responses
from vouch.pipeline.errors import UserError
from vouch.tables.prompts import LIKELIHOOD

REDUCTIONS = {"accuracy_per_token": "tokens", "accuracy_per_byte": "bytes"}
"""Metric -> column of LIKELIHOOD that divides the sum."""


def likelihood_blocks(
    likelihood: pa.Table, prompts: pa.Table, items: pa.Table, where: str, released: bool
) -> list[Block]:
    """One block per variation that has likelihoods, with its reductions. Raises UserError as `join` does."""
    answers = by_prompt(likelihood, where)
    blocks = []
    for variation, found in aligned(answers, prompts, items, where, LIKELIHOOD, released):
        block = matrix_block(variation, LIKELIHOOD, found, where)
        blocks.append(replace(block, reduced=_reductions(found, block)))
    return blocks


def by_prompt(likelihood: pa.Table, where: str) -> pa.Table:
    """One row a prompt: prompt, problem, and by option logits (minus the sums), tokens and bytes.

    upper is there where an option cannot be at all: -inf among the logits. Raises UserError where the
    options of a prompt are not numbered 0, 1, ..., each once.
    """
    codes = likelihood["prompt"].combine_chunks().dictionary_encode()
    numbers = codes.indices.to_numpy(zero_copy_only=False)
    option = likelihood["option"].to_numpy()
    order = np.lexsort((option, numbers))
    counts = np.bincount(numbers, minlength=len(codes.dictionary))
    starts = np.cumsum(counts) - counts
    wrong = np.flatnonzero(option[order] != np.arange(len(order)) - np.repeat(starts, counts))
    if len(wrong):
        prompt = codes.dictionary[int(numbers[order[wrong[0]]])].as_py()
        raise UserError(f"{where}: prompt {prompt} has not one row for each option; {AGAIN}")
    rows = likelihood.take(order)
    offsets = np.append(starts, len(order)).astype(np.int32)

    def lists(values: pa.Array) -> pa.Array:
        return pa.ListArray.from_arrays(pa.array(offsets), values)

    nll = pc.fill_null(rows["nll"], np.nan).to_numpy()
    impossible = np.bincount(numbers[order], np.isposinf(nll), len(counts)) > 0
    return pa.table(
        {
            "prompt": codes.dictionary,
            "logits": lists(pa.array(0.0 - nll)),
            "upper": pa.array(np.where(impossible, 0.0, np.nan), from_pandas=True),
            "problem": rows["problem"].take(pa.array(starts)),
            **{name: lists(rows[name].combine_chunks()) for name in REDUCTIONS.values()},
        }
    )


def _reductions(found: Aligned, block: Block) -> Mapping[str, Responses]:
    """The block's responses by mean per token and per byte; without those whose lengths are not all known."""
    reduced = {}
    for metric, name in REDUCTIONS.items():
        row, column, lengths = cells(found.answers[name].filter(pa.array(block.asked.answered)))
        if not len(row) or np.isnan(lengths.astype(float)).any():
            continue
        logits = block.responses.logits.copy(order="K")
        logits[row, column] /= np.maximum(lengths, 1)
        reduced[metric] = replace(block.responses, logits=logits)
    return reduced


def reduced(protocol: str, block: Block, kept: Bools) -> list[Figure]:
    """The accuracies by mean: of all the kept rows [n] and plain, or of the clean ones with intervals."""
    figures = []
    view = clean_probabilities if protocol == CLEAN else authors_probabilities
    for metric, responses in block.reduced.items():
        rows = responses.take(kept & ~responses.defective if protocol == CLEAN else kept)
        if len(rows):
            figures.append(mean_figure(metric, view(rows).correct, rows.groups, protocol))
    return figures

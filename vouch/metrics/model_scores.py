"""One model's answers to one dataset, scored: rows of METRICS, OUTCOMES and LABEL_FREE."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.config import Config
from vouch.metrics.intervals import FAITHFUL
from vouch.metrics.join import join, likelihood_blocks
from vouch.metrics.ranking.label_free import option_scores, text_scores
from vouch.metrics.robustness.compared import Compared
from vouch.metrics.tables import ALL, UNANSWERED, score_block
from vouch.metrics.text.grading import split_p_true
from vouch.metrics.text.judge import Verdicts
from vouch.metrics.text.scoring import score_texts
from vouch.metrics.text.texts import text_blocks
from vouch.tables.answered import LETTERS, LIKELIHOOD, TEXT, letters_path, likelihood_path, text_path
from vouch.tables.results import LABEL_FREE, METRICS, OUTCOMES

OF_LETTERS = ("prompt", "logits", "upper", "letter_mass", "problem")
OF_LIKELIHOOD = ("prompt", "option", "nll", "tokens", "bytes", "problem")
OF_TEXT = ("prompt", "temperature", "sample", "text", "logprobs", "entropies", "eos", "problem")

Tables = Sequence[pa.Table]
"""Rows of METRICS, OUTCOMES and LABEL_FREE."""


def model_scores(
    model: str,
    dataset: str,
    prompts: pa.Table,
    items: pa.Table,
    released: bool,
    config: Config,
    verdicts: Verdicts | None = None,
) -> Iterator[Tables]:
    """Scores the stored answers, output by output and variation by variation; last comes what compares them.

    prompts, items: of the dataset. released: answers that need not cover every prompt: those of others, and
    none at all, of a model that was not asked this dataset. verdicts: of a model as judge; None where there
    is none.
    """
    path = letters_path(model, dataset)
    letters, prompts, p_true = split_p_true(LETTERS.read(path, OF_LETTERS), prompts)
    asked = (prompts, items)
    compared = Compared(*asked, config, p_true)
    blocks = join(letters, *asked, str(path), released)
    path = likelihood_path(model, dataset)
    blocks += likelihood_blocks(LIKELIHOOD.read(path, OF_LIKELIHOOD), *asked, str(path), released)
    for block in blocks:
        rows, outcomes = score_block(model, dataset, block, config)
        compared.add(outcomes, block)
        yield _metrics(rows), outcomes, option_scores(model, dataset, block, outcomes)
    path = text_path(model, dataset)
    for texts in text_blocks(TEXT.read(path, OF_TEXT), *asked, str(path), released):
        rows, outcomes = score_texts(model, dataset, texts, config, verdicts)
        compared.add(outcomes, texts.texts)
        compared.add_samples(outcomes, texts, dataset)
        yield _metrics(rows), outcomes, text_scores(model, dataset, texts, outcomes, config)
    nothing = (OUTCOMES.schema.empty_table(), LABEL_FREE.schema.empty_table())
    yield _metrics(compared.rows(model, dataset)), *nothing


def _metrics(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=METRICS.schema)


def silent(metrics: pa.Table) -> dict[str, int]:
    """Prompts without an answer, where there are any, by one model's rows of METRICS."""
    of_metric = metrics.filter(pc.equal(metrics["metric"], UNANSWERED)).to_pylist()
    return {
        f"{row['model']}/{row['variation']}/{row['output']}": round(row["value"] * row["items"])
        for row in of_metric
        if row["value"] and (row["protocol"], row["category"]) == (FAITHFUL, ALL)
    }

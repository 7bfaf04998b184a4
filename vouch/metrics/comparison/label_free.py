"""Label-free scores: what a model's answers say about its certainty (Tu et al. 2024).

PER_TEXT    scores from the Tokens of n greedy texts, [n]; NaN where unknown
PER_SAMPLE  scores from a greedy text and the texts sampled at one temperature, in 0 ... 1

An entropy is that of the full vocabulary before a token, as a share of the largest possible. Names with
`_eos` count the token that ends the sequence as part of the text.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from vouch.metrics.calibration.calibration import clean_probabilities
from vouch.metrics.config import DEFAULT_ANSWER, Config
from vouch.metrics.join import Block
from vouch.metrics.metric import SHARE, Column, Formulas, is_share
from vouch.metrics.tables import filled, names_of
from vouch.metrics.text.answers import ANSWERS
from vouch.metrics.text.texts import Numbers, TextBlock, Tokens
from vouch.metrics.text.wording import plain
from vouch.tables import SAMPLES, TOKENS
from vouch.tables.asked import ORIGINAL
from vouch.tables.results import LABEL_FREE

PER_TEXT = Formulas[Callable[[Tokens], Numbers]]()
PER_SAMPLE = Formulas[Callable[[str, Sequence[str]], float]]()
PER_TEXT(
    "ent_avg",
    "Entropy",
    "mean entropy before a token, of the largest possible: less is surer",
    unit=SHARE,
    source="Tu et al. 2024, Ent_avg",
)(lambda tokens: tokens.mean(tokens.entropy))
PER_TEXT(
    "ent_avg_eos",
    "Entropy",
    "ent_avg with the token that ends the sequence",
    unit=SHARE,
    source="Tu et al. 2024",
)(lambda tokens: tokens.with_end().mean(tokens.entropy))
PER_TEXT(
    "ent_first", "Entropy", "entropy before the first token", unit=SHARE, source="Tu et al. 2024, Ent_F"
)(lambda tokens: tokens.first(tokens.entropy))
PER_TEXT("ent_last", "Entropy", "entropy before the last token", unit=SHARE, source="Tu et al. 2024, Ent_P")(
    lambda tokens: tokens.last(tokens.entropy)
)
PER_TEXT(
    "ent_max", "Entropy", "the largest entropy before a token", unit=SHARE, source="Tu et al. 2024, Ent_max"
)(lambda tokens: tokens.largest(tokens.entropy))
PER_TEXT(
    "ent_max_eos",
    "Entropy",
    "ent_max with the token that ends the sequence",
    unit=SHARE,
    source="Tu et al. 2024",
)(lambda tokens: tokens.with_end().largest(tokens.entropy))
PER_TEXT(
    "nll_avg",
    "NLL",
    "mean negative log-likelihood of a text's tokens, nats: less is surer",
    unit="nats",
    source="Tu et al. 2024, equation 2",
)(lambda tokens: tokens.mean(tokens.nll))
PER_TEXT(
    "nll_avg_eos",
    "NLL",
    "nll_avg with the token that ends the sequence",
    unit="nats",
    source="Tu et al. 2024",
)(lambda tokens: tokens.with_end().mean(tokens.nll))
PER_TEXT(
    "nll_first",
    "NLL",
    "negative log-likelihood of the first token",
    unit="nats",
    source="Tu et al. 2024, NLL_F",
)(lambda tokens: tokens.first(tokens.nll))
PER_TEXT(
    "nll_last",
    "NLL",
    "that of the token before the sequence ends",
    unit="nats",
    source="Tu et al. 2024, NLL_P",
)(lambda tokens: tokens.last(tokens.nll))
PER_TEXT(
    "nll_min",
    "NLL",
    "that of the least probable token, the largest of all",
    unit="nats",
    source="Tu et al. 2024, equation 1",
)(lambda tokens: tokens.largest(tokens.nll))
PER_TEXT(
    "nll_min_eos",
    "NLL",
    "nll_min with the token that ends the sequence",
    unit="nats",
    source="Tu et al. 2024",
)(lambda tokens: tokens.with_end().largest(tokens.nll))


@PER_SAMPLE("agreement", "Agreement", "share of the samples that are the greedy text", unit=SHARE)
def agreement(text: str, samples: Sequence[str]) -> float:
    """Share of the samples that are the greedy text, but for case, spaces and outer punctuation."""
    greedy = plain(text)
    return sum(plain(sample) == greedy for sample in samples) / len(samples)


@PER_SAMPLE(
    "sample_bleu",
    "BLEU-1",
    "of the samples against the greedy text",
    unit=SHARE,
    source="Tu et al. 2024, Sample_BLEU",
)
def sample_bleu(text: str, samples: Sequence[str]) -> float:
    """Mean BLEU-1 of the samples against the greedy text; two texts without words are alike.

    Clipped precision of words, in lower case and split at spaces, times the brevity penalty (Papineni et al.
    2002); no smoothing, as there are single words only.
    """
    original = text.lower().split()
    return sum(_bleu(sample.lower().split(), original) for sample in samples) / len(samples)


def _bleu(words: list[str], original: list[str]) -> float:
    if not words:
        return float(not original)
    matches = (Counter(words) & Counter(original)).total()
    brevity = min(1.0, math.exp(1 - len(original) / len(words)))
    return brevity * matches / len(words)


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
    """How correct each text is; open questions by the first answer metric also where that has no scale."""
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

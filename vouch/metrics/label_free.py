"""Label-free scores: how certain a model is, judged by its answers without labels (Tu et al. 2024).

PER_TEXT    scores from the Tokens of n greedy texts, [n]; NaN if unknown
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

from vouch.metrics.calibration import clean_probabilities
from vouch.metrics.config import DEFAULT_ANSWER, ScoreConfig
from vouch.metrics.join import Block
from vouch.metrics.metric import SHARE, Formulas, MetricColumn, is_share
from vouch.metrics.tables import filled, names_of
from vouch.metrics.text.answers import ANSWERS
from vouch.metrics.text.texts import Numbers, TextBlock, Tokens
from vouch.metrics.text.wording import plain
from vouch.tables import SAMPLES, TOKENS
from vouch.tables.asked import ORIGINAL
from vouch.tables.results import LABEL_FREE

PER_TEXT = Formulas[Callable[[Tokens], Numbers]]()
PER_SAMPLE = Formulas[Callable[[str, Sequence[str]], float]]()
# formula, meaning, its place in Tu et al. (2024), whether `_eos` counts the token that ends the sequence too
OF_TOKENS = {
    "ent_avg": (
        Tokens.mean,
        "mean entropy before a token, of the largest possible: less is surer",
        "Ent_avg",
        True,
    ),
    "ent_first": (Tokens.first, "entropy before the first token", "Ent_F", False),
    "ent_last": (Tokens.last, "entropy before the last token", "Ent_P", False),
    "ent_max": (Tokens.largest, "the largest entropy before a token", "Ent_max", True),
    "nll_avg": (
        Tokens.mean,
        "mean negative log-likelihood of a text's tokens, nats: less is surer",
        "equation 2",
        True,
    ),
    "nll_first": (Tokens.first, "negative log-likelihood of the first token", "NLL_F", False),
    "nll_last": (Tokens.last, "that of the token before the sequence ends", "NLL_P", False),
    "nll_min": (Tokens.largest, "that of the least probable token, the largest of all", "equation 1", True),
}


def _of_tokens(name: str, with_end: bool) -> Callable[[Tokens], Numbers]:
    def formula(tokens: Tokens) -> Numbers:
        counted = tokens.with_end() if with_end else tokens
        return OF_TOKENS[name][0](counted, counted.entropy if name.startswith("ent") else counted.nll)

    return formula


for name, (_, meaning, source, has_eos) in OF_TOKENS.items():
    label, unit = ("Entropy", SHARE) if name.startswith("ent") else ("NLL", "nats")
    declared = PER_TEXT(name, label, meaning, unit=unit, source=f"Tu et al. 2024, {source}")
    declared(_of_tokens(name, False))
    if has_eos:
        meaning = f"{name} with the token that ends the sequence"
        PER_TEXT(f"{name}_eos", label, meaning, unit=unit, source="Tu et al. 2024")(_of_tokens(name, True))


@PER_SAMPLE("agreement", "Agreement", "share of the samples that are the greedy text", unit=SHARE)
def agreement(text: str, samples: Sequence[str]) -> float:
    """Share of the samples that equal the greedy text, apart from case, spaces and outer punctuation."""
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
    """Scores of answers that give each option a number. outcomes: rows of OUTCOMES of the same block."""
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


def text_scores(
    model: str, dataset: str, block: TextBlock, outcomes: pa.Table, config: ScoreConfig
) -> pa.Table:
    """Scores of generated texts. outcomes: the rows of OUTCOMES of the same block."""
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


def _performance(dataset: str, block: TextBlock, outcomes: pa.Table, config: ScoreConfig) -> Any:
    """How correct each text is; open questions by their first answer metric, even if it can exceed 1."""
    metric = config.answers.get(dataset, [DEFAULT_ANSWER])[0]
    if is_share(metric):
        return outcomes["clean_correct"]
    rows = [row for row, question in enumerate(block.questions) if question.references]
    values = outcomes["clean_correct"].fill_null(np.nan).to_numpy().copy()
    values[rows] = ANSWERS[metric](
        [block.texts[row] for row in rows], [block.questions[row].references for row in rows]
    )
    return _known(values)


def _known(values: Numbers) -> MetricColumn:
    return MetricColumn(values, ~np.isnan(values))

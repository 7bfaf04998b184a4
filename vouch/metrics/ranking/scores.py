"""Label-free scores of generated texts (Tu et al. 2024): tables by what a formula rests on.

To add one, add an entry.

PER_TEXT    from Tokens of n greedy texts, [n]; NaN where it is not known
PER_SAMPLE  from a greedy text and the texts sampled at one temperature, at least one: a number in 0 ... 1

An entropy is that of the full vocabulary before a token, as a share of the largest possible. With `_eos` the
token that ends the sequence counts as one of the text.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence

from vouch.metrics.registry import NATS, SHARE, Formula, Metric
from vouch.metrics.text.tokens import Tokens
from vouch.metrics.text.wording import plain

_TU = "Tu et al. 2024"


def agreement(text: str, samples: Sequence[str]) -> float:
    """Share of the samples that are the greedy text, but for case, spaces and outer punctuation."""
    said = plain(text)
    return sum(plain(sample) == said for sample in samples) / len(samples)


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


def _nll(help: str, source: str = _TU) -> Metric:
    return Metric("NLL", help, None, NATS, source)


def _entropy(help: str, source: str = _TU) -> Metric:
    return Metric("Entropy", help, None, SHARE, source)


PER_TEXT: dict[str, Formula[Tokens]] = {
    "ent_avg": Formula(
        _entropy("mean entropy before a token, of the largest possible: less is surer", f"{_TU}, Ent_avg"),
        lambda tokens: tokens.mean(tokens.entropy),
    ),
    "ent_avg_eos": Formula(
        _entropy("ent_avg with the token that ends the sequence"),
        lambda tokens: tokens.with_end().mean(tokens.entropy),
    ),
    "ent_first": Formula(
        _entropy("entropy before the first token", f"{_TU}, Ent_F"),
        lambda tokens: tokens.first(tokens.entropy),
    ),
    "ent_last": Formula(
        _entropy("entropy before the last token", f"{_TU}, Ent_P"),
        lambda tokens: tokens.last(tokens.entropy),
    ),
    "ent_max": Formula(
        _entropy("the largest entropy before a token", f"{_TU}, Ent_max"),
        lambda tokens: tokens.largest(tokens.entropy),
    ),
    "ent_max_eos": Formula(
        _entropy("ent_max with the token that ends the sequence"),
        lambda tokens: tokens.with_end().largest(tokens.entropy),
    ),
    "nll_avg": Formula(
        _nll("mean negative log-likelihood of a text's tokens, nats: less is surer", f"{_TU}, equation 2"),
        lambda tokens: tokens.mean(tokens.nll),
    ),
    "nll_avg_eos": Formula(
        _nll("nll_avg with the token that ends the sequence"),
        lambda tokens: tokens.with_end().mean(tokens.nll),
    ),
    "nll_first": Formula(
        _nll("negative log-likelihood of the first token", f"{_TU}, NLL_F"),
        lambda tokens: tokens.first(tokens.nll),
    ),
    "nll_last": Formula(
        _nll("that of the token before the sequence ends", f"{_TU}, NLL_P"),
        lambda tokens: tokens.last(tokens.nll),
    ),
    "nll_min": Formula(
        _nll("that of the least probable token, the largest of all", f"{_TU}, equation 1"),
        lambda tokens: tokens.largest(tokens.nll),
    ),
    "nll_min_eos": Formula(
        _nll("nll_min with the token that ends the sequence"),
        lambda tokens: tokens.with_end().largest(tokens.nll),
    ),
}
PER_SAMPLE: dict[str, tuple[Metric, Callable[[str, Sequence[str]], float]]] = {
    "agreement": (Metric("Agreement", "share of the samples that are the greedy text"), agreement),
    "sample_bleu": (
        Metric("BLEU-1", "of the samples against the greedy text", source=f"{_TU}, Sample_BLEU"),
        sample_bleu,
    ),
}
DECLARED: dict[str, Metric] = {
    **{name: formula.metric for name, formula in PER_TEXT.items()},
    **{name: metric for name, (metric, _) in PER_SAMPLE.items()},
}

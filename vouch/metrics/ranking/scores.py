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

from vouch.metrics.text.tokens import Numbers, Tokens
from vouch.metrics.text.wording import plain


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


PER_TEXT: dict[str, Callable[[Tokens], Numbers]] = {
    "ent_avg": lambda tokens: tokens.mean(tokens.entropy),
    "ent_avg_eos": lambda tokens: tokens.with_end().mean(tokens.entropy),
    "ent_first": lambda tokens: tokens.first(tokens.entropy),
    "ent_last": lambda tokens: tokens.last(tokens.entropy),
    "ent_max": lambda tokens: tokens.largest(tokens.entropy),
    "ent_max_eos": lambda tokens: tokens.with_end().largest(tokens.entropy),
    "nll_avg": lambda tokens: tokens.mean(tokens.nll),
    "nll_avg_eos": lambda tokens: tokens.with_end().mean(tokens.nll),
    "nll_first": lambda tokens: tokens.first(tokens.nll),
    "nll_last": lambda tokens: tokens.last(tokens.nll),
    "nll_min": lambda tokens: tokens.largest(tokens.nll),
    "nll_min_eos": lambda tokens: tokens.with_end().largest(tokens.nll),
}
PER_SAMPLE: dict[str, Callable[[str, Sequence[str]], float]] = {
    "agreement": agreement,
    "sample_bleu": sample_bleu,
}

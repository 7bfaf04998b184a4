"""Uncertainty of texts against a plain computation, text by text."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from vouch.metrics.comparison.label_free import PER_TEXT, agreement, sample_bleu
from vouch.metrics.text.texts import Tokens

# NLL and entropy of the tokens, the last one ends the sequence where it says so.
TEXTS = (
    ([0.5, 2.0, 0.25, 0.125], [0.1, 0.6, 0.3, 0.05], True),
    ([1.0, 3.0], [0.2, 0.4], False),
    ([0.75], [0.9], True),  # nothing but the end
    ([], [], False),
    ([4.0, 0.5], [0.5, 0.25], True),
)

WORDS = st.lists(st.sampled_from(["a", "red", "Red", "cat", "on"]), min_size=1, max_size=7).map(" ".join)


def tokens() -> Tokens:
    sizes = [len(nll) for nll, _, _ in TEXTS]
    ended = np.array([end for _, _, end in TEXTS])
    return Tokens(
        np.array([value for nll, _, _ in TEXTS for value in nll]),
        np.array([value for _, entropy, _ in TEXTS for value in entropy]),
        np.cumsum(sizes) - sizes,
        np.array(sizes) - ended,
        ended,
    )


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


RULES = {
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "min": max,
    "max": max,
    "avg": mean,
}


@pytest.mark.parametrize("name", PER_TEXT)
def test_every_metric_follows_its_definition(name: str) -> None:
    kind, rule, *with_end = name.split("_")
    found = PER_TEXT[name](tokens())
    for value, (nll, entropy, ended) in zip(found, TEXTS, strict=True):
        counted = nll if kind == "nll" else entropy
        if ended and not with_end:
            counted = counted[:-1]
        if counted:
            assert value == pytest.approx(RULES[rule](counted))
        else:
            assert np.isnan(value)


def test_unknown_entropies_stay_unknown() -> None:
    known = tokens()
    entropy = np.where(np.arange(len(known.entropy)) < 4, np.nan, known.entropy)
    found = PER_TEXT["ent_avg"](Tokens(known.nll, entropy, known.starts, known.counts, known.ended))
    assert np.isnan(found[0]) and found[1] == pytest.approx(0.3)


def test_no_texts_at_all() -> None:
    nothing = np.zeros(0)
    none = Tokens(nothing, nothing, nothing.astype(int), nothing.astype(int), nothing.astype(bool))
    for formula in PER_TEXT.values():
        assert len(formula(none)) == 0


def test_sample_bleu() -> None:
    bleu = sample_bleu
    assert bleu("A red circle", ["a red circle", "a  red CIRCLE"]) == 1
    assert bleu("a red circle", ["red"]) == pytest.approx(math.exp(1 - 3))
    assert bleu("red", ["red red red red"]) == pytest.approx(1 / 4)
    assert bleu("a red circle", ["blue", "a red dog here"]) == pytest.approx((0 + 2 / 4) / 2)
    assert bleu("", [""]) == 1 and bleu("red", [""]) == 0 and bleu("", ["red"]) == 0


@given(WORDS, WORDS)
def test_sample_bleu_is_sacrebleus(original: str, sample: str) -> None:
    peer = BLEU(lowercase=True, tokenize="none", smooth_method="none", max_ngram_order=1)
    found = sample_bleu(original, [sample])
    assert found == pytest.approx(peer.sentence_score(sample, [original]).score / 100)


def test_agreement() -> None:
    assert agreement("Two.", ["two", " TWO", "2", "three"]) == 0.5

"""Label-free scores of tokens, samples and options, item by item."""

import math

import numpy as np
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from tests.metrics.simulated import CONFIG, config, simulate, tables
from tests.metrics.text.test_texts import blocks, question
from vouch.metrics.join import join
from vouch.metrics.label_free import PER_TEXT, option_scores, sample_bleu, text_scores
from vouch.metrics.tables import score_block
from vouch.metrics.text.scoring import score_texts
from vouch.metrics.text.texts import Tokens
from vouch.tables import SAMPLES, TOKENS
from vouch.tables.results import LABEL_FREE


def test_options_sum_to_one_and_the_answer_is_marked() -> None:
    responses = simulate(3, 50, copies=2)
    responses.defective[:4] = True
    (block,) = join(*tables(responses), "here")
    rows, outcomes = score_block("m", "d", block, CONFIG)
    found = option_scores("m", "d", block, outcomes).to_pylist()
    assert [row["prompt"] for row in found] == [f"{i}/original" for i in range(4, 50)], (
        "without defective rows"
    )
    assert [row["answers"] for row in found] == [[k] for k in responses.answers.argmax(axis=1)[4:]]
    for row, logits in zip(found, responses.logits[4:].astype(float), strict=True):
        assert row["probabilities"] == pytest.approx(np.exp(logits) / np.exp(logits).sum())
        assert row["temperature"] is None and row["nll_avg"] is None
    (accuracy,) = [row["value"] for row in rows if (row["metric"], row["protocol"]) == ("accuracy", "clean")]
    assert np.mean([row["performance"] for row in found]) == pytest.approx(accuracy)


def test_only_the_original_is_ranked() -> None:
    (block,) = join(*tables(simulate(3, 20), "blank"), "here")
    _, outcomes = score_block("m", "d", block, CONFIG)
    assert option_scores("m", "d", block, outcomes).num_rows == 0


TOKENS_OF = {"logprobs": [-0.5, -1.5, -0.1], "entropies": [0.1, 0.5, 0.2], "eos": 2}


def test_texts_have_tokens_and_a_row_for_each_temperature() -> None:
    (block,) = blocks(
        [
            question("q0", "a red cat", "a red cat", **TOKENS_OF, samples=["a red cat", "a dog"]),
            question("q1", "a dog", "a red cat", logprobs=[], entropies=[], eos=None),
        ]
    )
    rows, outcomes = score_texts("m", "d", block, config())
    found = text_scores("m", "d", block, outcomes, config())
    assert found.schema.equals(LABEL_FREE.schema)
    first, second, sampled, unanswered = found.to_pylist()
    assert [first[name] for name in TOKENS] == pytest.approx([0.5, 1.5, 1.5, 1.0, 0.1, 0.5, 0.5, 0.3])
    assert [second[name] for name in TOKENS] == [None] * 8
    assert (first["performance"], second["performance"]) == (1, 0)
    assert (sampled["temperature"], sampled["agreement"], sampled["performance"]) == (0.5, 0.5, 1)
    assert [unanswered[name] for name in SAMPLES] == [None, None]
    metrics = {row["metric"]: row["value"] for row in rows if row["protocol"] == "clean"}
    assert metrics["sample_bleu"] == pytest.approx(sampled["sample_bleu"])


def test_a_metric_without_a_scale_is_performance_too() -> None:
    (block,) = blocks([question("q0", "a red cat", "a red cat"), question("q1", "a blue dog", "a dog")])
    settings = config(answers={"d": ["cider_d"]})
    rows, outcomes = score_texts("m", "d", block, settings)
    assert outcomes["clean_correct"].null_count == 2
    found = text_scores("m", "d", block, outcomes, settings)["performance"]
    (metric,) = [r["value"] for r in rows if (r["metric"], r["protocol"]) == ("cider_d", "clean")]
    assert pc.mean(found).as_py() == pytest.approx(metric)


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

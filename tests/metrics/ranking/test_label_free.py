"""The table of label-free scores says item by item what the metrics are means of."""

import numpy as np
import pyarrow.compute as pc
import pytest

from tests.metrics.simulated import CONFIG, config, simulate, tables
from tests.metrics.text.test_texts import blocks, question
from vouch.metrics.comparison.label_free import option_scores, text_scores
from vouch.metrics.join import join
from vouch.metrics.tables import score_block
from vouch.metrics.text.scoring import score_texts
from vouch.tables.names import SAMPLES, TOKENS
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
    first, second, sampled, silent = found.to_pylist()
    assert [first[name] for name in TOKENS] == pytest.approx([0.5, 1.5, 1.5, 1.0, 0.1, 0.5, 0.5, 0.3])
    assert [second[name] for name in TOKENS] == [None] * 8
    assert (first["performance"], second["performance"]) == (1, 0)
    assert (sampled["temperature"], sampled["agreement"], sampled["performance"]) == (0.5, 0.5, 1)
    assert [silent[name] for name in SAMPLES] == [None, None]
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

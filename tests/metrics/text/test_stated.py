"""Confidence that answers state: read, taken out of the text, and scored like any other."""

import time
from typing import Any

import numpy as np
import pytest

from tests.metrics.text.test_texts import choice, question, scored
from tests.prompts.rows import laid_out
from vouch.metrics.text.texts import stated
from vouch.prompts.template import read_template
from vouch.tables.asked import LETTERS, TEXT, read_as


@pytest.mark.parametrize(
    ("text", "rest", "share"),
    [
        ("B, 80%", "B", 0.8),
        ("B,80 %.", "B", 0.8),
        ("(B) 62.5 percent", "(B)", 0.625),
        ("B, 95", "B", 0.95),
        ("Answer: B\nConfidence: 0.7", "Answer: B", 0.7),
        ("Answer: B\nConfidence (0-100): 40", "Answer: B", 0.4),
        ("**B**\n\nProbability: 35\uff05", "**B**\n\n".strip(), 0.35),
        ("I am 90% certain that it is B.", "I am certain that it is B.", 0.9),
        ("80% of them are red, so B, 55%", "80% of them are red, so B", 0.55),
        ("B, 100%", "B", 1.0),
        ("B, 0%", "B", 0.0),
        ("B, 150%", "B, 150%", None),
        ("B, 1234%", "B, 1234%", None),
        ("B, 8/10", "B", 0.8),
        ("B, 1/5", "B", 0.2),
        ("B, 9 out of 10.", "B", 0.9),
        ("B, 5 of 10", "B", 0.5),
        ("B, .9", "B", 0.9),
        ("B, 0,9", "B", 0.9),
        ("B (.75)", "B", 0.75),
        ("Confidence (1-10): 8\nB", "B", 0.8),
        ("**Answer:** B\n**Confidence:** 85%", "**Answer:** B", 0.85),
        ("Paris. My confidence is 80%", "Paris.", 0.8),
        ("Paris, with 90% confidence.", "Paris", 0.9),
        ("B, about 80%", "B", 0.8),
        (
            "The probability that it rains is 30. Answer: B, 90%",
            "The probability that it rains is 30. Answer: B",
            0.9,
        ),
        ("Answer: B, 90%. The probability of rain is 30.", "Answer: B. The probability of rain is 30.", 0.9),
        ("There is a 30% chance of rain. B, 70%", "There is a 30% chance of rain. B", 0.7),
        ("Probability: A 10%, B 80%", "Probability: A 10%, B", 0.8),
        ("Confidence: 80%. The other 20% are noise.", "The other 20% are noise.", 0.8),
        ("1,000, 95%", "1,000", 0.95),
        ("B. Confidence: 8 on a scale of 1 to 10.", "B.", 0.8),
        ("B\nConfidence: 90%, uncertainty: 10%", "B, uncertainty: 10%", 0.9),
        ("Answer: 45%, confidence: 60%", "Answer: 45%", 0.6),
        ("<think>I am 20% sure of A.</think>B, 80%", "B", 0.8),
        ("<think>Confidence: 90%", "<think>Confidence: 90%", None),
        ("<think>A, 90%</think>B", "<think>A, 90%</think>B", None),
        ("Answer: 45%", "Answer: 45%", None),
        ("The answer is about 3/4.", "The answer is about 3/4.", None),
        ("B, uncertainty: 20%", "B, uncertainty: 20%", None),
        ("I am 90% uncertain. B", "I am 90% uncertain. B", None),
        ("20% chance of being wrong. B", "20% chance of being wrong. B", None),
        ("2 of 3 boxes are red, so B", "2 of 3 boxes are red, so B", None),
        ("There is a 30% chance of rain. B", "There is a 30% chance of rain. B", None),
        ("B, 80-90%", "B, 80-90%", None),
        ("B, 80 to 90%", "B, 80 to 90%", None),
        ("B, 8/0", "B, 8/0", None),
        ("B, 10/8", "B, 10/8", None),
        ("B, 12:30", "B, 12:30", None),
        ("B", "B", None),
        ("three", "three", None),
        ("", "", None),
    ],
)
def test_what_a_text_states(text: str, rest: str, share: float | None) -> None:
    assert stated(text) == (rest, None if share is None else pytest.approx(share))


def test_long_texts_take_linear_time() -> None:
    for text in ("confidence " * 100_000, "1" * 1_000_000, "9 " * 300_000, "a, " * 300_000, "9 to " * 90_000):
        start = time.process_time()
        stated(text)
        assert time.process_time() - start < 3


def asked(
    name: str, text: str, answer: int = 0, template: str = "plain_verbalised", **more: Any
) -> dict[str, Any]:
    return choice(name, text, answer, template=template, **more)


def test_stated_confidence_is_scored_like_any_other() -> None:
    rows = [
        asked("q0", "A, 90%", samples=["A, 70%", "B, 90%"]),
        asked("q1", "B, 60%", samples=["B, 60%", "(B) 10 %"]),
        asked("q2", "A, 40%", answer=1, samples=["A, 40%", "A, 30%"]),
        asked("q3", "C"),
    ]
    metrics, outcomes = scored(rows)
    assert [o["answer"] for o in outcomes] == ["cat", "dog", "cat", "cow"], "without what it states"
    right = np.array([1.0, 0.0, 0.0])
    for protocol in ("faithful", "clean"):
        found = {
            name: metrics[protocol, "verbalised", name] for name in ("ece", "mce", "auroc", "brier_answer")
        }
        assert found["brier_answer"]["value"] == pytest.approx(
            np.mean((np.array([0.9, 0.6, 0.4]) - right) ** 2)
        )
        assert found["ece"]["value"] == pytest.approx((0.1 + 0.6 + 0.4) / 3) and found["ece"]["items"] == 3
        assert found["auroc"]["value"] == 1.0, "the right one is the surest"
        assert metrics[protocol, "verbalised", "stated_rate"]["value"] == 0.75
        agreed = metrics[protocol, "t0.5", "brier_answer"]["value"]
        assert agreed == pytest.approx(np.mean((np.array([0.5, 1.0, 1.0]) - right) ** 2))
        assert metrics[protocol, "t0.5", "auroc"]["value"] == 0.0, "it agrees most where it errs"
    assert metrics["clean", "t0.5", "agreement"]["value"] == pytest.approx((0.5 + 1 + 1) / 3)


def test_without_the_template_a_percentage_is_an_answer() -> None:
    rows = [asked("q0", "B, 60%", template="plain"), question("q1", "80%", "80%", template="plain")]
    metrics, outcomes = scored(rows)
    assert not any(score == "verbalised" for _, score, _ in metrics)
    assert outcomes[1]["correct"] and outcomes[1]["answer"] == "80%"
    names = {"verbalised": True, "mine_verbalised": True, "plain": False, "nonverbalised": False, None: False}
    assert {name: read_as(name) == "verbalised" for name in names} == names


def test_the_template_asks_for_the_letter_first_and_its_logits() -> None:
    template = read_template("verbalised")
    assert template.outputs == (LETTERS, TEXT)
    said = laid_out(template, None, "Which?", ("A", "red"), ("B", "blue"))
    assert said.startswith("Which?\nA. red\nB. blue\nAnswer with the option's letter") and "percent" in said

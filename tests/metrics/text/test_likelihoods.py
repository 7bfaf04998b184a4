"""Likelihoods that texts state for all options, and letters made of them."""

import math

import pyarrow as pa
import pytest

from vouch.metrics.text.likelihoods import LEAST, UNSTATED, likelihoods, with_stated
from vouch.metrics.text.texts import asking_likelihoods
from vouch.tables.answered import LETTERS
from vouch.tables.asked import PROMPTS

READ = [0.7, 0.2, 0.1]


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("A: 0.7\nB: 0.2\nC: 0.1", READ),
        ("A: 70%, B: 20%, C: 10%", READ),
        ("A: 70 %\nB: 20 %\nC: 10 percent", READ),
        ('{"A":0.7,"B":0.2,"C":0.1}', READ),
        ("**A**: 70\n**B**: 20\n**C**: 10", READ),
        ("- (A) .7\n- (B) .2\n- (C) .1", READ),
        ("A: 0.7 B: 0.2 C: 0.1", READ),
        ("A. a kite: 0.7\nB. two kites (0.2)\nC. 3 kites: 0.1", READ),
        ("Here it is:\nC: 0.1\nA: 0.7\nB: 0.2\nSo A.", READ),
        ("A: 1.4\nB: 0.4\nC: 0.2", READ),
        ("A: 1\nB: 0\nC: 0", [1, 0, 0]),
        ("A: 0.7\nB: 0.2", None),
        ("A: 0.7\nB: 0.2\nC: unlikely", None),
        ("A: 0.7\nA: 0.1\nB: 0.2\nC: 0", None),
        ("A: 0\nB: 0\nC: 0", None),
        ("A: -0.7\nB: 0.2\nC: 0.1", None),
        ("A: 1.0\nB: 0.5%\nC: 3%", None),
        ("A: 700\nB: 1\nC: 2", None),
        ("a: 0.7\nb: 0.2\nc: 0.1", None),
        ("A", None),
        ("", None),
        ("A: " * 20_000, None),
    ],
)
def test_a_number_for_every_option_or_nothing(text: str, shares: list[float] | None) -> None:
    assert likelihoods(text, "ABC") == (shares and pytest.approx(shares))


def test_texts_become_letters_of_their_prompts_alone() -> None:
    """Logits whose softmax is what was stated; what cannot be read is a problem, letters that are there stay."""
    asked = {"labels": ["A", "B"], "template": "azad_ai2d_likelihoods"}
    rows = [{"id": name, **asked} for name in ("one", "two", "three", "four")]
    prompts = pa.Table.from_pylist([*rows, {"id": "plain", "template": "plain"}], schema=PROMPTS.schema)
    asking = asking_likelihoods(prompts)
    assert asking["id"].to_pylist() == ["one", "two", "three", "four"]
    texts = {
        "one": "A: 1, B: 0",
        "two": "A, I am sure",
        "three": None,
        "four": "A: 0.5\nB: 0.5",
        "plain": "A: 1, B: 0",
    }
    answers = [
        {"prompt": name, "temperature": temperature, "text": text, "problem": None if text else "HTTP 500"}
        for name, text in texts.items()
        for temperature in (0.0, 1.0)
    ]
    schema = pa.schema([LETTERS.schema.field(name) for name in ("prompt", "logits", "problem")])
    letters = pa.Table.from_pylist([{"prompt": "four", "logits": [3.0, 4.0]}], schema=schema)
    found = {
        row.pop("prompt"): row
        for row in with_stated(letters, pa.Table.from_pylist(answers), asking).to_pylist()
    }
    assert found == {
        "one": {"logits": pytest.approx([0, math.log(LEAST)]), "problem": None},
        "two": {"logits": None, "problem": UNSTATED},
        "three": {"logits": None, "problem": "HTTP 500"},
        "four": {"logits": [3.0, 4.0], "problem": None},
    }

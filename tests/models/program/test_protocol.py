"""What a driver may say: every line that is not an answer to what was asked is refused, with the reason."""

import json
import re
from typing import Any

import pytest

from vouch.models.engine import LetterAnswer, LikelihoodAnswer, Question, Refusal, TextAnswer
from vouch.models.program import protocol
from vouch.models.program.protocol import Broken, Ready, Request

LETTERS = Request("letters", Question("q", None, "?", labels=("A", "B")))
LIKELIHOOD = Request("likelihood", Question("q", None, "?", options=("one", "two")))
TEXT = Request("text", Question("q", None, "?", max_tokens=2, stop="</t>"))
GOOD: dict[str, tuple[Request, dict[str, Any]]] = {
    "letters": (LETTERS, {"logits": [1, 2.5], "letter_mass": 1.0004, "entropy": 0}),
    "likelihood": (LIKELIHOOD, {"nll": [0.5, 2], "tokens": [1, 2]}),
    "text": (TEXT, {"text": "a</t>", "logprobs": [-0.5, 0], "entropies": [0, 1], "eos": 1}),
}
READY: dict[str, Any] = {"ready": 1, "outputs": ["text", "letters"], "device": "cpu", "batch": 2000}


def answered(output: str, **changed: Any) -> tuple[protocol.Answer, list[str]]:
    request, good = GOOD[output]
    line = {"id": 1, **good, **changed}
    data = json.dumps(line).replace('"1e999"', "1e999").encode()
    return protocol.answer(protocol.parsed(data), request)


def test_a_good_line_is_an_answer() -> None:
    assert answered("letters")[0] == LetterAnswer([1.0, 2.5], letter_mass=1.0004, entropy=0.0)
    assert answered("letters", logits=[1, 1.1], letter_mass=0.1, flags=["other_spelling"] * 2)[1] == [
        "low_mass", "close", "other_spelling",
    ]  # fmt: skip
    assert answered("likelihood") == (LikelihoodAnswer([0.5, 2.0], [1, 2]), [])
    assert answered("text")[0] == TextAnswer("a</t>", [-0.5, 0.0], [0.0, 1.0], 1, stopped=True)
    bare = {"logprobs": None, "entropies": None, "eos": None}
    assert answered("text", text="", **bare)[0] == TextAnswer("", None, None, None)
    assert protocol.ready(READY) == Ready(["letters", "text"], "cpu", 1024, None)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "a line that is not JSON"),
        (b"\0\0", "a line that is not JSON"),
        (b"{", "a line that is not JSON"),
        (b'{"id": 1, "refu', "a line that is not JSON"),
        (b"\xff{}", "a line that is not JSON"),
        (b"[" * 100_000, "a line that is not JSON"),
        (b"9" * 10_000, "a line that is not JSON"),
        (b"[1]", "a line that is no mapping"),
        (b"7", "a line that is no mapping"),
        (b'{"id": NaN}', "a number is NaN"),
        (b'{"id": [-Infinity]}', "a number is -Infinity"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_message(line: bytes, why: str) -> None:
    with pytest.raises(Broken, match=re.escape(why)):
        protocol.parsed(line)


@pytest.mark.parametrize(
    ("output", "changed", "why"),
    [
        ("letters", {"logits": None}, "`logits` has none numbers, not 2"),
        ("letters", {"logits": [1, 2, 3]}, "`logits` has 3 numbers, not 2"),
        ("letters", {"logits": {"A": 1, "B": 2}}, "`logits` has none numbers, not 2"),
        ("letters", {"logits": [1, "NaN"]}, "`logits` has a value that cannot be"),
        ("letters", {"logits": [1, True]}, "`logits` has a value that cannot be"),
        ("letters", {"logits": [1, [2]]}, "`logits` has a value that cannot be"),
        ("letters", {"logits": [1, "1e999"]}, "`logits` has a value that cannot be"),
        ("letters", {"logits": [1, 10**400]}, "`logits` has a value that cannot be"),
        ("letters", {"letter_mass": 1.5}, "`letter_mass` is 1.5, not a number from 0 to 1"),
        ("letters", {"letter_mass": "1"}, "`letter_mass` is '1', not a number"),
        ("letters", {"letter_mass": 10**400}, "`letter_mass` is 1000"),
        ("letters", {"bracket_mass": -1}, "`bracket_mass` is -1"),
        ("letters", {"entropy": None}, "`entropy` is None"),
        ("letters", {"entropy": -1}, "`entropy` is -1"),
        ("letters", {"nll": -1}, "`nll` is -1"),
        ("letters", {"spelling": "x"}, "`spelling` is neither nothing nor a space"),
        ("letters", {"other_logits": [1]}, "`other_logits` has 1 numbers, not 2"),
        ("letters", {"flags": ["x"]}, "`flags` are others than other_spelling, control_tokens"),
        ("letters", {"flags": "other_spelling"}, "`flags` are others"),
        ("letters", {"flags": [["other_spelling"]]}, "`flags` are others"),
        ("letters", {"refused": ""}, "`refused` gives no reason"),
        ("letters", {"again": {"why": 1}}, "`again` gives no reason"),
        ("likelihood", {"nll": [1]}, "`nll` has 1 numbers, not 2"),
        ("likelihood", {"nll": [1, -1]}, "`nll` has a value that cannot be"),
        ("likelihood", {"tokens": [1]}, "`tokens` are not 2 counts"),
        ("likelihood", {"tokens": [1, 0]}, "`tokens` are not 2 counts"),
        ("likelihood", {"tokens": [1, 1.5]}, "`tokens` are not 2 counts"),
        ("likelihood", {"tokens": [1, 1 << 40]}, "`tokens` are not 2 counts"),
        ("text", {"text": None}, "`text` is no text"),
        ("text", {"text": ["a"]}, "`text` is no text"),
        ("text", {"text": "\ud83d"}, "`text` has half a surrogate pair"),
        ("text", {"logprobs": [-1, 1]}, "`logprobs` has a value that cannot be"),
        ("text", {"logprobs": -1}, "`logprobs` has none numbers"),
        ("text", {"logprobs": [-1] * 3}, "`logprobs` are 3, of at most 2 tokens"),
        ("text", {"entropies": [1]}, "`entropies` has 1 numbers, not 2"),
        ("text", {"eos": 2}, "`eos` is no position of a token"),
        ("text", {"eos": True}, "`eos` is no position of a token"),
    ],
)  # fmt: skip
def test_an_answer_that_does_not_fit_its_question(output: str, changed: dict[str, Any], why: str) -> None:
    with pytest.raises(Broken, match=re.escape(why)):
        answered(output, **changed)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"ready": 2}, "its second line has no `ready`: 1 but 'ready', 'outputs'"),
        ({"outputs": []}, "`outputs` of ready is not a list of letters"),
        ({"outputs": ["letters", ["text"]]}, "`outputs` of ready"),
        ({"outputs": "letters"}, "`outputs` of ready"),
        ({"batch": 0}, "`batch` of ready is 0"),
        ({"batch": 1 << 80}, "`batch` of ready is 1208"),
        ({"device": "a\nb"}, "`device` of ready is no short text"),
        ({"device": None}, "`device` of ready"),
        ({"probe": {"prompt": "x" * (1 << 17)}}, "`probe` of ready is not {prompt, letters}"),
        ({"probe": {"prompt": "x", "letters": {"A": [-1]}}}, "`probe` of ready"),
        ({"probe": [1]}, "`probe` of ready"),
    ],
)
def test_a_driver_that_is_not_ready(changed: dict[str, Any], why: str) -> None:
    with pytest.raises(Broken, match=re.escape(why)):
        protocol.ready({**READY, **changed})


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({}, "its first line has no `versions` but nothing"),
        (READY, "its first line has no `versions` but 'ready'"),
        ({"versions": ["torch"]}, "its first line has no `versions`"),
        ({"versions": {"torch": 2}}, "`versions` is no mapping from packages"),
        ({"versions": {"torch": "2" * 200}}, "`versions` is no mapping from packages"),
        ({"versions": {f"p{n}": "1" for n in range(5001)}}, "`versions` is no mapping from packages"),
    ],
)
def test_a_first_line_without_versions(message: dict[str, Any], why: str) -> None:
    with pytest.raises(Broken, match=re.escape(why)):
        protocol.versions(message)


def test_a_reason_is_one_line_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hf_0123456789")
    reason = answered("letters", refused="no\n\x1b[31mred hf_0123456789 " + "x" * 900)[0]
    assert isinstance(reason, Refusal) and len(reason.problem) == 500
    assert reason.problem.startswith("no \N{REPLACEMENT CHARACTER}[31mred [SOME_API_KEY] xxx")

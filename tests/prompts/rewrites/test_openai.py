"""A server as rewriter, over real HTTP on this machine; its answers are written by the test."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.models.loopback_server import Loopback, Reply, error
from tests.prompts.rewrites.conftest import KEY, Project, completion, item, words
from tests.refusals import refused
from vouch.prompts.rewrites.table import instruction

COLOUR = "What colour is the circle?"
ANSWERS = {
    "instructions": '"Name the colour of the circle."',
    "negating": "A: What colour is the circle not?\nQ: And something else?",
    "questions. Keep": "What colour is the circle?",
}


def kind_of(request: dict[str, Any]) -> str:
    told = request["messages"][0]["content"]
    return next(word for word in ANSWERS if word in told)


def good(request: dict[str, Any], _number: int) -> Reply:
    return completion(ANSWERS[kind_of(request)])


@pytest.fixture
def toy(asking: Project, server: Loopback) -> Project:
    server.instead = good
    asking.items(item("a", COLOUR))
    return asking


def test_what_is_asked_and_what_comes_of_it(toy: Project, server: Loopback) -> None:
    rows = toy.rows()
    assert words(rows) == {
        (COLOUR, "lr_i"): "Name the colour of the circle.",
        (COLOUR, "ls_n"): "What colour is the circle not?",
    }
    assert all(row["rewriter"].startswith("openai/1 writer ") for row in rows)
    request = next(one for one in server.requests if kind_of(one) == "instructions")
    assert (request["temperature"], request["max_tokens"], request["model"]) == (0, 256, "llama")
    told = request["messages"][0]["content"]
    assert [one["role"] for one in request["messages"]] == ["user"]
    assert told.startswith(instruction("lr_i").head) and told.endswith(f'Q: "{COLOUR}"\nA:')
    assert (
        'Q: "Which pants’ fit is more regular?"\nA: "Determine which pants’ fit is more regular."\n' in told
    )
    assert set(server.keys) == {KEY}
    assert toy.measures["rewriter"]["asked"] == 2 and toy.measures["rewriter"]["input_tokens"] == 200


def test_nothing_is_asked_twice(toy: Project, server: Loopback) -> None:
    first = toy.rows()
    toy.variations = ["ls_n+vs_s", "lr_i"]
    toy.items(item("a", COLOUR), item("other", COLOUR))
    toy.decide(f"{COLOUR},lr_i,reject,")
    assert [row for row in toy.rows() if row["kind"] == "ls_n"] == [
        row for row in first if row["kind"] == "ls_n"
    ]
    assert len(server.requests) == 2 and toy.measures["rewriter"] == {"asked": 0}
    assert toy.notes["rewriter"] == first[0]["rewriter"]
    toy.decide()
    toy.rewrite["max_tokens"] = 100
    toy.rows()
    assert len(server.requests) == 4, "another cap may be another answer"


def test_decided_questions_are_not_asked(toy: Project, server: Loopback) -> None:
    toy.decide(f"{COLOUR},lr_i,reject,", f"{COLOUR},ls_n,accept,What colour is it not?")
    toy.rows()
    assert server.requests == []


BAD: list[tuple[Callable[..., Reply], str]] = [
    (lambda request, number: completion("Circle. The circle is red."), "has several sentences"),
    (lambda request, number: completion("Sure! What?"), "says more than it should (Sure)"),
    (lambda request, number: completion(COLOUR, "length"), "longer than rewrite.max_tokens"),
    (lambda request, number: completion(None, "content_filter"), "content filter"),
    (lambda request, number: error(400, "no"), "the server turned the request down (400: no)"),
]


@pytest.mark.parametrize(("reply", "said"), BAD)
def test_a_bad_answer_is_rejected_with_its_reason_and_remembered(
    toy: Project, server: Loopback, reply: Callable[..., Reply], said: str
) -> None:
    server.instead = reply
    rows = toy.rows()
    assert [row["status"] for row in rows] == ["rejected"] * 2 and all(said in row["reason"] for row in rows)
    assert [row["variation"] for row in toy.prompts()] == ["original"], "never the original in its place"
    toy.rows()
    assert len(server.requests) == 2


def test_a_passing_trouble_fails_the_stage_and_keeps_the_rest(toy: Project, server: Loopback) -> None:
    server.instead = lambda request, number: (
        error(503, "busy") if kind_of(request) == "negating" else good(request, number)
    )
    with refused(r"writer: no answer to 1 of 2 questions.*503: busy.*run the stage again"):
        toy.rows()
    assert not Path("data/rewrites/toy.parquet").exists()
    server.instead = good
    assert len(words(toy.rows())) == 2
    assert [kind_of(one) for one in server.requests].count("instructions") == 1


def test_a_server_that_turns_everything_down_is_at_fault(
    toy: Project, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else all rewrites would be rejected for good, and nobody told."""
    monkeypatch.setenv("VOUCH_SERVER_CONCURRENCY", "3")
    server.instead = lambda request, number: error(403, "not in your country")
    toy.items(*(item(f"i{k}", f"What colour is circle {k}?") for k in range(20)))
    with refused(r"answers no question: the server turned .*403.*mend the server"):
        toy.rows()
    assert not Path("data/rewrites/toy.parquet").exists()
    server.instead = good
    toy.rows()
    assert toy.measures["rewriter"]["asked"] == 40, "nothing of it was remembered"

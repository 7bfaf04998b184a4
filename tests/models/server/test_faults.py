"""Servers that fail, refuse or never end: what is tried again, what is recorded, what ends the run."""

import gzip
import math
import re
import socket
import threading
import time
from collections import Counter
from dataclasses import replace
from email.utils import formatdate
from typing import Any

import pytest

from tests.models.loopback_server import NAME, Loopback, Reply, StandIn, error, http, raw, serving
from tests.models.server.asked import KEY, by_question, engine, letters, questions
from tests.refusals import refused
from vouch.models.engine import Answered, Decoding, LetterAnswer, Pack, Refusal, TextAnswer
from vouch.models.server.client import MAX_BODY, ServerSettings, error_message, retry_after
from vouch.models.server.engine import ENOUGH, UNSUPPORTED_AFTER, ServerEngine
from vouch.models.server.problems import is_about_question, largest_allowed
from vouch.models.unsupported import NO_LOGPROBS
from vouch.pipeline.errors import UserError

ABOUT, NEVER, PASSING = "about the question", "tried once", "tried again"


def _spoil(change: Any) -> Any:
    """An edit of the first answer only."""
    left = [change]

    def edit(answer: dict[str, Any]) -> None:
        if left:
            left.pop()(answer)

    return edit


def _position(answer: dict[str, Any]) -> dict[str, Any]:
    first: dict[str, Any] = answer["choices"][0]["logprobs"]["content"][0]
    return first


EDITS = {
    "no choices": lambda answer: answer["choices"].clear(),
    "no logprobs": lambda answer: answer["choices"][0].update(logprobs=None),
    "nan": lambda answer: _position(answer)["top_logprobs"][3].update(logprob=math.nan),
    "infinite": lambda answer: _position(answer)["top_logprobs"][3].update(logprob=math.inf),
    "positive": lambda answer: _position(answer)["top_logprobs"][3].update(logprob=0.5),
    "more than one": lambda answer: [one.update(logprob=-1.0) for one in _position(answer)["top_logprobs"]],
    "no number": lambda answer: _position(answer)["top_logprobs"][0].update(logprob="?"),
}
REPLIES = {
    "429": error(429, "slow down"),
    "429 with a wait": error(429, "slow down", retry_after="0.01"),
    "500": Reply(500, "<html>oops</html>"),
    "503": error(503, "overloaded", retry_after="0"),
    "cut": Reply(200, '{"choices": [', cut=True),
    "cut error": Reply(502, "bad gat", cut=True),
    "not JSON": Reply(200, "<html>welcome</html>"),
    "half JSON": Reply(200, '{"choices": ['),
    "list": Reply(200, "[1]"),
}


@pytest.fixture(scope="module")
def sound() -> dict[str, Any]:
    """The answers of a server without faults."""
    with serving(StandIn()) as running:
        return by_question(engine(running).answer(letters(questions(2))))


@pytest.mark.parametrize("fault", [*EDITS, *REPLIES])
def test_a_fault_is_tried_again_and_changes_no_answer(
    server: Loopback, sound: dict[str, Any], fault: str
) -> None:
    asked = letters(questions(2))
    if fault in EDITS:
        server.edit = _spoil(EDITS[fault])
    else:
        server.instead = lambda request, number: REPLIES[fault] if number == 1 else None
    tested = engine(server)
    assert by_question(tested.answer(asked)) == sound
    assert (tested.notes["requests"], tested.notes["retries"]) == (3, 1)


def test_after_the_last_try_the_question_is_refused_and_the_rest_goes_on(server: Loopback) -> None:
    asked = questions(6)
    server.instead = lambda request, number: (
        error(500, "poison") if asked[2].text in str(request["messages"]) else None
    )
    tested = engine(server, tries=3)
    answers = by_question(tested.answer(letters(asked)))
    poisoned = [one.id for one in asked if asked[2].text in one.text]
    assert {name for name, one in answers.items() if isinstance(one, Refusal)} == set(poisoned)
    fails = "the server fails at this question and answers others (500: poison, after 3 tries)"
    assert answers["q2"] == Refusal(fails)
    assert tested.notes["retries"] == 2 * len(poisoned)


def test_a_wait_that_is_too_long_is_not_waited_for(server: Loopback) -> None:
    server.instead = lambda request, number: error(429, "come back tomorrow", retry_after="40000")
    assert by_question(engine(server).answer(letters(questions(1)))) == {
        "q0": Refusal("429: come back tomorrow, after 1 try", transient=True)
    }
    assert retry_after({"retry-after": "1.5"}) == 1.5
    assert 50 < retry_after({"retry-after": formatdate(time.time() + 60, usegmt=True)}) <= 60
    no_date = "Mon, 01 Jan 2024 00:00:00 +99999999999999"
    assert [retry_after({"retry-after": odd}) for odd in ("", "soon", "-3", no_date)] == [0] * 4


def test_an_answer_that_never_comes_is_given_up(server: Loopback) -> None:
    over = threading.Event()
    server.instead = lambda request, number: (over.wait(30) and None) or error(500, "late")
    try:
        answers = by_question(engine(server, tries=2, timeout=0.2).answer(letters(questions(1))))
    except UserError as fatal:  # it was never reached at all
        assert "no answer within 0.2 s, after 2 tries" in str(fatal)
    else:
        raise AssertionError(answers)
    finally:
        over.set()


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (error(401, "Incorrect API key provided: sk-se***789"), "set VOUCH_SERVER_KEY_"),
        (error(404, "The model `tiny-llava` does not exist"), "correct source.name or source.url"),
        (error(400, "tiny-llava is no model", "model_not_found"), "correct source.name or source.url"),
        (error(429, "You exceeded your current quota", "insufficient_quota"), "the quota is used up"),
        (error(402, "Insufficient credits"), "the quota is used up"),
    ],
)
def test_what_no_question_survives_ends_the_run_and_keeps_what_was_answered(
    server: Loopback, reply: Reply, message: str
) -> None:
    server.instead = lambda request, number: reply if number > 3 else None
    tested, kept = engine(server, concurrency=1), []
    with refused(message):
        for answered in tested.answer(letters(questions(9))):
            kept.append(answered.question)
    assert kept == ["q0", "q1", "q2"] and len(server.requests) == 4
    assert tested.notes["requests"] == 4 and tested.notes["retries"] == 0


def test_a_server_that_is_not_there_ends_the_run() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    tested = ServerEngine(url, NAME, ServerSettings(tries=2, backoff=0.001))
    with refused(r"the connection failed \(ConnectError\), after 2 tries"):
        by_question(tested.answer(letters(questions(3))))


ERRORS = [
    (ABOUT, 400, "request (4031 tokens) exceeds the available context size (1024 tokens), try increasing it"),
    (ABOUT, 500, "input is too large to process. increase the physical batch size"),
    (ABOUT, 400, "This model's maximum context length is 8192 tokens. However, you requested 9001 tokens"),
    (ABOUT, 400, "The decoder prompt (length 4039) is longer than the maximum model length of 2048."),
    (ABOUT, 422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000"),
    (ABOUT, 400, "The input (5000 tokens) is longer than the model's context length (4096 tokens)."),
    (ABOUT, 400, "The input token count (40000) exceeds the maximum number of tokens allowed (32768)."),
    (ABOUT, 400, "prompt is too long: 210000 tokens > 200000 maximum"),
    (ABOUT, 400, "Trying to keep the first 4000 tokens when context the overflows. However, the model is loaded"),
    (ABOUT, 413, "413 Request Entity Too Large"),
    (ABOUT, 429, "Request too large for gpt-4o in organization o on tokens per min: Limit 30000, Requested 52000"),
    (ABOUT, 400, "The response was filtered due to the prompt triggering content management policy"),
    (NEVER, 500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    (NEVER, 500, "this model is missing data required for image input"),
    (NEVER, 500, "Failed to load image or audio file"),
    (NEVER, 500, "Conversation roles must alternate user/assistant/user/assistant/..."),
    (NEVER, 404, "No endpoints found that support image input"),
    (NEVER, 404, "No endpoints found that support image resolution 64x64"),
    (NEVER, 501, "This server does not do this"),
    (NEVER, 400, "At most 1 image(s) may be provided in one request."),
    (NEVER, 400, "Invalid content type. image_url is only supported by certain models."),
    (PASSING, 500, "CUDA out of memory. Tried to allocate 2.00 GiB"),
    (PASSING, 500, "the context window is busy, try again"),
    (PASSING, 500, "Internal Server Error"),
    (PASSING, 429, "Rate limit reached for gpt-4o on tokens per min: Limit 30000, Used 29000, Requested 1500"),
    (PASSING, 503, "Loading model"),
    (PASSING, 503, "images are not supported while the model is loading"),
]  # fmt: skip


def test_what_cannot_succeed_is_tried_once(server: Loopback) -> None:
    """As llama.cpp, vLLM, TGI, SGLang, Ollama, OpenRouter, LM Studio and hosts put it, beside good questions."""
    failing = [replace(questions(1)[0], id=f"e{n}", text=f"error number {n} .") for n in range(len(ERRORS))]

    def number(request: dict[str, Any]) -> int | None:
        found = re.search(r"error number (\d+)", str(request["messages"]))
        return int(found[1]) if found else None

    def instead(request: dict[str, Any], _: int) -> Reply | None:
        return None if (index := number(request)) is None else error(*ERRORS[index][1:])

    server.instead = instead
    answers = by_question(engine(server, tries=2).answer(letters([*questions(2), *failing])))
    assert all(isinstance(answers[one], LetterAnswer) for one in ("q0", "q1"))
    tries = Counter(map(number, server.requests))
    for index, (kind, status, says) in enumerate(ERRORS):
        answer = answers[f"e{index}"]
        assert tries[index] == (2 if kind is PASSING else 1), says
        assert isinstance(answer, Refusal) and f"{status}: {says[:40]}" in answer.problem
        assert kind is PASSING or is_about_question(answer.problem) == (kind is ABOUT), says


def test_a_server_that_breaks_is_not_the_questions_fault(server: Loopback) -> None:
    """From the fourth request on it answers none, also none that it has answered before."""
    server.instead = lambda request, number: (
        error(500, "CUDA error: unspecified launch failure") if number > 3 else None
    )
    answers = list(engine(server, tries=2, concurrency=1).answer(letters(questions(6))))
    assert [isinstance(one.answer, LetterAnswer) for one in answers] == [True] * 3 + [False] * 3
    assert all(one.answer.transient for one in answers[3:] if isinstance(one.answer, Refusal))


def test_a_question_that_hangs_does_not_stop_the_others(server: Loopback) -> None:
    """The first one: until then nothing has come from the server."""
    asked, over = questions(4), threading.Event()
    server.instead = lambda request, number: (
        over.wait(20) and None if asked[0].text in str(request["messages"]) else None
    )
    try:
        answers = by_question(engine(server, tries=1, timeout=1.0, concurrency=1).answer(letters(asked)))
    finally:
        over.set()
    assert answers["q0"] == Refusal("no answer within 1 s, after 1 try", transient=True)
    assert all(isinstance(answers[one.id], LetterAnswer) for one in asked[1:])


def test_a_server_that_fails_time_and_again_ends_the_run(server: Loopback) -> None:
    server.instead = lambda request, number: error(500, "broken")
    given = list[Any]()
    with refused("answers no question: 500: broken"):
        for answered in engine(server, tries=1).answer(letters(questions(ENOUGH + 9))):
            given.append(answered.answer)
    assert len(given) == ENOUGH and all(one.transient for one in given)


def test_a_server_without_logprobs_is_asked_for_texts_alone(server: Loopback) -> None:
    server.edit = EDITS["no logprobs"]
    answers = by_question(engine(server, tries=1, concurrency=1).answer(letters(questions(ENOUGH))))
    assert len(server.requests) == UNSUPPORTED_AFTER, "the others are not asked"
    assert len(answers) == ENOUGH and {one.problem for one in answers.values()} == {NO_LOGPROBS}
    asked = [Pack("text", [one]) for one in questions(3, max_tokens=4, decodings=[Decoding(0.7, 1, 9)])]
    mixed = by_question(engine(server, tries=1).answer([*letters(questions(9))[3:], *asked]))
    assert all(isinstance(mixed[one.questions[0].id], TextAnswer) for one in asked)
    assert all(mixed[f"q{n}"].logprobs is None and mixed[f"q{n}"].text for n in range(3))
    assert all(mixed[f"q{n}"] == Refusal(NO_LOGPROBS, unsupported=True) for n in range(3, 9))


def test_a_question_that_is_turned_down_is_refused_for_good(server: Loopback) -> None:
    asked = questions(5)
    server.instead = lambda request, number: error(400, "bad image") if number == 1 else None
    answers = by_question(engine(server, concurrency=1).answer(letters(asked)))
    assert answers["q0"] == Refusal("the server turned the request down (400: bad image)")
    assert all(isinstance(answers[one.id], LetterAnswer) for one in asked[1:])


def test_when_all_are_turned_down_the_server_is_at_fault(server: Loopback) -> None:
    server.instead = lambda request, number: error(400, "no images here")
    few = by_question(engine(server).answer(letters(questions(3))))
    assert len(few) == 3 and all(one.transient for one in few.values())
    given: list[Answered] = []
    with refused(r"answers no question: .*no images here"):
        given.extend(engine(server).answer(letters(questions(ENOUGH + 3))))
    assert given == []
    server.edit = lambda answer: answer["choices"][0].update(finish_reason="content_filter")
    server.instead = lambda request, number: error(400, "bad image") if number < 9 else None
    server.requests.clear()
    withheld = by_question(engine(server, concurrency=1).answer(letters(questions(9))))
    assert len(withheld) == 9 and not any(one.transient for one in withheld.values())
    server.instead = lambda request, number: error(400, "maximum context length is 9 tokens")
    long = by_question(engine(server).answer(letters(questions(3))))
    assert len(long) == 3 and not any(one.transient for one in long.values())


def test_what_servers_say_is_understood() -> None:
    assert largest_allowed("'top_logprobs': integer above maximum. Expected <= 5, but got 20", 20) == 5
    for said, allowed in [
        ("Requested sample logprobs of 20, which is greater than max allowed: 8", 8),
        ("error 17: top_logprobs must be at most 5", 5),
        ("top_logprobs: must be less than or equal to 10 (id 12)", 10),
        ("model-7b: 4 of top_logprobs, the maximum is 3", 3),
    ]:
        assert largest_allowed(said, 20) == allowed
    steps = [20]
    while step := largest_allowed("req-19 of model-7b: too many logprobs", steps[-1]):
        steps.append(step)
    assert steps == [20, 5, 1]
    assert largest_allowed("at most 5 images", 20) is None
    assert error_message('{"detail": "no\\n such"}') == ("no such", [])
    assert error_message('{"error": {"message": "m", "code": "c", "type": "t"}}') == ("m", ["c", "t"])
    assert error_message("<b>\x1b[31m") == ("<b>[31m", [])
    assert is_about_question("This model's maximum context length is 8 tokens")
    assert not is_about_question("no images here")


@pytest.mark.parametrize(
    ("answer", "piece", "pause", "says"),
    [
        (http(b" " * 999), 1, 0.1, "no answer within 0.5 s"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 99, 6, 0.1, "no answer within 0.5 s"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 99, 25, 0.1, "no answer within 0.5 s"),
        (http(gzip.compress(b" " * 9999), "Content-Encoding: gzip"), 1 << 20, 0, r"\(AnswerCompressed\)"),
        (http(b" " * (MAX_BODY + 1)), 1 << 20, 0, r"\(AnswerTooLarge\)"),
    ],
)
def test_a_server_that_never_comes_to_an_end(answer: bytes, piece: int, pause: float, says: str) -> None:
    for url, _ in raw(answer, piece, pause):
        settings = ServerSettings(key=KEY, backoff=0.001, tries=1, timeout=0.5 if pause else 60)
        tested = ServerEngine(url, NAME, settings)
        with refused(rf"answers no question: .*{says}, after 1 try"):
            list(tested.answer(letters(questions(1))))


def test_questions_go_to_no_other_address(server: Loopback) -> None:
    elsewhere = http(b"", f"Location: {server.url}/chat/completions?{KEY}", status="307 Elsewhere")
    for url, callers in raw(elsewhere):
        tested = ServerEngine(url, NAME, ServerSettings(key=KEY, backoff=0.001))
        with refused(r"307, sends its questions elsewhere .*correct source\.url") as told_:
            list(tested.answer(letters(questions(1))))
        assert callers == [1] and not server.requests and KEY not in str(told_.value)

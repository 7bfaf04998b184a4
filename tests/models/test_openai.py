"""The openai engine against a real HTTP server that runs a real tiny model."""

import base64
import gzip
import io
import json
import math
import random
import socket
import threading
import time
import traceback
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from PIL import Image

from tests.models.loopback_server import NAME, Loopback, Reply, TinyModel, answer_body, error, serving
from tests.models.project import DATASET, MODEL, Project, prompt
from tests.models.project import image as png
from tests.models.raw_server import http, raw
from tests.models.tiny import sentence
from tests.refusals import refused
from vouch.models.config import Config
from vouch.models.engine import (
    Answered,
    Decoding,
    LetterAnswer,
    LikelihoodAnswer,
    Pack,
    Question,
    Refusal,
    TextAnswer,
    engine_kind,
)
from vouch.models.server.client import MAX_BODY, error_message, retry_after
from vouch.models.server.completions import (
    completion,
    is_about_question,
    largest_allowed,
    text,
)
from vouch.models.server.engine import ENOUGH, SILENT, ServerEngine, data_url
from vouch.models.server.settings import OPENAI, Settings, read_settings
from vouch.pipeline.errors import UserError
from vouch.tables.answered import Pin, Source, text_path

KEY = "sk-secret/of+the+test=0123456789"
CONFIG = Config(batch=4, bucket=8, threads=1, device="cpu")


def engine(server: Loopback, **settings: Any) -> ServerEngine:
    return ServerEngine(server.url, NAME, Settings(key=KEY, backoff=0.001, **settings))


def image(seed: int, size: tuple[int, int] = (40, 24)) -> Image.Image:
    return Image.frombytes("RGB", size, random.Random(seed).randbytes(3 * size[0] * size[1]))


def questions(count: int, labels: str = "ABCD", **more: Any) -> list[Question]:
    rng = random.Random(1)
    shown = [image(seed) for seed in range(3)]
    return [
        Question(f"q{n}", None, sentence(rng, 2 + n % 7), labels=labels, images=[shown[n % 3]], **more)
        for n in range(count)
    ]


def letters(asked: list[Question]) -> list[Pack]:
    return [Pack("letters", [one]) for one in asked]


def told(answers: Iterator[Answered]) -> dict[str, Any]:
    return {one.question: one.answer for one in answers}


def truth(model: TinyModel, question: Question) -> dict[str, float]:
    """Log-probability of every spelling's token, from the model itself."""
    content = [{"type": "image"}] * len(question.images) + [{"type": "text", "text": question.text}]
    prompt = model.render([{"role": "user", "content": content}])
    return dict(zip(model.names, model.next(prompt, list(question.images), []), strict=True))


def spelled(row: dict[str, float], label: str) -> list[float]:
    return [row[name] for name in (label, f" {label}", f"{label}.") if name in row]


@pytest.mark.parametrize("most", [20, 6])
def test_letters_are_the_models_own_and_what_is_left_out_lies_within_its_bounds(
    server: Loopback, most: int
) -> None:
    server.most = most
    asked = questions(14, labels="ABCDEFGH")
    tested = engine(server)
    answers = {one.question: one for one in tested.answer(letters(asked))}
    seen, censored, several = 0, 0, 0
    for question in asked:
        row = truth(server.model, question)
        answer = answers[question.id].answer
        assert isinstance(answer, LetterAnswer)
        returned = dict(sorted(row.items(), key=lambda item: -item[1])[:most])
        assert answer.nll == pytest.approx(-max(row.values()), abs=1e-12)
        for place, label in enumerate(question.labels):
            whole = math.fsum(map(math.exp, spelled(row, label)))
            parts = spelled(returned, label)
            if parts:
                value = math.fsum(map(math.exp, parts))
                assert answer.logits[place] == pytest.approx(math.log(value), abs=1e-12)
                assert answer.upper is None or answer.upper[place] == answer.logits[place]
                assert value <= whole + 1e-12
                seen, several = seen + 1, several + (len(parts) > 1)
            else:
                assert answer.logits[place] == -math.inf
                assert answer.upper is not None and math.log(whole) <= answer.upper[place]
                assert answer.upper[place] <= math.log(3 * min(map(math.exp, returned.values()))) + 1e-9
                censored += 1
        assert ("censored" in answers[question.id].flags) == (-math.inf in answer.logits)
        found = [returned[name] for name in returned if name.strip() == "("]
        assert answer.bracket_mass == (pytest.approx(math.exp(found[0])) if found else None)
        assert answer.letter_mass is not None
        assert answer.letter_mass == pytest.approx(math.fsum(map(math.exp, answer.logits)))
        assert ("low_mass" in answers[question.id].flags) == (answer.letter_mass < 0.5)
    assert seen > 9 and censored > 9 and (several > 0 or most < 20)
    assert tested.notes["top_logprobs"] == most
    assert tested.notes["models"] == {NAME: 14} and tested.notes["fingerprints"] == ["fp_tiny"]


def test_system_turns_marks_and_begun_answer_reach_the_model(server: Loopback) -> None:
    first, second = image(1), image(2, (24, 40))
    question = Question(
        "q",
        "be brief",
        "and <image 1> here",
        turns=[("what is <image 2>", "a cat")],
        response="the",
        labels="AB",
        images=[first, second],
    )
    (answered,) = engine(server).answer([Pack("letters", [question])])
    assert isinstance(answered.answer, LetterAnswer)

    def words(role: str, *parts: str | None) -> dict[str, Any]:
        content = [{"type": "image"} if part is None else {"type": "text", "text": part} for part in parts]
        return {"role": role, "content": content}

    prompt = server.model.render(
        [
            words("system", "be brief"),
            words("user", "what is ", None),
            words("assistant", "a cat"),
            words("user", "and ", None, " here"),
        ],
        " the",
    )
    row = server.model.next(prompt, [second, first], [])
    assert answered.answer.nll == pytest.approx(-max(row), abs=1e-12)
    bad = Question("q", None, "<image 2>", labels="AB", images=[first])
    assert "image placeholders [2]" in told(engine(server).answer([Pack("letters", [bad])]))["q"].problem


def test_a_image_is_sent_as_its_pixels_alone() -> None:
    plain = image(3)
    tagged = plain.copy()
    tagged.info = {"icc_profile": b"profile", "dpi": (72, 72)}
    assert data_url(tagged) == data_url(plain)
    back = Image.open(io.BytesIO(base64.b64decode(data_url(tagged).partition(",")[2])))
    assert back.tobytes() == plain.tobytes() and back.mode == "RGB" and "icc_profile" not in back.info


@pytest.mark.parametrize("eos", [True, False])
def test_text_has_the_tokens_logprobs_and_end_of_the_model(server: Loopback, eos: bool) -> None:
    server.eos = eos
    decodings = [Decoding(), *(Decoding(1.5, n, random.Random(n).getrandbits(64)) for n in (1, 2))]
    asked = questions(5, max_tokens=8, decodings=decodings)
    ended = 0
    answers = {
        (one.question, one.decoding): one
        for one in engine(server).answer(Pack("text", [one]) for one in asked)
    }
    assert len(answers) == len(asked) * len(decodings)
    for question in asked:
        content = [{"type": "image"}, {"type": "text", "text": question.text}]
        prompt = server.model.render([{"role": "user", "content": content}])
        for decoding in decodings:
            said, steps = server.model.generate(
                prompt, list(question.images), 8, decoding.temperature, decoding.seed >> 11
            )
            answer = answers[question.id, decoding].answer
            assert isinstance(answer, TextAnswer) and answer.entropies is None
            stopped = said[-1] in server.model.ends
            ended += stopped
            logprobs = [row[token] for token, row in zip(said, steps, strict=True)]
            assert list(answer.logprobs) == logprobs[: len(said) - (stopped and not eos)]
            assert answer.eos == (len(said) - 1 if stopped else None)
            assert answer.text == "".join(server.model.names[token] for token in said[: len(said) - stopped])
    assert 0 < ended < len(answers)


@pytest.mark.parametrize(
    ("content", "tokens", "eos"),
    [
        ("A.", ["A", "."], 2),
        ("A.", ["A", ".", "</s>"], 2),
        ("A.", ["A", ".", ""], 2),
        ("A cat", [" A", " cat"], 2),
        ("A", ["A", "\n"], 2),
        ("\u597d", ["bytes:\\xe5\\xa5", "bytes:\\xbd"], 2),
        (None, [], 0),
        ("", ["<end>"], 0),
    ],
)
def test_the_end_of_a_text_is_found(content: str | None, tokens: list[str], eos: int) -> None:
    answer = text(completion(answer_body({"content": content}, tokens)))
    assert isinstance(answer, TextAnswer) and answer.eos == eos and answer.text == (content or "")
    assert len(answer.logprobs) == len(tokens)


@pytest.mark.parametrize(
    ("content", "tokens", "counted", "eos"),
    [
        (
            "\U0001f600 or \u597d.",
            ["\U0001f600", " or", " \u597d", ".", ""],
            9,
            4,
        ),  # llama.cpp: one for the pieces
        ("\U0001f984\U0001f984", ["\U0001f984", "\U0001f984"], 8, None),
        (" A \U0001f468\u200d\U0001f469", [" A", " \U0001f468\u200d", "\U0001f469", "</s>"], 12, 3),
        ("A \U0001f984", ["A", " \U0001f984"], 9, None),  # cut within a character, which is left out
    ],
)
def test_one_logprob_for_the_pieces_of_a_character(
    content: str, tokens: list[str], counted: int, eos: int | None
) -> None:
    body = answer_body({"content": content}, tokens, "length" if eos is None else "stop", counted)
    answer = text(completion(body))
    assert isinstance(answer, TextAnswer) and answer.text == content and answer.eos == eos
    assert answer.logprobs == [-float(n) for n in range(len(tokens))]


def test_a_text_with_too_few_logprobs_has_none() -> None:
    few = text(completion(answer_body({"content": "A cat sat on a mat"}, ["A", " cat"], "length", counted=9)))
    assert few == TextAnswer("A cat sat on a mat", None, None, None)
    bare = text(completion(answer_body({"content": "A cat"}, [])))
    assert bare == TextAnswer("A cat", None, None, None), "a server that tells none"
    withheld = text(completion(answer_body({"content": None}, [], "content_filter")))
    assert isinstance(withheld, Refusal) and "filter" in withheld.problem


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
def sound(served: TinyModel) -> dict[str, Any]:
    """The answers of a server without faults."""
    with serving(served) as running:
        return told(engine(running).answer(letters(questions(2))))


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
    assert told(tested.answer(asked)) == sound
    assert (tested.notes["requests"], tested.notes["retries"]) == (3, 1)


def test_after_the_last_try_the_question_is_refused_and_the_rest_goes_on(server: Loopback) -> None:
    asked = questions(6)
    server.instead = lambda request, number: (
        error(500, "poison") if asked[2].text in str(request["messages"]) else None
    )
    tested = engine(server, tries=3)
    answers = told(tested.answer(letters(asked)))
    poisoned = [one.id for one in asked if asked[2].text in one.text]
    assert {name for name, one in answers.items() if isinstance(one, Refusal)} == set(poisoned)
    fails = "the server fails at this question and answers others (500: poison, after 3 tries)"
    assert answers["q2"] == Refusal(fails)
    assert tested.notes["retries"] == 2 * len(poisoned)


def test_a_wait_that_is_too_long_is_not_waited_for(server: Loopback) -> None:
    server.instead = lambda request, number: error(429, "come back tomorrow", retry_after="40000")
    assert told(engine(server).answer(letters(questions(1)))) == {
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
        answers = told(engine(server, tries=2, timeout=0.2).answer(letters(questions(1))))
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
    tested = ServerEngine(url, NAME, Settings(tries=2, backoff=0.001))
    with refused(r"the connection failed \(ConnectError\), after 2 tries"):
        told(tested.answer(letters(questions(3))))


ABOUT, NEVER, PASSING = "about the question", "tried once", "tried again"


@pytest.mark.parametrize(
    ("status", "says", "kind"),
    [
        (
            400,
            "request (4031 tokens) exceeds the available context size (1024 tokens), try increasing it",
            ABOUT,
        ),
        (500, "input is too large to process. increase the physical batch size", ABOUT),
        (
            400,
            "This model's maximum context length is 8192 tokens. However, you requested 9001 tokens",
            ABOUT,
        ),
        (400, "The decoder prompt (length 4039) is longer than the maximum model length of 2048.", ABOUT),
        (
            422,
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000",
            ABOUT,
        ),
        (400, "The input (5000 tokens) is longer than the model's context length (4096 tokens).", ABOUT),
        (400, "The input token count (40000) exceeds the maximum number of tokens allowed (32768).", ABOUT),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", ABOUT),
        (
            400,
            "Trying to keep the first 4000 tokens when context the overflows. However, the model is loaded",
            ABOUT,
        ),
        (413, "413 Request Entity Too Large", ABOUT),
        (
            429,
            "Request too large for gpt-4o in organization o on tokens per min: Limit 30000, Requested 52000",
            ABOUT,
        ),
        (400, "The response was filtered due to the prompt triggering content management policy", ABOUT),
        (
            500,
            "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
            NEVER,
        ),
        (500, "this model is missing data required for image input", NEVER),
        (500, "Failed to load image or audio file", NEVER),
        (500, "Conversation roles must alternate user/assistant/user/assistant/...", NEVER),
        (404, "No endpoints found that support image input", NEVER),
        (501, "This server does not do this", NEVER),
        (400, "At most 1 image(s) may be provided in one request.", NEVER),
        (400, "Invalid content type. image_url is only supported by certain models.", NEVER),
        (500, "CUDA out of memory. Tried to allocate 2.00 GiB", PASSING),
        (500, "the context window is busy, try again", PASSING),
        (500, "Internal Server Error", PASSING),
        (
            429,
            "Rate limit reached for gpt-4o on tokens per min: Limit 30000, Used 29000, Requested 1500",
            PASSING,
        ),
        (503, "Loading model", PASSING),
        (503, "images are not supported while the model is loading", PASSING),
    ],
)
def test_what_cannot_succeed_is_tried_once(server: Loopback, status: int, says: str, kind: str) -> None:
    """As llama.cpp, vLLM, TGI, SGLang, Ollama, OpenRouter, LM Studio and hosts put it."""
    asked = questions(3)
    server.instead = lambda request, number: (
        error(status, says) if asked[0].text in str(request["messages"]) else None
    )
    answers = told(engine(server, tries=2).answer(letters(asked)))
    tries = [one for one in server.requests if asked[0].text in str(one["messages"])]
    assert len(tries) == (2 if kind is PASSING else 1)
    assert isinstance(answers["q0"], Refusal) and f"{status}: {says[:40]}" in answers["q0"].problem
    assert all(isinstance(answers[one], LetterAnswer) for one in ("q1", "q2"))
    if kind is not PASSING:
        assert is_about_question(answers["q0"].problem) == (kind is ABOUT)


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
        answers = told(engine(server, tries=1, timeout=1.0, concurrency=1).answer(letters(asked)))
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
    with refused("answers no question: the server gives no log-probabilities, so no l"):
        told(engine(server, tries=1, concurrency=1).answer(letters(questions(ENOUGH))))
    assert len(server.requests) == SILENT, "the others are not asked"
    answers = told(engine(server, tries=1).answer(letters(questions(3))))
    assert all(one.transient for one in answers.values()), "nothing was answered: perhaps it is the server"
    asked = [Pack("text", [one]) for one in questions(3, max_tokens=4, decodings=[Decoding(0.7, 1, 9)])]
    mixed = told(engine(server, tries=1).answer([*letters(questions(9))[3:], *asked]))
    assert all(isinstance(mixed[one.questions[0].id], TextAnswer) for one in asked)
    assert all(mixed[f"q{n}"].logprobs is None and mixed[f"q{n}"].text for n in range(3))
    assert all(
        not mixed[f"q{n}"].transient and "ask for texts" in mixed[f"q{n}"].problem for n in range(3, 9)
    )


def test_a_question_that_is_turned_down_is_refused_for_good(server: Loopback) -> None:
    asked = questions(5)
    server.instead = lambda request, number: error(400, "bad image") if number == 1 else None
    answers = told(engine(server, concurrency=1).answer(letters(asked)))
    assert answers["q0"] == Refusal("the server turned the request down (400: bad image)")
    assert all(isinstance(answers[one.id], LetterAnswer) for one in asked[1:])


def test_when_all_are_turned_down_the_server_is_at_fault(server: Loopback) -> None:
    server.instead = lambda request, number: error(400, "no images here")
    few = told(engine(server).answer(letters(questions(3))))
    assert len(few) == 3 and all(one.transient for one in few.values())
    given: list[Answered] = []
    with refused(r"answers no question: .*no images here"):
        given.extend(engine(server).answer(letters(questions(ENOUGH + 3))))
    assert given == []
    server.edit = lambda answer: answer["choices"][0].update(finish_reason="content_filter")
    server.instead = lambda request, number: error(400, "bad image") if number < 9 else None
    server.requests.clear()
    withheld = told(engine(server, concurrency=1).answer(letters(questions(9))))
    assert len(withheld) == 9 and not any(one.transient for one in withheld.values())
    server.instead = lambda request, number: error(400, "maximum context length is 9 tokens")
    long = told(engine(server).answer(letters(questions(3))))
    assert len(long) == 3 and not any(one.transient for one in long.values())


@pytest.mark.parametrize(
    ("name", "other"),
    [
        (NAME, False),
        (f"{NAME}-2025-01-01", False),
        (f"{NAME}-0613", False),
        (f"{NAME}@20250101", False),
        (f"{NAME}-mini-2025-01-01", True),
        (f"{NAME}-06131", True),
        (f"{NAME}2", True),
        ("tiny", True),
        ("big-llava", True),
    ],
)
def test_another_model_is_flagged_and_noted(server: Loopback, name: str, other: bool) -> None:
    server.edit = lambda answer: answer.update(model=name)
    tested = engine(server)
    (answered,) = tested.answer(letters(questions(1)))
    assert ("other_model" in answered.flags) == other and tested.notes["models"] == {name: 1}
    (answered,) = tested.answer([Pack("text", questions(1, max_tokens=2, decodings=[Decoding()]))])
    assert ("other_model" in answered.flags) == other and tested.notes["models"] == {name: 2}


def test_as_many_requests_as_allowed_and_the_order_does_not_matter(server: Loopback) -> None:
    asked = letters(questions(12))
    one_by_one = list(engine(server, concurrency=1).answer(asked))
    assert server.peak == 1 and [one.question for one in one_by_one] == [f"q{n}" for n in range(12)]
    gate = threading.Barrier(3, timeout=20)

    def together(request: dict[str, Any], number: int) -> None:
        gate.wait()
        time.sleep(random.random() / 100)

    server.instead = together
    mixed = list(engine(server, concurrency=3).answer(asked))
    assert server.peak == 3
    assert sorted(mixed, key=lambda one: one.question) == sorted(one_by_one, key=lambda one: one.question)


def test_questions_are_drawn_no_sooner_than_they_are_asked(server: Loopback) -> None:
    drawn = 0

    def packs() -> Iterator[Pack]:
        nonlocal drawn
        for pack in letters(questions(20)):
            drawn += 1
            yield pack

    answers = engine(server, concurrency=4).answer(packs())
    assert drawn == 0
    for count, _ in enumerate(answers):
        assert drawn <= count + 4
    assert drawn == 20


def test_a_run_that_is_broken_off_leaves_nothing_behind(
    server: Loopback, capfd: pytest.CaptureFixture[str]
) -> None:
    answers = engine(server, concurrency=4).answer(letters(questions(20)))
    next(answers)
    threads = threading.active_count()
    answers.close()  # type: ignore[attr-defined]
    assert threading.active_count() <= threads
    assert len(server.requests) < 20 and capfd.readouterr().err == ""


def test_a_rate_spaces_the_requests(server: Loopback) -> None:
    start = time.monotonic()
    told(engine(server, rate=3000.0).answer(letters(questions(11))))
    assert time.monotonic() - start >= 10 * 60 / 3000


def test_tokens_and_cost_are_counted_as_the_server_does(server: Loopback) -> None:
    tested = engine(server, price_input=2.0, price_output=8.0)
    told(tested.answer(letters(questions(3))))
    notes = tested.notes
    assert notes["output_tokens"] == 3 and notes["input_tokens"] > 9
    assert notes["cost"] == pytest.approx((2 * notes["input_tokens"] + 8 * 3) / 1e6)
    assert "cost" not in engine(server).notes


ECHOES = {
    "raw": lambda: error(500, f"no {KEY} here"),
    "escaped": lambda: Reply(500, error(500, f"key={KEY}").body.replace("/", "\\/")),
    "turned down": lambda: error(400, f"Bearer {KEY} is odd"),
    "key": lambda: error(401, f"wrong key {KEY}"),
    "model": lambda: error(404, f"{KEY} may not use it"),
    "quota": lambda: error(429, f"{KEY} is empty", "insufficient_quota"),
    "body": lambda: Reply(200, f'{{"choices": "{KEY}"}}'),
    "cut": lambda: Reply(200, f'{{"{KEY}', cut=True),
}


@pytest.mark.parametrize("echo", ECHOES)
def test_the_key_is_sent_and_found_nowhere_else(
    server: Loopback, echo: str, capfd: pytest.CaptureFixture[str]
) -> None:
    server.instead = lambda request, number: ECHOES[echo]()
    tested = engine(server, tries=2)
    seen: list[Any] = []
    try:
        seen.extend(tested.answer(letters(questions(2))))
    except UserError as fatal:
        seen.append("".join(traceback.format_exception(fatal)))
    out, err = capfd.readouterr()
    everything = f"{seen} {tested.notes} {out} {err}"
    assert set(server.keys) == {KEY} and len(seen) > 0
    for secret in (KEY, KEY.replace("/", "\\/"), KEY[5:]):
        assert secret not in everything
    assert KEY not in repr(Settings(key=KEY))


def test_load_takes_the_key_of_the_model_before_the_common_one_and_sends_it_nowhere_else(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source(kind="server", url=server.url, name=NAME)
    pin = Pin(model="my_model", engine="openai", source=source, files={})
    file = engine_kind("openai")

    def sent() -> str:
        loaded = file.load(pin, CONFIG)
        assert loaded.device == "server" and len(list(loaded.answer(letters(questions(1))))) == 1
        return server.keys[-1]

    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, KEY)
    assert sent() == "none" and KEY not in str(server.headers)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    assert sent() == KEY
    assert [server.headers[-1][name] for name in ("openai-organization", "openai-project")] == [KEY, KEY]
    monkeypatch.setenv("VOUCH_SERVER_KEY_MY_MODEL", "own-key-1")
    assert sent() == "own-key-1"
    with refused("my_model: engine openai wants source"):
        file.load(pin.model_copy(update={"source": Source(kind="folder", path="x")}), CONFIG)


@pytest.mark.parametrize(
    ("url", "base", "key"),
    [
        ("https://api.openai.com/v1", None, "k"),
        ("https://api.openai.com.evil.org/v1", None, None),
        ("https://other.org/api.openai.com/v1", None, None),
        ("http://127.0.0.1:8000/v1", None, None),
        ("https://gateway.org/v1", "https://gateway.org/openai", "k"),
        ("https://gateway.org/v1", "https://other.org/v1", None),
    ],
)
def test_the_common_key_is_for_openai_alone(url: str, base: str | None, key: str | None) -> None:
    given = {"OPENAI_API_KEY": "k", "OPENAI_ORG_ID": "o", "OPENAI_PROJECT_ID": "p"}
    found = read_settings("m", url, given | ({"OPENAI_BASE_URL": base} if base else {}))
    assert (found.key, found.organization, found.project) == ((key, "o", "p") if key else (None, None, None))
    assert read_settings("m", url, {**given, "VOUCH_SERVER_KEY_M": "own"}).key == "own"


def test_a_key_is_not_sent_unencrypted_to_another_machine() -> None:
    given = {"VOUCH_SERVER_KEY_M": KEY}
    for host in ("localhost:8000", "127.0.0.2", "[::1]:8000"):
        assert read_settings("m", f"http://{host}/v1", given).key == KEY
    for host in ("10.0.0.2:8000", "localhost.evil.org", "127.0.0.1.evil.org"):
        assert read_settings("m", f"http://{host}/v1", {}).key is None
        with refused("VOUCH_SERVER_KEY_M would be sent unencrypted") as caught:
            read_settings("m", f"http://{host}/v1", given)
        assert KEY not in str(caught.value)


def test_settings_come_from_the_environment() -> None:
    assert read_settings("m", OPENAI, {}) == Settings()
    given = {
        "VOUCH_SERVER_CONCURRENCY": "4",
        "VOUCH_SERVER_RATE": "90.5",
        "VOUCH_SERVER_TRIES": "2",
        "VOUCH_SERVER_TIMEOUT": "7",
        "VOUCH_PRICE_INPUT": "0.15",
        "VOUCH_PRICE_OUTPUT": "0.6",
        "OPENAI_API_KEY": " k ",
    }
    assert read_settings("m", OPENAI, given) == Settings(
        key="k", concurrency=4, rate=90.5, tries=2, timeout=7.0, price_input=0.15, price_output=0.6
    )
    assert Settings(key="EMPTY").redact("EMPTY box") == "EMPTY box"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VOUCH_SERVER_CONCURRENCY", "0"),
        ("VOUCH_SERVER_CONCURRENCY", "2.5"),
        ("VOUCH_SERVER_RATE", "fast"),
        ("VOUCH_SERVER_TIMEOUT", "nan"),
        ("VOUCH_PRICE_INPUT", "1"),
        ("OPENAI_API_KEY", "two words"),
        ("VOUCH_SERVER_KEY_M", "schl\u00fcssel"),
    ],
)
def test_a_wrong_setting_names_its_variable(name: str, value: str) -> None:
    with refused(name) as caught:
        read_settings("m", OPENAI, {name: value})
    assert "KEY" not in name or value not in str(caught.value)


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


@pytest.fixture
def project(server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose model is the server, pinned; the key is in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(f"VOUCH_SERVER_KEY_{MODEL.upper()}", KEY)
    made = Project(tmp_path, tmp_path)
    made.entry = {"source": {"kind": "server", "url": server.url, "name": NAME}, "engine": "openai"}
    made.pin()
    return made


def test_a_whole_stage_asks_once_and_writes_no_key(
    server: Loopback, project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    data = png(1)
    asking = {"marks": "ABC", "outputs": ["letters", "text"]}
    rows = [
        prompt(f"i{n}/original", f"what is shown {n % 3} here", [data] * (n % 2), **asking) for n in range(4)
    ]
    project.ask(rows, [data])
    server.edit = lambda answer: answer.update(model=f"{NAME} {KEY}", system_fingerprint=KEY)
    server.instead = lambda request, number: error(500, f"not with {KEY}") if number == 1 else None
    run = project.extract()
    project.extract()
    assert len(server.requests) == 4 + 4 + 1
    told = run.measured["engine"]
    assert told["models"] == {f"{NAME} [key]": 8} and told["fingerprints"] == ["[key]"]
    answers = project.letters()
    assert [row["prompt"] for row in answers] == [f"i{n}/original" for n in range(4)]
    assert {(row["device"], row["mode"], row["problem"]) for row in answers} == {("server", None, None)}
    assert all(len(row["logits"]) == 3 for row in answers)
    texts = pq.read_table(text_path(MODEL, DATASET)).to_pylist()
    assert len(texts) == 4 and all(row["entropies"] is None and row["logprobs"] for row in texts)
    files = [path for name in ("data", ".vouch") for path in Path(name).rglob("*") if path.is_file()]
    assert len(files) > 5 and not any(KEY.encode() in path.read_bytes() for path in files)
    assert KEY not in f"{vars(run)} {capfd.readouterr()}"


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
        tested = ServerEngine(url, NAME, Settings(key=KEY, backoff=0.001, tries=1, timeout=0.5))
        with refused(rf"answers no question: .*{says}, after 1 try"):
            list(tested.answer(letters(questions(1))))


def test_questions_go_to_no_other_address(server: Loopback) -> None:
    elsewhere = http(b"", f"Location: {server.url}/chat/completions?{KEY}", status="307 Elsewhere")
    for url, callers in raw(elsewhere):
        tested = ServerEngine(url, NAME, Settings(key=KEY, backoff=0.001))
        with refused(r"307, sends its questions elsewhere .*correct source\.url") as told_:
            list(tested.answer(letters(questions(1))))
        assert callers == [1] and not server.requests and KEY not in str(told_.value)


def test_a_key_in_escapes_of_json_is_hidden() -> None:
    settings = Settings(key=KEY)
    escaped = "".join(f"\\u{ord(char):04X}" if char in "sk0" else char for char in KEY)
    assert settings.redact(f'{{"model": "{escaped}"}}') == '{"model": "[key]"}'
    assert settings.redact('"\\\\u0073 \\u0022 \\u00e4 \\u0020"') == '"\\\\u0073 \\u0022 \\u00e4 \\u0020"'


def test_what_a_server_says_of_itself_is_bounded(server: Loopback) -> None:
    numbers = iter(range(1000))

    def edit(answer: dict[str, Any]) -> None:
        answer["model"] = "m" * 5000
        answer["system_fingerprint"] = f"{next(numbers)}" * 300

    server.edit = edit
    tested = engine(server)
    list(tested.answer(letters(questions(3))))
    assert list(tested.notes["models"]) == ["m" * 200]
    assert all(len(one) == 200 for one in tested.notes["fingerprints"])


@pytest.mark.parametrize("tokens", [-1, 10**400])
def test_numbers_of_tokens_that_cannot_be(server: Loopback, tokens: int) -> None:
    server.edit = lambda answer: answer["usage"].update(prompt_tokens=tokens)
    tested = engine(server, tries=1, price_input=1.0, price_output=2.0)
    (answered,) = tested.answer(letters(questions(1)))
    assert isinstance(answered.answer, Refusal) and "usage.prompt_tokens" in answered.answer.problem


ODD = "this odd one"


def _top(answer: dict[str, Any], **changes: Any) -> None:
    for one in _position(answer)["top_logprobs"][2:]:
        one.update(changes)


def _legacy(answer: dict[str, Any]) -> None:
    """As a text completion has them."""
    logprobs = {"tokens": ["A"], "token_logprobs": [-0.1], "top_logprobs": [{"A": -0.1}], "text_offset": [0]}
    answer["choices"][0]["logprobs"] = logprobs


def _empty(answer: dict[str, Any]) -> None:
    answer["choices"][0].update(logprobs=None, message={"role": "assistant", "content": None})


def _declined(answer: dict[str, Any], how_likely: bool = False) -> None:
    """As OpenAI has it: in words that stand beside a content of null."""
    choice = answer["choices"][0]
    tokens = {"content": None, "refusal": choice["logprobs"]["content"]}
    message = {"role": "assistant", "content": None, "refusal": "I cannot help."}
    choice.update(logprobs=tokens if how_likely else None, message=message)


ANSWERED = ""
ODD_ANSWERS: dict[str, tuple[Any, str]] = {
    "null logprobs": (lambda answer: _top(answer, logprob=None), ANSWERED),
    "minus infinity": (lambda answer: _top(answer, logprob=-math.inf), ANSWERED),
    "null tokens": (lambda answer: _top(answer, token=None), ANSWERED),
    "null entry": (lambda answer: _position(answer)["top_logprobs"].append(None), ANSWERED),
    "no likelier ones": (lambda answer: _position(answer).update(top_logprobs=None), ANSWERED),
    "null usage": (lambda answer: answer["usage"].update(completion_tokens=None), ANSWERED),
    "half a character": (lambda answer: _top(answer, token="\ud83d"), ANSWERED),
    "null content": (_empty, "the answer is empty"),
    "declined": (_declined, "the model declined in words"),
    "declined, with log-probabilities": (lambda answer: _declined(answer, True), ANSWERED),
    "a piece of a character": (
        lambda answer: answer["choices"][0].update(logprobs=None, message={"content": "\ufffd"}),
        "a piece of a character",
    ),
    "no logprobs": (EDITS["no logprobs"], "log-probabilities"),
    "an empty list": (lambda answer: answer["choices"][0].update(logprobs=[]), "log-probabilities"),
    "legacy": (_legacy, "`logprobs` holds 'text_offset', 'token_logprobs', 'tokens', 'top_logprobs'"),
    "all impossible": (
        lambda answer: (
            _position(answer).update(logprob=None),
            _top(answer, logprob=None),
            _position(answer).update(top_logprobs=[]),
        ),
        "every log-probability",
    ),
    "no message": (lambda answer: answer["choices"][0].update(message=None), "choices.0.message"),
    "no choices": (EDITS["no choices"], "choices"),
    "not a number": (EDITS["nan"], "top_logprobs.3.logprob"),
    "filtered": (
        lambda answer: answer["choices"][0].update(finish_reason="content_filter"),
        "filter withheld",
    ),
}
ODD_REPLIES = {
    "not JSON": (Reply(200, "<html>welcome</html>"), "not a chat completion"),
    "cut": (Reply(200, '{"choices": [', cut=True), "the connection failed"),
    "too large": (Reply(200, " " * (MAX_BODY + 1)), "AnswerTooLarge"),
    "500": (error(500, "poison"), "500: poison"),
    "500 for ever": (error(500, "image input is not supported"), "500: image input"),
    "400": (error(400, "bad image"), "400: bad image"),
    "400 of logprobs": (error(400, "logprobs are not available for this prompt"), "400: logprobs are not"),
    "404": (error(404, "No endpoints found that support image input"), "404: No endpoints"),
}


def _changed(server: Loopback, request: dict[str, Any], change: Any) -> Reply:
    answer = json.loads(server._answer(request).body)
    answer["choices"][0]["message"]["content"] = "A"
    change(answer)
    return Reply(200, json.dumps(answer))


@pytest.mark.parametrize("place", [0, 3])
@pytest.mark.parametrize("odd", [*ODD_ANSWERS, *ODD_REPLIES])
def test_one_odd_answer_is_refused_in_words_and_the_stage_ends(
    server: Loopback, project: Project, monkeypatch: pytest.MonkeyPatch, odd: str, place: int
) -> None:
    """Whether it comes first or last, of one that is asked or of many at once; and it is not asked again."""
    monkeypatch.setenv("VOUCH_SERVER_TRIES", "2")
    monkeypatch.setenv("VOUCH_SERVER_CONCURRENCY", "1" if place else "16")
    texts = [ODD if n == place else f"what is shown {n}" for n in range(4)]
    project.ask([prompt(f"i{n}/original", text, marks="ABC") for n, text in enumerate(texts)], [])
    change, says = {**ODD_ANSWERS, **ODD_REPLIES}[odd]

    def instead(request: dict[str, Any], number: int) -> Reply | None:
        if ODD not in str(request["messages"]):
            return None
        return change if isinstance(change, Reply) else _changed(server, request, change)

    server.instead = instead
    project.extract()
    rows = project.letters()
    assert [row["problem"] is None for row in rows] == [n != place or says == ANSWERED for n in range(4)]
    assert says in (rows[place]["problem"] or "")
    asked = len(server.requests)
    most = 9 if odd == "400 of logprobs" else 6  # with 20, 5 and 1, before and after others had them
    assert asked <= most, "one more try, and one more question to see whether the server is at fault"
    project.extract()
    assert len(server.requests) == asked


def test_a_new_question_that_is_turned_down_does_not_stop_a_stage_that_has_answers(
    server: Loopback, project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    """In this run the server answers nothing; those of an earlier one show that it can."""
    rows = [prompt(f"i{n}/original", f"what is shown {n}", marks="ABC") for n in range(2)]
    project.ask(rows, [])
    project.extract()
    server.instead = lambda request, number: error(400, "bad image")
    project.ask([*rows, prompt("i2/original", ODD, marks="ABC")], [])
    project.extract()
    assert [row["problem"] for row in project.letters()] == [
        None,
        None,
        "the server turned the request down (400: bad image)",
    ]


@pytest.mark.parametrize(
    ("begun", "content", "tokens", "said"),
    [
        ("The capital", "The capital of France.", [" of", " France", "."], " of France."),  # llama.cpp
        ("The capital ", "The capital  of France", [" of", " France", ""], " of France"),
        (" The capital", "The capital of France", [" of", " France"], " of France"),  # stripped
        ("The capital", " of France", [" of", " France"], " of France"),  # vLLM
        ("A", "A A B", ["A", " A", " B"], "A A B"),  # it says so once more
        ("A", "A A B", [" A", " B"], " A B"),
        ("Answer:", "Answer:", [""], ""),
        ("Answer:", "Answer:", ["</s>"], ""),
        ("\U0001f600 ", "\U0001f600 \n\U0001f984", ["\n", "\U0001f984"], "\n\U0001f984"),
        ("Answer:", "Answer: B", None, " B"),
        ("Answer:", "B", None, "B"),
    ],
)
def test_a_begun_answer_is_what_comes_after_its_beginning(
    begun: str, content: str, tokens: list[str] | None, said: str
) -> None:
    answer = text(completion(answer_body({"content": content}, tokens, "length")), None, begun)
    assert isinstance(answer, TextAnswer) and answer.text == said
    assert answer.logprobs == (None if tokens is None else [-float(n) for n in range(len(tokens))])


def test_logprobs_in_another_shape_are_told_and_asked_for_no_further(server: Loopback) -> None:
    server.edit = _legacy
    with refused(
        "answers no question: .* in `logprobs.content`: `logprobs` holds 'text_offset', 'token_logprobs'"
    ):
        told(engine(server, concurrency=1).answer(letters(questions(ENOUGH))))
    assert len(server.requests) == SILENT


def test_one_prompt_that_is_not_scored_does_not_silence_likelihoods(server: Loopback) -> None:
    def scored(request: dict[str, Any], _: int) -> Reply:
        asked = str(request["messages"])
        if ODD in asked:
            return error(400, "bad image") if "grim" in asked else Reply(200, server._answer(request).body)
        rows = server.model.scored(*server.prompt(request))
        said = [{str(token): {"logprob": None if "never" in asked else value}} for token, value in rows]
        choice = {"index": 0, "message": {"content": "x"}, "finish_reason": "length"}
        return Reply(200, json.dumps({"choices": [choice], "prompt_logprobs": [None, *said]}))

    server.instead = scored
    texts = [ODD, "one", f"{ODD} grim", "two", "never"]
    asked = [Question(text, None, text, options=["red one", "blue"]) for text in texts]
    answers = told(engine(server, concurrency=1, tries=1).answer([Pack("likelihood", asked)]))
    assert all(isinstance(answers[text], LikelihoodAnswer) for text in ("one", "two", "never"))
    assert answers["never"].nll == [math.inf, math.inf]
    assert "400: bad image" in answers[f"{ODD} grim"].problem
    fails = "the server fails at this question and answers others"
    assert answers[ODD] == Refusal(f"{fails} (the answer has no log-probabilities)")
    server.instead = lambda request, _: error(422, "Unexpected fields in the request: {'prompt_logprobs'}")
    server.requests.clear()
    silent = told(engine(server, concurrency=1).answer([Pack("likelihood", asked)]))
    assert len(server.requests) == 1 and all("does not score" in one.problem for one in silent.values())


@pytest.mark.parametrize("content", [None, ""])
def test_what_declines_in_words_is_a_text(content: str | None) -> None:
    message = {"content": content, "refusal": "I cannot help."}
    body = {"choices": [{"message": message, "logprobs": None, "finish_reason": "eos"}]}
    answer = text(completion(json.dumps(body)))
    assert isinstance(answer, TextAnswer) and answer.text == "I cannot help."

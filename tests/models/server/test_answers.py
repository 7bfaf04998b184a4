"""Letters and texts of the openai engine, against a real HTTP server."""

import base64
import io
import json
import math
import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image

from tests.models.loopback_server import NAME, Loopback, answer_body
from tests.models.server.asked import by_question, engine, image, letters, questions, spelled, truth
from vouch.models.engine import Decoding, LetterAnswer, Pack, Question, Refusal, TextAnswer
from vouch.models.server.completions import completion, text
from vouch.models.server.images import data_url


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
    assert (
        "image placeholders [2]" in by_question(engine(server).answer([Pack("letters", [bad])]))["q"].problem
    )


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
    asked = questions(3, max_tokens=8, decodings=decodings)
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
        ("\U0001f600 or \u597d.", ["\U0001f600", " or", " \u597d", ".", ""], 9, 4),
        ("\U0001f984\U0001f984", ["\U0001f984", "\U0001f984"], 8, None),
        (" A \U0001f468\u200d\U0001f469", [" A", " \U0001f468\u200d", "\U0001f469", "</s>"], 12, 3),
        ("A \U0001f984", ["A", " \U0001f984"], 9, None),
    ],
)  # fmt: skip
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
    by_question(engine(server, rate=3000.0).answer(letters(questions(11))))
    assert time.monotonic() - start >= 10 * 60 / 3000


def test_tokens_and_cost_are_counted_as_the_server_does(server: Loopback) -> None:
    tested = engine(server, price_input=2.0, price_output=8.0)
    by_question(tested.answer(letters(questions(3))))
    notes = tested.notes
    assert notes["output_tokens"] == 3 and notes["input_tokens"] > 9
    assert notes["cost"] == pytest.approx((2 * notes["input_tokens"] + 8 * 3) / 1e6)
    assert "cost" not in engine(server).notes


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


@pytest.mark.parametrize("content", [None, ""])
def test_what_declines_in_words_is_a_text(content: str | None) -> None:
    message = {"content": content, "refusal": "I cannot help."}
    body = {"choices": [{"message": message, "logprobs": None, "finish_reason": "eos"}]}
    answer = text(completion(json.dumps(body)))
    assert isinstance(answer, TextAnswer) and answer.text == "I cannot help."

"""Six servers that answer in their own words, each as its project documents.

vLLM, SGLang and llama.cpp give log-probabilities, TGI those of five tokens, Ollama and OpenRouter none. Thoughts lie in
`reasoning_content` or `reasoning`, or stay in the text.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.models.loopback_server import NAME, Loopback, Reply, answer_body
from tests.models.server.asked import by_question, letters, questions
from vouch.models.engine import Decoding, LetterAnswer, LikelihoodAnswer, Pack, Refusal, TextAnswer
from vouch.models.server.client import ServerSettings
from vouch.models.server.completions import BadAnswer, completion, text
from vouch.models.server.engine import ServerEngine
from vouch.tables.answered import Reasoning

Body = dict[str, Any]


def _positions(body: Body) -> list[Body]:
    found: list[Body] = body["choices"][0]["logprobs"]["content"]
    return found


def _vllm(body: Body) -> None:
    body.update(service_tier=None, system_fingerprint=None, prompt_logprobs=None, kv_transfer_params=None)
    body["choices"][0] |= {"stop_reason": None, "token_ids": None}
    body["choices"][0]["message"] |= {"reasoning_content": None, "tool_calls": [], "refusal": None}
    for one in _positions(body):
        for token in (one, *one["top_logprobs"]):
            token["bytes"] = list(token["token"].encode())


def _sglang(body: Body) -> None:
    body["metadata"] = {"weight_version": "default"}
    body["choices"][0]["matched_stop"] = 2
    body["choices"][0]["message"] |= {"reasoning_content": None, "tool_calls": None}


def _llama_cpp(body: Body) -> None:
    body.update(system_fingerprint="b6900-0123456", timings={"prompt_n": 9, "predicted_ms": 1.5})
    for number, one in enumerate(_positions(body)):
        for token in (one, *one["top_logprobs"]):
            token |= {"id": number, "bytes": list(token["token"].encode())}


def _tgi(body: Body) -> None:
    body.update(object="chat.completion", system_fingerprint="3.3.4-sha-0123456")
    if body["choices"][0]["finish_reason"] == "stop":
        body["choices"][0]["finish_reason"] = "eos_token"


def _ollama(body: Body) -> None:
    body["system_fingerprint"] = "fp_ollama"
    del body["choices"][0]["logprobs"]


def _openrouter(body: Body) -> None:
    body.update(provider="Some host", usage={"prompt_tokens": 9, "completion_tokens": 3, "cost": 0.00001})
    choice = body["choices"][0]
    choice |= {"logprobs": None, "native_finish_reason": "STOP", "index": 0}
    choice["message"] |= {"refusal": None, "reasoning": None}


@dataclass(frozen=True)
class Dialect:
    """How a server puts its answers. most: top_logprobs, None where it gives none. thought: where it stands."""

    put: Callable[[Body], None]
    most: int | None
    thought: str | None = None


DIALECTS = {
    "vllm": Dialect(_vllm, 20, "reasoning_content"),
    "sglang": Dialect(_sglang, 20, "reasoning_content"),
    "llama.cpp": Dialect(_llama_cpp, 20, "reasoning_content"),
    "tgi": Dialect(_tgi, 5),
    "ollama": Dialect(_ollama, None, "reasoning"),
    "openrouter": Dialect(_openrouter, None, "reasoning"),
}


def speak(server: Loopback, dialect: Dialect) -> None:
    server.edit = dialect.put
    if dialect.most == 5:
        says = {"error": "Input validation error: `top_n_tokens` must be >= 0 and <= 5. Given: 20"}
        refuse = Reply(422, json.dumps({**says, "error_type": "validation"}))
        server.instead = lambda request, _: refuse if request.get("top_logprobs", 0) > 5 else None


def engine(server: Loopback, **more: Any) -> ServerEngine:
    return ServerEngine(server.url, NAME, ServerSettings(backoff=0.001, tries=1), **more)


@pytest.mark.parametrize("name", DIALECTS)
def test_each_server_gives_what_it_has(server: Loopback, name: str) -> None:
    dialect, asked = (
        DIALECTS[name],
        questions(4, max_tokens=6, decodings=[Decoding(), Decoding(0.7, 1, 1 << 20)]),
    )
    plain = {(one.question, one.decoding): one.answer for one in engine(server).answer([Pack("text", asked)])}
    speak(server, dialect)
    tested = engine(server)
    found = {(one.question, one.decoding): one.answer for one in tested.answer([Pack("text", asked)])}
    assert {key: one.text for key, one in found.items()} == {key: one.text for key, one in plain.items()}
    if dialect.most is None:
        assert all(one.logprobs is None and one.eos is None for one in found.values())
    else:
        assert found == plain
    options = [
        *letters(questions(4)),
        *[Pack("likelihood", [one]) for one in questions(6, options=["a", "b"])[4:]],
    ]
    answers = by_question(tested.answer(options))
    for number in range(4):
        answer = answers[f"q{number}"]
        if dialect.most is None:
            assert isinstance(answer, Refusal) and "no log-probabilities" in answer.problem
        else:
            assert isinstance(answer, LetterAnswer)
            assert tested.notes["top_logprobs"] == dialect.most
    assert all("does not score given texts" in answers[f"q{n}"].problem for n in (4, 5))


def test_what_is_known_is_not_asked_again(server: Loopback) -> None:
    """A pack comes whole, with one unknown answer; a server answers each of its questions by itself."""
    first, second, third = questions(3)
    pack = Pack("letters", [replace(first, known=True), second, replace(third, known=True)])
    assert set(by_question(engine(server).answer([pack]))) == {second.id} and len(server.requests) == 1


def test_vllm_scores_options_as_the_model_does(server: Loopback) -> None:
    def scored(request: Body, _: int) -> Reply | None:
        if "prompt_logprobs" not in request:
            return None
        assert request["prompt_logprobs"] == 0 and request["max_tokens"] == 1
        rows = server.model.scored(*server.prompt(request))
        said = [{str(token): {"logprob": value, "rank": 1, "decoded_token": "?"}} for token, value in rows]
        choice = {"index": 0, "message": {"content": "x"}, "logprobs": None, "finish_reason": "length"}
        body = {
            "object": "chat.completion",
            "model": NAME,
            "choices": [choice],
            "prompt_logprobs": [None, *said],
        }
        return Reply(200, json.dumps(body))

    server.instead = scored
    (first, second) = questions(2, options=["red one", "blue"])
    begun = [first, type(second)(**{**vars(second), "response": "the"})]
    answers = by_question(engine(server).answer([Pack("likelihood", begun)]))
    for question in begun:
        answer = answers[question.id]
        assert isinstance(answer, LikelihoodAnswer)
        content = [{"type": "image"}] * len(question.images) + [{"type": "text", "text": question.text}]
        prompt = server.model.render([{"role": "user", "content": content}])
        prompt += f" {question.response}" if question.response else ""
        before = len(server.model.scored(prompt, list(question.images)))
        for place, option in enumerate(question.options):
            whole = server.model.scored(f"{prompt} {option}", list(question.images))[before:]
            assert answer.tokens[place] == len(whole) == len(option.split())
            assert answer.nll[place] == pytest.approx(-sum(value for _, value in whole), abs=1e-6)


THINKS = Reasoning(tokens=20, closes="</think>\n\n")
TOKENS = ["<think>", "two", " cats", "</think>", "\n\n", "B", ".", "<|im_end|>"]


@pytest.mark.parametrize("name", [name for name, one in DIALECTS.items() if one.thought])
def test_a_thought_that_a_server_sets_apart(name: str) -> None:
    message = {"content": "B.", DIALECTS[name].thought: "two cats"}
    for tokens in (TOKENS, TOKENS[5:], None):
        answer = text(completion(answer_body(message, tokens)), THINKS)
        assert isinstance(answer, TextAnswer) and (answer.text, answer.reasoning) == ("B.", "two cats")
        if tokens is None:
            assert answer.logprobs is None
        else:
            at = tokens.index("B")
            assert answer.logprobs == [-at, -at - 1, -at - 2] and answer.eos == 2, "those of the answer alone"
    unfinished = text(completion(answer_body({**message, "content": None}, None, "length")), THINKS)
    assert unfinished == Refusal("no answer within the tokens of its thought", reasoning="two cats")


def test_a_thought_in_the_text(server: Loopback) -> None:
    whole = {"content": "<think>two cats</think>\n\nB."}
    answer = text(completion(answer_body(whole, TOKENS)), THINKS)
    assert isinstance(answer, TextAnswer) and answer.text == "B." and answer.reasoning == "two cats"
    assert answer.logprobs == [-5, -6, -7]
    cut = text(completion(answer_body({"content": "<think>two cats"}, TOKENS[:3], "length")), THINKS)
    assert cut == Refusal("no answer within the tokens of its thought", reasoning="two cats")
    straight = text(completion(answer_body({"content": "B."}, None)), THINKS)
    assert straight == TextAnswer("B.", None, None, None)

    cut_answer = text(completion(answer_body(whole, TOKENS[:-1], "length")), THINKS)
    assert isinstance(cut_answer, TextAnswer) and (cut_answer.text, cut_answer.eos) == ("B.", None)

    thinking = engine(server, reasoning=THINKS, template_kwargs={"enable_thinking": True})
    by_question(thinking.answer([Pack("text", questions(1, max_tokens=4, decodings=[Decoding()]))]))
    (request,) = server.requests  # letters are refused before (tests/models/server/test_abilities.py)
    assert request["max_tokens"] == 24 and request["chat_template_kwargs"] == {"enable_thinking": True}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<think>The answer is B. Wait", None),
        ("two cats[/THINK]B.", "B."),
        ("◁think▷two cats◁/think▷B.", "B."),
        ("◁think▷The answer is B", None),
        ("<|channel|>analysis<|message|>B?", None),
        ("<seed:think>two cats</seed:think>B.", "B."),
        (["two cats</think>", {"type": "text", "text": "B."}], "B."),
        ([{"type": "text", "text": "<think>The answer is B"}], None),
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "two cats"}]}, {"type": "text", "text": "B."}], "B."),
        ([{"type": "reasoning", "reasoning": "two cats"}, {"type": "output_text", "text": "B."}], "B."),
        ([{"type": "text", "text": "A "}, {"type": "text", "text": "cat."}], "A cat."),
        ("B.", "B."),
        ("", ""),
        ([], ""),
    ],
)  # fmt: skip
def test_a_thought_with_other_marks_or_without_an_end(content: Any, expected: str | None) -> None:
    """Whatever the server says of its end: its budget may be another one."""
    answer = text(completion(answer_body({"content": content}, None)), THINKS)
    if expected is None:
        assert isinstance(answer, Refusal) and answer.problem.startswith("no answer within")
        assert answer.reasoning and "<" not in answer.reasoning[:1] and "◁" not in answer.reasoning
    else:
        assert isinstance(answer, TextAnswer) and answer.text.strip() == expected
        assert answer.reasoning == ("two cats" if "two cats" in str(content) else None)
    cut = text(completion(answer_body({"content": content}, None, "length")), THINKS)
    assert isinstance(cut, Refusal) == (expected is None or "two cats" not in str(content))


@pytest.mark.parametrize(
    "content", [[7], [{"type": "image_url"}], {"text": "B"}, [{"type": "thinking", "thinking": 7}]]
)
def test_a_content_of_unknown_parts_is_no_answer(content: Any) -> None:
    with pytest.raises(BadAnswer, match="content"):
        completion(answer_body({"content": content}, None))


@pytest.mark.parametrize("between", ["", "\n", "\n\n"])
@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("ended", [True, False])
def test_tags_around_an_answer(between: str, apart: bool, ended: bool) -> None:
    """GLM's form, whether or not a line break stands in it."""
    tags = Reasoning(tokens=20, closes="</think><answer>")
    content = f"<think>two cats</think>{between}<answer>B</answer>"
    tokens = ["<think>", "two cats", "</think>", *filter(None, [between])]
    at = len(tokens) + 1
    tokens += ["<answer>", "B", "</", "answer", ">", *["<|user|>"] * ended]
    message = (
        {"content": "<answer>B</answer>", "reasoning_content": "two cats"} if apart else {"content": content}
    )
    answer = text(completion(answer_body(message, tokens)), tags)
    assert answer == TextAnswer("B", [-at], None, 1, "two cats")
    assert text(completion(answer_body(message, None)), tags) == TextAnswer("B", None, None, None, "two cats")

"""The stage against a server: asked once, and one odd answer among others is refused in words."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.models.loopback_server import NAME, Loopback, Reply, error
from tests.models.project import DATASET, MODEL, Project, prompt
from tests.models.project import image as png
from tests.models.server.asked import KEY, by_question, engine, letters, questions
from tests.models.server.test_faults import EDITS, _position
from vouch.models.engine import LetterAnswer, LikelihoodAnswer, Pack, Question, Refusal
from vouch.models.server.client import MAX_BODY
from vouch.tables.answered import text_path


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
    asking = {"labels": "ABC", "outputs": ["letters", "text"]}
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


def test_answers_in_another_name_are_counted_in_one_line(
    server: Loopback, project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if they were kept; then only the flag is known, not the name."""
    rows = [prompt(f"i{n}/original", f"what {n}", labels="AB", outputs=["letters", "text"]) for n in range(4)]
    project.ask(rows, [])
    path = "/models/smol\x1b[2J.gguf"
    server.edit = lambda answer: answer.update(model=path if len(server.requests) % 2 else NAME)
    project.extract()
    flagged = sum("other_model" in row["flags"] for one in ("letters", "text") for row in project.rows(one))
    count = f"{MODEL} {DATASET}: {flagged} of 8 answers are flagged other_model: "
    lines = [line for line in capsys.readouterr().err.splitlines() if "other_model" in line]
    why = "the server calls itself /models/smol\\x1b[2J.gguf, and models.lock calls it tiny-llava"
    assert flagged and lines == [f"{count}{why} (docs/add-a-model.md#what-is-asked-and-recorded)"]
    project.extract()
    assert f"{count}models.lock calls it tiny-llava (docs" in capsys.readouterr().err
    server.edit = lambda answer: None
    project.ask([row | {"text": f"{row['text']} now"} for row in rows], [])
    project.extract()
    assert "other_model" not in capsys.readouterr().err


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
    "fewer than no tokens": (lambda answer: answer["usage"].update(prompt_tokens=-1), "usage.prompt_tokens"),
    "more tokens than can be": (lambda answer: answer["usage"].update(prompt_tokens=10**400), "usage.prompt_tokens"),
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
    "filtered": (lambda answer: answer["choices"][0].update(finish_reason="content_filter"), "filter withheld"),
}  # fmt: skip
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


ODDITIES = {**ODD_ANSWERS, **ODD_REPLIES}


def _spoil(server: Loopback) -> None:
    """The server answers the question `odd number N .` in the N-th odd way, and all others as ever."""

    def instead(request: dict[str, Any], _: int) -> Reply | None:
        found = re.search(r"odd number (\d+)", str(request["messages"]))
        if found is None:
            return None
        change, _ = list(ODDITIES.values())[int(found[1])]
        if isinstance(change, Reply):
            return change
        answer = json.loads(server._answer(request).body)
        answer["choices"][0]["message"]["content"] = "A"
        change(answer)
        return Reply(200, json.dumps(answer))

    server.instead = instead


@pytest.mark.parametrize("odd", ODDITIES)
def test_an_odd_answer_that_comes_first_is_refused_in_words(server: Loopback, odd: str) -> None:
    """One of many at once, before anything is known of the server."""
    _spoil(server)
    first, *others = questions(4)
    asked = [replace(first, text=f"odd number {list(ODDITIES).index(odd)} ."), *others]
    answers = by_question(engine(server, tries=2).answer(letters(asked)))
    assert all(isinstance(answers[one.id], LetterAnswer) for one in others)
    answer, says = answers[first.id], ODDITIES[odd][1]
    assert isinstance(answer, Refusal) == (says != ANSWERED)
    assert says == ANSWERED or (says in answer.problem and not answer.transient)
    most = 9 if odd == "400 of logprobs" else 6  # with 20, 5 and 1, before and after others had them
    assert len(server.requests) <= most, "one more try, and a question to see whether the server is at fault"


def test_odd_answers_after_others_are_refused_in_words_and_not_asked_again(
    server: Loopback, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOUCH_SERVER_TRIES", "2")
    monkeypatch.setenv("VOUCH_SERVER_CONCURRENCY", "1")
    texts = ["what is shown", *(f"odd number {n} ." for n in range(len(ODDITIES)))]
    project.ask([prompt(f"i{n}/original", text, labels="ABC") for n, text in enumerate(texts)], [])
    _spoil(server)
    project.extract()
    (sound, *rows) = project.letters()
    assert sound["problem"] is None
    for row, (odd, (_, says)) in zip(rows, ODDITIES.items(), strict=True):
        assert (row["problem"] is None) == (says == ANSWERED) and says in (row["problem"] or ""), odd
    asked = len(server.requests)
    project.extract()
    assert len(server.requests) == asked


def test_a_new_question_that_is_turned_down_does_not_stop_a_stage_that_has_answers(
    server: Loopback, project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    """In this run the server answers nothing; those of an earlier one show that it can."""
    rows = [prompt(f"i{n}/original", f"what is shown {n}", labels="ABC") for n in range(2)]
    project.ask(rows, [])
    project.extract()
    server.instead = lambda request, number: error(400, "bad image")
    project.ask([*rows, prompt("i2/original", ODD, labels="ABC")], [])
    project.extract()
    assert [row["problem"] for row in project.letters()] == [
        None,
        None,
        "the server turned the request down (400: bad image)",
    ]


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
    answers = by_question(engine(server, concurrency=1, tries=1).answer([Pack("likelihood", asked)]))
    assert all(isinstance(answers[text], LikelihoodAnswer) for text in ("one", "two", "never"))
    assert answers["never"].nll == [math.inf, math.inf]
    assert "400: bad image" in answers[f"{ODD} grim"].problem
    fails = "the server fails at this question and answers others"
    assert answers[ODD] == Refusal(f"{fails} (the answer has no log-probabilities)")
    server.instead = lambda request, _: error(422, "Unexpected fields in the request: {'prompt_logprobs'}")
    server.requests.clear()
    unsupported = by_question(engine(server, concurrency=1).answer([Pack("likelihood", asked)]))
    assert len(server.requests) == 1 and all("does not score" in one.problem for one in unsupported.values())

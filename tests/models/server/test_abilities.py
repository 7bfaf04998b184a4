"""What a few requests of one token tell of a server, and what is asked of one that gives no log-probabilities."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.models.loopback_server import NAME, Loopback, Reply, error
from tests.models.project import DATASET, MODEL, Project, prompt
from tests.models.server.test_faults import EDITS
from tests.refusals import refused
from vouch.models.config import ExtractConfig
from vouch.models.lock_entry import OPENAI, LockEntry
from vouch.models.requests import DatasetRequests, Session
from vouch.models.responses import restore
from vouch.models.server.abilities import Abilities, abilities
from vouch.models.server.client import ServerSettings
from vouch.models.unsupported import NO_LOGPROBS, NO_SCORES, unsupported_outputs
from vouch.tables.answered import first_problem, pin_path, read_pin
from vouch.tables.asked import LETTERS, LIKELIHOOD, OUTPUTS, TEXT

Asked = dict[str, Any]
TEXT_ALONE = "models.lock names only text"
Instead = Callable[[Asked, int], Reply | None]


def when(key: str, reply: Reply) -> Instead:
    """A server that gives this reply to requests with a key, and answers all others."""
    return lambda request, _: reply if key in request else None


def scoring(request: Asked, _: int) -> Reply | None:
    """Scores a given text, as vLLM does."""
    if "prompt_logprobs" not in request:
        return None
    choice = {"index": 0, "message": {"content": "x"}, "finish_reason": "length"}
    scored = [None, {"5": {"logprob": -1.0}}]
    return Reply(200, json.dumps({"choices": [choice], "prompt_logprobs": scored}))


def quiet(status: int, message: str) -> Instead:
    return when("logprobs", error(status, message))


@pytest.mark.parametrize(
    ("instead", "outputs", "most"),
    [
        (lambda *_: None, (LETTERS, TEXT), 3),
        (scoring, OUTPUTS, 3),
        (when("prompt_logprobs", error(400, "unknown parameter: prompt_logprobs")), (LETTERS, TEXT), 3),
        (when("prompt_logprobs", error(400, "out of memory")), OUTPUTS, 3),
        (quiet(400, "logprobs are not supported by this model"), (TEXT,), 5),
        (quiet(500, "logprobs are not supported"), (TEXT,), 5),
        (quiet(400, "no such thing"), None, 3),
        (quiet(401, "no key"), None, 3),
        (quiet(503, "loading"), None, 4),
        (lambda request, _: error(400, "top_logprobs is at most 5") if request.get("top_logprobs", 0) > 5 else None,
         (LETTERS, TEXT), 4),
        (lambda *_: error(404, "model not found"), None, 4),
        (lambda *_: error(400, "logprobs: not now"), None, 5),
        (lambda *_: Reply(200, "{"), None, 4),
    ],
)  # fmt: skip
def test_what_a_server_can_be_asked_for(
    server: Loopback, instead: Instead, outputs: tuple[str, ...] | None, most: int
) -> None:
    server.instead = instead
    found = abilities(server.url, NAME, ServerSettings(backoff=0.001))
    assert found.outputs == outputs and len(server.requests) <= most
    assert all(request["max_tokens"] == 1 for request in server.requests)


@pytest.mark.parametrize("edit", ["no logprobs", "empty"])
def test_a_server_that_leaves_log_probabilities_out(server: Loopback, edit: str) -> None:
    server.edit = EDITS.get(edit) or (lambda answer: answer["choices"][0].update(logprobs={"content": []}))
    assert abilities(server.url, NAME, ServerSettings()) == Abilities(sees=True, outputs=(TEXT,))
    assert len(server.requests) == 2, "one with log-probabilities, one with an image"


def test_nothing_is_known_of_a_server_that_gives_no_answer() -> None:
    assert abilities("http://127.0.0.1:9/v1", NAME, ServerSettings()) == Abilities()


@pytest.mark.parametrize(
    ("keys", "unsupported"),
    [
        ({}, {}),
        ({"outputs": ["text"]}, {LETTERS: TEXT_ALONE, LIKELIHOOD: TEXT_ALONE}),
        ({"outputs": ["letters", "text"]}, {LIKELIHOOD: "models.lock names only letters, text"}),
        ({"outputs": ["likelihood"]}, dict.fromkeys((LETTERS, TEXT), "models.lock names only likelihood")),
        (
            {"reasoning": {"tokens": 9, "closes": "</think>"}},
            {
                output: f"{output} of a model that thinks cannot be read from a server"
                for output in OUTPUTS[:2]
            },
        ),
        ({"url": OPENAI}, {LIKELIHOOD: NO_SCORES}),
        ({"url": OPENAI, "outputs": ["text"]}, {LETTERS: TEXT_ALONE, LIKELIHOOD: NO_SCORES}),
    ],
)
def test_what_an_entry_of_models_lock_tells(keys: Asked, unsupported: dict[str, str]) -> None:
    """A list may be anyone's: it does not say what the server itself can do."""
    source = {"kind": "server", "url": keys.pop("url", "http://127.0.0.1:9/v1"), "name": NAME}
    entry = LockEntry.model_validate({"engine": "openai", "source": source, **keys})
    assert list(unsupported_outputs(entry).items()) == list(unsupported.items())


def test_outputs_are_those_of_a_server() -> None:
    with pytest.raises(ValueError, match="outputs are those of a server"):
        LockEntry.model_validate({"source": {"kind": "folder", "path": "a"}, "outputs": ["text"]})


@pytest.fixture
def project(server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose model is a server without log-probabilities."""
    monkeypatch.chdir(tmp_path)
    server.edit = EDITS["no logprobs"]
    made = Project(tmp_path, tmp_path)
    made.entry = {"source": {"kind": "server", "url": server.url, "name": NAME}, "engine": "openai"}
    made.pin()
    return made


def ask(made: Project, *outputs: str) -> None:
    made.ask([prompt(f"i{n}/original", f"what is shown {n}", outputs=outputs) for n in range(9)], [])


@pytest.mark.parametrize("named", [True, False])
def test_what_it_cannot_give_is_refused_alone_and_the_run_goes_on(
    server: Loopback, project: Project, capfd: pytest.CaptureFixture[str], named: bool
) -> None:
    """Whether its entry says so or it is seen: its texts come, and letters are refused in words."""
    if named:
        project.entry["outputs"] = ["text"]
        project.pin()
    ask(project, LETTERS, LIKELIHOOD, TEXT)
    run = project.extract()
    assert run.notes["unanswered"] == {LETTERS: 9, LIKELIHOOD: 36 // 4}
    why = TEXT_ALONE if named else NO_LOGPROBS
    assert {row["problem"] for row in project.letters()} == {why}
    assert first_problem(MODEL, DATASET, LETTERS) == why
    assert first_problem(MODEL, DATASET, TEXT) == ""
    assert all(row["text"] for row in project.rows(TEXT))
    assert f"letters 9 of 9, likelihood 9 of 9; prompt i0/original: {why}" in capfd.readouterr().err
    asked = len([request for request in server.requests if request.get("top_logprobs")])
    assert not asked if named else 0 < asked < 9, "not asked, or not all"


def test_a_model_that_can_give_nothing_of_a_dataset_stops_no_other(
    server: Loopback, project: Project
) -> None:
    ask(project, LETTERS)
    project.extract()
    assert {row["problem"] for row in project.letters()} == {NO_LOGPROBS} and not project.rows(TEXT)
    session = Session(read_pin(pin_path(MODEL)), ExtractConfig.model_validate(project.params["extract"]))
    assert restore(DatasetRequests(session, DATASET)) == 0, "nor taken over from the table"
    before = len(server.requests)
    server.edit = lambda answer: None
    project.extract()
    assert all(row["logits"] for row in project.letters()), "nothing was remembered: it is asked again"
    assert len(server.requests) == before + 9


def test_other_problems_still_stop_it(server: Loopback, project: Project) -> None:
    """Its texts are refused for another reason, so nobody knows what is wrong."""
    server.instead = when("temperature", error(400, "maximum context length is 8 tokens"))
    ask(project, LETTERS, TEXT)
    with refused("none of 9 prompts has an answer; prompt i0/original: .*maximum context"):
        project.extract()


def test_the_outputs_of_an_entry_are_no_part_of_a_key(project: Project) -> None:
    before = read_pin(pin_path(MODEL))
    project.entry["outputs"] = ["text"]
    project.pin()
    after = read_pin(pin_path(MODEL))
    assert before.outputs is None and "outputs" not in json.loads(before.model_dump_json())
    assert after.outputs == ["text"] and after.digest == before.digest

"""`vouch review distract`: a real server on the loopback address writes wrong options, and people get a file to correct."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Vouch, set_params
from tests.models.loopback_server import Loopback, error, serving
from tests.prompts.rewrites.conftest import item
from tests.prompts.rewrites.test_openai import completion
from vouch.cli.main import main
from vouch.cli.review.texts import read_options
from vouch.datasets.options import read_written
from vouch.pipeline.yaml12 import load
from vouch.tables.answered import Pin, Source, write_pin
from vouch.tables.asked import ITEMS, items_path

LITERAL = (
    "You are a multiple-choice generator. Given a question and an answer, you need to generate three additional "
    "incorrect options while ensuring their plausibility and confusion. Question: What fruit? Answer: a pear"
)


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ("1. an apple\n2. a plum\n3. a fig", ["an apple", "a plum", "a fig"]),
        ("Sure! Here they are:\n\n- an apple\n- a plum\n- a fig\n\nTell me if you want more.", ["an apple", "a plum", "a fig"]),
        ("A) an apple\nB) Pear\nC) a plum\nD) a fig", ["an apple", "a plum", "a fig"]),
        ("Incorrect option 1: an apple\nIncorrect option 2: a plum\nIncorrect option 3: 'a fig'", ["an apple", "a plum", "a fig"]),
        ("an apple\na plum\na fig", ["an apple", "a plum", "a fig"]),
        ("Correct answer: a pear\nOption 1: 3.5\nOption 2: 4.5\nOption 3: 5", ["3.5", "4.5", "5"]),
        ("1. an apple\n2. An apple.\n3. a plum", []),
        ("an apple, a plum, a fig", []),
        ("", []),
    ],
)  # fmt: skip
def test_what_a_model_writes(said: str, wrong: list[str]) -> None:
    assert read_options(said, "a pear") == wrong


@pytest.fixture
def checkout(bare: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """A dataset of open questions that was prepared, and a server that is pinned."""
    Path("fruit").mkdir()
    set_params(
        datasets={"fruit": {"loader": "jsonl", "source": "fruit", "template": "plain"}},
        models={"tiny_a": "data/trained/tiny_a"},
        helpers={"writer": "models.lock"},
        train={"tiny_a": load(Path("params.yaml"))["train"]["tiny_a"]},
        rewrite={"rewriter": "data/models/writer.json"},
    )
    monkeypatch.setenv("VOUCH_SERVER_KEY_WRITER", "sk-secret-123456")
    monkeypatch.setenv("VOUCH_SERVER_TRIES", "1")
    rows: list[dict[str, Any]] = [
        {**item(name, question), "kind": "text", "options": [], "answers": [], "references": [answer]}
        for name, question, answer in [
            ("a", "What fruit?", "a pear"),
            ("b", "Is it ripe?", "yes"),
            ("c", "What tree?", "an oak"),
        ]
    ]
    ITEMS.write(items_path("fruit"), rows)
    with serving(None) as loopback:  # type: ignore[arg-type]  # no model behind it: each test says what it answers
        source = {"kind": "server", "url": loopback.url, "name": "llama"}
        models = {"models": {"writer": {"source": source, "engine": "openai"}}}
        Path("models.lock").write_text(json.dumps(models))
        pin = Pin(model="writer", engine="openai", source=Source(**source), files={})
        write_pin(Path("data/models/writer.json"), pin)
        yield loopback


def test_a_model_writes_and_a_person_corrects(checkout: Loopback, vouch: Vouch) -> None:
    asked: list[str] = []

    def answer(request: dict[str, Any], _number: int) -> Any:
        asked.append(request["messages"][0]["content"])
        tree = "What tree?" in asked[-1]
        return completion("I cannot." if tree else "1. =1+1\n2. a plum\n3. a fig")

    checkout.instead = answer
    said = vouch("review", "distract", "fruit")
    assert LITERAL in asked and len(asked) == 2, "the literal prompt; yes and no are not asked"
    assert "1 questions have wrong options; read them" in said and "list of three: ['c']" in said
    path = Path("fruit/wrong-options.csv")
    assert path.read_text() == "id,wrong_1,wrong_2,wrong_3\na,'=1+1,a plum,a fig\n", "no formula"
    assert read_written(path) == {"a": ["=1+1", "a plum", "a fig"]}
    path.write_text("id,wrong_1,wrong_2,wrong_3\na,mine,a plum,a fig\n")
    vouch("review", "distract", "fruit")
    assert len(asked) == 2, "answers are remembered"
    assert read_written(path)["a"][0] == "mine", "what a person wrote stays"


def test_refusals_are_one_line(checkout: Loopback, vouch: Vouch, capsys: pytest.CaptureFixture[str]) -> None:
    checkout.instead = lambda _request, _number: error(401, "no")
    assert main(["review", "distract", "fruit"]) == 1
    told = capsys.readouterr().err.splitlines()[-1]  # after the bar of progress
    assert told.startswith("vouch: ") and "401, the server does not accept the key" in told
    assert "did you mean fruit?" in vouch("review", "distract", "fruits", status=1)
    set_params(rewrite={"rewriter": "vouch/prompts/rewrites/engines/rules.py"}, helpers={})
    assert "rewriter is rules; name the pin" in vouch("review", "distract", "fruit", status=1)
    assert not Path("fruit/wrong-options.csv").exists()

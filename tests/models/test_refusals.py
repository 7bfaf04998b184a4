"""Prompts without an answer: rows that say why, beside the answers of all others."""

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.models.project import Project, prompt, quiz
from tests.refusals import refused
from vouch.models.config import Config
from vouch.models.decoder import engine
from vouch.models.engine import Answered, Engine, Pack, Refusal
from vouch.tables.answered import Pin
from vouch.tables.asked import LETTERS, LIKELIHOOD, OUTPUTS, TEXT

BROKEN = b"not an image"


class Busy:
    """A real engine behind something that fails for some questions, by their ids."""

    def __init__(self, engine: Engine, failing: set[str]) -> None:
        self._engine, self._failing = engine, failing
        self.device: str = engine.device
        self.notes: dict[str, Any] = engine.notes

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        for answered in self._engine.answer(packs):
            if answered.question in self._failing:
                yield replace(answered, answer=Refusal("busy", transient=True))
            else:
                yield answered


def test_flagged_rows_beside_answers(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    prompts, images = quiz(4, outputs=OUTPUTS)
    bad = [
        prompt("long/original", "what " * 300, [images[0]], outputs=OUTPUTS),
        prompt("damaged/original", "what", [BROKEN], outputs=OUTPUTS),
        prompt("unmarked/original", "what", [images[0]], marks="", outputs=[LETTERS]),
        prompt("odd/original", "what", [images[0]], marks="AÄ", outputs=[LETTERS]),
    ]
    project.ask([*bad[:2], *prompts, *bad[2:]], [*images, BROKEN])
    project.extract()
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "without an answer" in line]
    assert line.startswith(
        "tiny quiz: prompts without an answer: letters 4 of 8, likelihood 2 of 6, text 2 of 6; "
    )
    assert "prompt long/original: its 3" in line
    refused = {
        output: {row["prompt"]: row["problem"] for row in project.rows(output) if row["problem"] is not None}
        for output in OUTPUTS
    }
    names = ["long/original", "damaged/original"]
    assert {output: list(found) for output, found in refused.items()} == {
        LETTERS: [*names, "unmarked/original", "odd/original"],
        LIKELIHOOD: names,
        TEXT: names,
    }
    for output in OUTPUTS:
        assert "cannot be decoded" in refused[output]["damaged/original"]
    assert refused[LETTERS]["unmarked/original"] == "asks for letters but has no marks"
    assert "no distinct single token" in refused[LETTERS]["odd/original"]
    assert [row["logits"] for row in project.letters()[:2]] == [None, None]
    assert len([row for row in project.rows(LIKELIHOOD) if row["nll"] is None]) == 8
    before = project.bytes()
    assert project.extract().measured["answers"]["asked"] == 0, "a lasting refusal is remembered"
    assert project.bytes() == before
    project.ask(prompts, images)
    assert project.extract().measured["answers"]["asked"] == 0, "the others were kept"


def test_no_answer_at_all_is_an_error(project: Project) -> None:
    prompts, images = quiz(2, outputs=[LETTERS])
    project.ask(prompts, images)
    project.extract()
    before = project.bytes()
    project.ask([prompt("long/original", "what " * 300, [images[0]], outputs=[LETTERS, TEXT])], images)
    with refused(r"tiny\.letters\.parquet: none of 1 prompts has an answer; prompt long/"):
        project.extract()
    assert project.bytes() == before, "nothing was written"


def test_a_table_without_any_answer_does_not_take_the_others_along(project: Project) -> None:
    prompts, images = quiz(2, outputs=[LETTERS])
    project.ask([*prompts, prompt("long/original", "what " * 300, [images[0]], outputs=[TEXT])], images)
    assert project.extract().notes["unanswered"] == {TEXT: 1}
    assert len(project.letters()) == 2
    assert [row["problem"] is None for row in project.rows(TEXT)] == [False]


def test_transient_trouble_keeps_the_rest_and_is_asked_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts, images = quiz(8, outputs=(LETTERS, TEXT))
    project.ask(prompts, images)
    project.extract()
    undisturbed = project.bytes()
    shutil.rmtree(".vouch")
    shutil.rmtree("data/responses")

    real = engine.load

    def load(pin: Pin, config: Config) -> Engine:
        return Busy(real(pin, config), {"letters of q2/original", "text of q5/original"})

    with monkeypatch.context() as patched:
        patched.setattr(engine, "load", load)
        with refused(r"^tiny quiz: 2 of 16 answers did not come \(\w+ of q\d/original: busy\)"):
            project.extract()
    assert project.extract().measured["answers"] == {"known": 14, "asked": 2}
    assert project.bytes() == undisturbed

"""Conversations: the model's own answers in its later prompts, turn by turn, in one run."""

from typing import Any

import pytest

from tests.models.engines import Plain
from tests.models.project import Project, image, prompt
from vouch.images.opening import decode
from vouch.tables.asked import LETTERS, LIKELIHOOD, OUTPUTS, TEXT

NOISE = image(1)


def texts(project: Project) -> dict[str, Any]:
    return {row["prompt"]: row["text"] for row in project.rows(TEXT)}


def test_three_turns_in_one_run(project: Project) -> None:
    first, second = "what is shown", "{answer 1} the dog"
    turns = [(first, "{answer 1}")]
    rows = [
        prompt("q/talk/1", first, [NOISE], outputs=[TEXT]),
        prompt("q/talk/2", second, [NOISE], outputs=[TEXT], turns=turns, earlier=[["q/talk/1"]]),
        prompt(
            "q/talk/3",
            "which of {answer 2}",
            [NOISE],
            outputs=OUTPUTS,
            turns=[*turns, (second, "{answer 2}")],
            earlier=[["q/talk/1"], ["q/talk/2"]],
        ),
    ]
    project.ask(rows, [NOISE])
    run = project.extract()
    assert run.measured["answers"] == {"known": 0, "asked": 5}
    said = texts(project)

    plain, shown = Plain(project.model), decode(NOISE)
    one = plain.text(first, shown, 4)
    two = plain.text(f"{one} the dog", shown, 4, [(first, one)])
    history = [(first, one), (f"{one} the dog", two)]
    assert [said[row["id"]] for row in rows] == [one, two, plain.text(f"which of {two}", shown, 4, history)]
    (letters,) = project.rows(LETTERS)
    assert letters["logits"] == pytest.approx(
        plain.letters(f"which of {two}", shown, "ABCD", history), abs=2e-5
    )
    assert len(project.rows(LIKELIHOOD)) == 4
    before = project.bytes()
    assert project.extract().measured["answers"] == {"known": 5, "asked": 0}
    assert project.bytes() == before


def test_a_refused_answer_refuses_what_repeats_it(
    project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    def sequel(name: str, of: str) -> dict[str, Any]:
        return prompt(name, "{answer 1} what", [NOISE], outputs=[LETTERS, TEXT], earlier=[[of]])

    rows = [
        prompt("q/a", "what " * 300, [NOISE], outputs=[TEXT]),
        sequel("q/b", "q/a"),
        sequel("q/c", "q/b"),
        prompt("r/a", "what", [NOISE], outputs=[TEXT]),
        sequel("r/b", "r/a"),
    ]
    project.ask(rows, [NOISE])
    for asked in (4, 0):
        run = project.extract()
        assert run.measured["answers"]["asked"] == asked
        assert run.notes["unanswered"] == {LETTERS: 2, TEXT: 3}
        error = capfd.readouterr().err
        assert error.count("\n") == 1 and "letters 2 of 3, text 3 of 5" in error
    problems = {row["prompt"]: row["problem"] for row in project.rows(TEXT)}
    assert problems["q/a"].startswith("its 3") and problems["r/a"] is problems["r/b"] is None
    assert problems["q/b"] == "repeats the answer to prompt q/a, which has none"
    assert problems["q/c"] == "repeats the answer to prompt q/b, which has none"
    assert {row["prompt"]: row["problem"] is None for row in project.letters()} == {
        "q/b": False,
        "q/c": False,
        "r/b": True,
    }

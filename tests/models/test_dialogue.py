"""Conversations: the model's own answers in its later prompts, turn by turn, in one run."""

from typing import Any

import pytest

from tests.models.plain import Plain
from tests.models.project import Project, picture, prompt
from vouch.images.pictures import decode
from vouch.pipeline.errors import UserError
from vouch.tables.prompts import LETTERS, LIKELIHOOD, OUTPUTS, TEXT

NOISE = picture(1)


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


def test_the_most_common_of_several_answers(project: Project) -> None:
    asked = ["what", "the dog", "what ", "a house is red"]
    rows = [prompt(f"q/a/{n}", text, [NOISE], outputs=[TEXT]) for n, text in enumerate(asked)]
    names = [row["id"] for row in rows]
    rows.append(prompt("q/b", "{answer 1}", [NOISE], outputs=[TEXT], earlier=[names]))
    project.ask(rows, [NOISE])
    project.extract()
    said = texts(project)
    assert said["q/a/0"] == said["q/a/2"] not in (said["q/a/1"], said["q/a/3"])
    assert said["q/b"] == Plain(project.model).text(said["q/a/0"], decode(NOISE), 4)


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


@pytest.mark.parametrize("outputs", [[TEXT], [LETTERS]])
def test_a_hole_that_nothing_before_can_fill_is_one_line(project: Project, outputs: list[str]) -> None:
    rows = [
        prompt("q/a", "{answer 1}", outputs=[TEXT], earlier=[["q/b"]]),
        prompt("q/b", "what", outputs=outputs),
    ]
    project.ask(rows if outputs == [TEXT] else rows[::-1], [NOISE])
    with pytest.raises(
        UserError, match=r"^data/prompts/quiz.parquet: prompt q/a repeats .* that of q/b, which"
    ):
        project.extract()
    assert not project.shards(), "nothing was asked in vain"


def test_hostile_braces_come_through_as_they_are(project: Project) -> None:
    hostile = "{answer 9} {answer 1} {0} {} {{ }} {%"
    rows = [
        prompt("q/a", hostile, [NOISE], outputs=[TEXT]),
        prompt(
            "q/b",
            "{answer 2} what",
            [NOISE],
            outputs=[TEXT],
            turns=[(hostile, "{answer 1}")],
            earlier=[["q/a"]],
        ),
    ]
    project.ask(rows, [NOISE])
    project.extract()
    said, plain, shown = texts(project), Plain(project.model), decode(NOISE)
    assert said["q/a"] == plain.text(hostile, shown, 4)
    filled = hostile.replace("{answer 1}", said["q/a"])
    assert said["q/b"] == plain.text("{answer 2} what", shown, 4, [(filled, said["q/a"])])

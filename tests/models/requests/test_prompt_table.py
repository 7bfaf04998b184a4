"""Tables of prompts that no stage of this project wrote, refused in one line; and placeholders of dialogues."""

from typing import Any

import pyarrow as pa
import pytest

from tests.models.project import DATASET, Project, picture, prompt, recipe
from vouch.images.pictures import render
from vouch.models.requests.prompt_table import Pending, PromptTable, check, fill
from vouch.pipeline.errors import UserError
from vouch.tables.prompts import OUTPUTS, PROMPTS, prompts_path

NOISE = picture(0)
PICTURE = recipe(NOISE)
STEP = {"operation": "blur", "severity": 3, "revision": 1}


def row(id: str, text: str = "what", **columns: Any) -> dict[str, Any]:
    return prompt(id, text, [NOISE], **{"outputs": OUTPUTS, "max_tokens": None, **columns})


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("text", None, "text is null"),
        ("id", None, "id is null"),
        ("options", None, "options is null"),
        ("options", [None, "a"], "options holds a null"),
        ("marks", ["A", None], "marks holds a null"),
        ("turns", [None], "turns holds a null"),
        ("turns", [{"question": "what", "answer": None}], "turns holds a null"),
        ("outputs", ["letters", "smell"], "asks for 'smell', which is none of letters, likelihood, text"),
        ("outputs", [None], "asks for None, which is none of letters, likelihood, text"),
        ("max_tokens", -5, "max_tokens is -5"),
        ("max_tokens", 0, "max_tokens is 0"),
        ("pictures", [None], "pictures holds a null"),
        ("pictures", [{**PICTURE, "images": None}], "pictures holds a null"),
        ("pictures", [{**PICTURE, "images": [None]}], "pictures holds a null"),
        ("pictures", [{**PICTURE, "steps": None}], "pictures holds a null"),
        ("pictures", [{**PICTURE, "steps": [None]}], "pictures holds a null"),
        ("pictures", [{**PICTURE, "steps": [{**STEP, "operation": None}]}], "pictures holds a null"),
        ("earlier", [None], "earlier holds a null"),
        ("id", "good/original", "its id stands already in row 1"),
    ],
)
def test_a_row_that_cannot_be_asked(column: str, value: Any, says: str) -> None:
    bad = {**row("bad/original"), column: value}
    with pytest.raises(UserError, match=rf"^x row 2: prompt .*{says}; ") as caught:
        check([row("good/original"), bad], "x")
    assert "\n" not in str(caught.value)


def test_only_texts_of_prompts_before_can_be_repeated() -> None:
    first, second = row("q/a/1"), row("q/a/2", "{answer 1}", earlier=[["q/a/1"]])
    assert check([first, second], "x") == {"q/a/1"} and check([first], "x") == frozenset()
    for rows, name in [
        ([second, first], "q/a/1"),
        ([row("q/a/1", outputs=["letters"]), second], "q/a/1"),
        ([{**second, "earlier": [["q/a/2"]]}], "q/a/2"),
        ([first, {**second, "earlier": [[]]}], "nobody"),
    ]:
        with pytest.raises(
            UserError,
            match=f"^x: prompt q/a/2 repeats as answer 1 that of {name}, .*correct its variation, a",
        ):
            check(rows, "x")


def test_every_row_is_checked_before_the_first_is_asked(project: Project) -> None:
    project.ask([row("good/original"), row("bad/original", earlier=[["bad/original"]])], [NOISE])
    with pytest.raises(UserError, match=r"^data/prompts/quiz\.parquet: prompt bad/original repeats"):
        project.extract()
    assert not project.shards(), "nothing was asked in vain"


def test_text_that_is_no_utf8(project: Project) -> None:
    table = pa.Table.from_pylist([row("good/original")], schema=PROMPTS.schema)
    broken = pa.StringArray.from_buffers(
        1, pa.array([0, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xfe")
    )
    place = table.column_names.index("text")
    PROMPTS.write(prompts_path(DATASET), table.set_column(place, "text", broken))
    with pytest.raises(UserError, match=r"^data/prompts/quiz\.parquet: damaged"):
        _ = PromptTable(DATASET, 4).repeated


@pytest.mark.parametrize("count", [0, 2])
def test_a_recipe_with_another_number_of_images(count: int) -> None:
    made = {**PICTURE, "images": PICTURE["images"] * count}
    with pytest.raises(UserError, match=f"of {count} images comes to {count} pictures instead of one"):
        render(made, lambda digest: NOISE)


def filled(text: str, known_texts: dict[str, str | None], *earlier: list[str], answer: str = "") -> Any:
    made, problem = fill(prompt("q/b", text, turns=[("why?", answer)], earlier=earlier), known_texts)
    assert problem is None
    return made["text"], made["turns"][0]["answer"]


def test_answers_stand_in_turns_and_text() -> None:
    known_texts = {"x": " dog\n", "y": "cat"}
    assert filled("{answer 2} {answer 1} {answer 2}", known_texts, ["x"], ["y"], answer="a {answer 1}!") == (
        "cat dog cat",
        "a dog!",
    )


def test_the_most_common_answer_and_of_equals_the_first() -> None:
    known_texts = {"a": "one", "b": "two", "c": "two ", "d": "one", "e": "three"}
    assert filled("{answer 1}", known_texts, ["a", "b", "c"])[0] == "two"
    assert filled("{answer 1}", known_texts, ["b", "a", "d", "c"])[0] == "two"
    assert filled("{answer 1}", known_texts, ["e", "a", "b"])[0] == "three"


def test_braces_of_others_are_plain_text() -> None:
    known_texts = {"x": "{answer 2} {answer 9} \\1 {0} {{", "y": "{answer 1}"}
    assert filled("{answer 1} {answer 9}", known_texts, ["x"], ["y"], answer="{answer 2}") == (
        "{answer 2} {answer 9} \\1 {0} {{ {answer 9}",
        "{answer 1}",
    )
    huge = "{answer " + "9" * 5000 + "} {answer 0} {answer -1} {answer} {answer 1 }"
    assert filled(huge, known_texts, ["x"])[0] == huge
    unasked, problem = fill(prompt("q/b", "{answer 1}"), {})
    assert unasked["text"] == "{answer 1}" and problem is None, (
        "a prompt that names no answers has no placeholders"
    )


def test_unknown_answers_are_waited_for_and_refused_ones_passed_on() -> None:
    row = prompt("q/b", "{answer 1}", earlier=[["x", "y"]])
    with pytest.raises(Pending):
        fill(row, {"x": "a"})
    assert fill(row, {"x": "a", "y": None})[1] == "repeats the answer to prompt y, which has none"

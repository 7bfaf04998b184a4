"""Placeholders of dialogues, and recipes of images that no stage of this project wrote."""

from typing import Any

import pytest

from tests.models.project import image, prompt, recipe
from tests.refusals import refused
from vouch.images.opening import render
from vouch.models.packs import Pending, fill

NOISE = image(0)


@pytest.mark.parametrize("count", [0, 2])
def test_a_recipe_with_another_number_of_images(count: int) -> None:
    made = {**recipe(NOISE), "images": recipe(NOISE)["images"] * count}
    with refused(f"of {count} images gives {count} images instead of one"):
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

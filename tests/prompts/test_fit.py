"""What `prepare` says of questions that their prompt template does not fit; tests/datasets has whole sets."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from vouch.prompts.fit import Fit, as_added, names_letters, names_others
from vouch.prompts.template import read_template
from vouch.tables import DONT_KNOW, NONE_OF_ABOVE

MMBENCH = Path(__file__).resolve().parents[3] / "shared/reference/vlm-uncertainty-bench/items-mmbench.parquet"


def fit(name: str, variant: str | None = None, counted: bool = True) -> Fit:
    return Fit(read_template(name, variant), name, counted)


def row(**changes: Any) -> dict[str, Any]:
    return {"question": "Which?", "hint": None, "options": ["x", "y"], "images": ["a"], **changes}


@pytest.mark.parametrize(
    ("option", "twice"),
    [
        ("None of the above", True), ("none of them.", True), ("None", True),
        ("None of these numbers is possible.", True), ("None of these options are correct.", True),
        (r"$\text{None of these}$", True), ("I don't know", True),
        ("None of these people had a good flight.", False), ("It cannot be determined.", False),
        ("neither; their concentrations are the same", False),
    ],
)  # fmt: skip
def test_options_that_the_template_adds_as_well(option: str, twice: bool) -> None:
    asked = row(options=["x", option])
    assert ("added_option_twice" in fit("kostumov").flags(asked)) == twice
    assert "added_option_twice" not in fit("plain").flags(asked), "adds none"


@pytest.mark.parametrize(
    ("option", "role"),
    [
        ("None of the above", NONE_OF_ABOVE), ("none of these.", NONE_OF_ABOVE),
        ("None of the other options", NONE_OF_ABOVE),
        ("None of the given answers is correct", NONE_OF_ABOVE), (r"$\text{None of these}$", NONE_OF_ABOVE),
        ("I don’t know", DONT_KNOW), ("I do not know.", DONT_KNOW), ("Don't know", DONT_KNOW),
        ("Ｎone of the above", NONE_OF_ABOVE), ("none of the listed", NONE_OF_ABOVE), ("None", None),
        ("none of them", None), ("None of these people had a good flight.", None),
        ("None of the animals", None), ("Neither of the above two", None), ("All of the above", None),
    ],
)  # fmt: skip
def test_options_that_say_what_a_template_may_add(option: str, role: int | None) -> None:
    """`None` and `none of them` may speak of what the question asks about."""
    assert as_added(option) == role


# The last of four options: whether it speaks of others by letter, and by letter or place
NAMING: dict[str, tuple[bool, bool]] = {
    **dict.fromkeys(
        [
            "Both A and B", "both a and b", "A and C only", "Only A", "A only", "Only B and C.", "B or C", "A & B",
            "(A) and (B)", "A, B", "A, B, and C", "A/B", "not A", "A but not B", "Neither A nor B", "All of A, B and C",
            "Options A and C", "option 2", "the same as option B", "same as A", "A and B are correct",
            "Ａ and Ｂ", "A和B", "A、B都对", "只有A", "选项A", "Tanto A como B", "sowohl A als auch B", "A + B",
            "Both B, C and D", "all of A, B, C, D", "A y B", "A et B", "A und B", "nur A", r"$\text{Both A and B}$",
        ],
        (True, True),
    ),
    **dict.fromkeys(
        [
            "All of the above", "None of the above", "none of the above is correct", "neither of the above two",
            "Either of the above", "Both of the above.", "All the above", "the above two", "Two of the above",
            "more than one of the above", "All of the options above", "None of the choices listed above",
            "The first two options", "All of the above except the last", "以上都是", "以上都不对", "上述全部",
            "todas las anteriores", "Nenhuma das anteriores", "keine der oben genannten", "ничего из вышеперечисленного",
            "toutes les réponses ci-dessus", "All above are not right", "All three of the above",
        ],
        (False, True),
    ),
    **dict.fromkeys(
        [
            "above", "above the table", "one above the other", "both above and below the line", "above and below",
            "18岁以上", "a dog", "A", "D only", "A dog and a cat", "a cat & dog", "both", "neither", "None", "none of these",
            "All of these", "both dogs", "vitamin A and C", "type A", "Hepatitis B", "Plan A", "X and Y", "R and D",
            "I and II only", "1 and 3", "the option a person takes", "answer a question", "The first picture",
            "the first statement is true", "a-b", "a and the", "a or the", "(a+b)*(a-b)", "C++", "A4 paper", "the following train", "",
        ],
        (False, False),
    ),
}  # fmt: skip


@pytest.mark.parametrize("option", NAMING)
def test_options_that_name_others(option: str) -> None:
    options = ("w", "x", "y", option)
    assert (names_letters(options), names_others(options)) == NAMING[option]
    assert ("option_names_options" in fit("plain").flags(row(options=list(options)))) == NAMING[option][1]


def test_options_that_name_labels_of_the_picture() -> None:
    """An option that names its own letter speaks of something else."""
    assert not names_others(("A and B", "B and C", "C and A", "D and A"))
    assert names_others(("A", "B", "C", "B or C"))


@pytest.mark.parametrize(
    ("changes", "plain", "interleaved"),
    [
        ({}, set(), set()),
        ({"question": "Which?\n<image1>"}, {"mark_dropped"}, set()),
        ({"question": "Is <image 1> red?"}, {"mark_in_words"}, set()),
        ({"question": "Is image 1 red? <image 1>"}, {"mark_dropped"}, set()),
        ({"options": ["<image 1>", "y"]}, {"mark_in_words"}, set()),
        ({"question": "Is <image 1> or <image 2> red?", "images": ["a", "b"]}, {"mark_in_words"}, set()),
        ({"question": "<image 1> Is <image 1> red?"}, {"mark_dropped", "mark_in_words"}, {"mark_in_words"}),
        ({"hint": "See this.\n<image 1>", "options": []}, {"mark_dropped"}, set()),
    ],
)
def test_marks(changes: dict[str, Any], plain: set[str], interleaved: set[str]) -> None:
    assert fit("plain").flags(row(**changes)) == plain
    assert fit("plain", "interleaved").flags(row(**changes)) == interleaved


def test_what_no_prompt_can_be_made_of() -> None:
    assert fit("kostumov").problem(24, 1, [3]) == "" == fit("plain").problem(26, 1, [3])
    assert fit("kostumov").problem(25, 1, [3]).startswith("27 options with the 2 that template kostumov adds")
    assert fit("kostumov", counted=False).problem(25, 1, [3]) == "", "a scheme brings them to fewer"
    joined = fit("kostumov", "joined")
    assert (
        joined.problem(2, 2, [3, 3]) == "" == joined.problem(2, 3, [3, 4, 5]) == joined.problem(2, 1, [3, 4])
    )
    assert "heights of 3 and 4 pixels" in joined.problem(2, 2, [3, 3, 4])


@pytest.mark.skipif(not MMBENCH.exists(), reason="the reference data are not on this machine")
def test_36_of_4377_mmbench_items_have_an_option_of_their_own_that_the_template_adds() -> None:
    rows = pq.read_table(MMBENCH, columns=["question", *"ABCD"]).to_pylist()
    kostumov = fit("kostumov")
    options = [[one[letter] for letter in "ABCD" if one[letter]] for one in rows]
    flags = [
        kostumov.flags(row(question=one["question"], options=own))
        for one, own in zip(rows, options, strict=True)
    ]
    assert len(rows) == 4377 and sum("added_option_twice" in found for found in flags) == 36
    assert sum("option_names_options" in found for found in flags) == 94
    assert not any(found - {"added_option_twice", "option_names_options"} for found in flags)

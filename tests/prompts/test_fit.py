"""What `prepare` says of questions that their prompt template does not fit; tests/datasets has whole sets."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from vouch.prompts.build.fit import Fit
from vouch.prompts.build.template import read_template

MMBENCH = Path(__file__).resolve().parents[3] / "shared/reference/vlm-uncertainty-bench/items-mmbench.parquet"


def fit(name: str, variant: str | None = None, counted: bool = True) -> Fit:
    return Fit(read_template(name, variant), name, counted)


def row(**changes: Any) -> dict[str, Any]:
    return {"question": "Which?", "hint": None, "options": ["x", "y"], "images": ["a"], **changes}


@pytest.mark.parametrize(
    ("option", "twice"),
    [
        ("None of the above", True),
        ("none of them.", True),
        ("None", True),
        ("None of these numbers is possible.", True),
        ("None of these options are correct.", True),
        (r"$\text{None of these}$", True),
        ("I don't know", True),
        ("None of these people had a good flight.", False),
        ("It cannot be determined.", False),
        ("neither; their concentrations are the same", False),
    ],
)
def test_options_that_the_template_adds_as_well(option: str, twice: bool) -> None:
    asked = row(options=["x", option])
    assert fit("kostumov").flags(asked) == ({"added_option_twice"} if twice else set())
    assert fit("plain").flags(asked) == set(), "adds none"


@pytest.mark.parametrize(
    ("changes", "plain", "marks"),
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
def test_marks(changes: dict[str, Any], plain: set[str], marks: set[str]) -> None:
    assert fit("plain").flags(row(**changes)) == plain
    assert fit("plain", "interleaved").flags(row(**changes)) == marks


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
    assert not any(found - {"added_option_twice"} for found in flags)

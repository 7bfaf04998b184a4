"""Every file of stages/vary/variations, and what its prompts look like."""

from dataclasses import replace
from typing import Any

import pytest

from stages.contracts.prompts import DONT_KNOW, EFFECTS, NONE_OF_ABOVE
from stages.extract.operations import revision_of
from stages.runtime.errors import UserError
from stages.vary.__main__ import STYLES, item_rows
from stages.vary.combination import FILES, load_variation
from stages.vary.style import parse_style
from stages.vary.variation import FAMILIES, PARTS, Item
from stages.yaml12 import load

NAMES = sorted(path.stem for path in FILES.glob("[!_]*.py"))
STYLE = parse_style(load(STYLES / "kostumov.yaml"), "kostumov.yaml")
JOINED = STYLE.model_copy(update={"pictures": "joined"})
ITEM = Item("q", "g", "What?", None, ("x", "y", "z"), (0,), ("d1", "d2"), "choice")


def rows(name: str, item: Item = ITEM, style: Any = STYLE) -> list[dict[str, Any]]:
    """The prompts of an item in a variation."""
    return list(item_rows(item, [load_variation(name)], style, "kostumov", None, before={}))


def steps(row: dict[str, Any]) -> list[Any]:
    """Sources and steps of the pictures."""
    return [
        (recipe["images"], *((step["operation"], step["severity"]) for step in recipe["steps"]))
        for recipe in row["pictures"]
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_says_what_it_is(name: str) -> None:
    (part,) = load_variation(name).parts
    assert set(part.changes) <= set(PARTS) and part.effect in EFFECTS and part.family in FAMILIES
    for row in rows(name):
        assert row["variation"] == name and row["id"].startswith(f"q/{name}")
        assert (row["family"], row["effect"]) == (part.family, part.effect)
        for step in (step for recipe in row["pictures"] for step in recipe["steps"]):
            assert step["revision"] == revision_of(step["operation"]), (
                "recipes are those that extract renders"
            )


@pytest.mark.parametrize(
    ("name", "operation", "severity"),
    [
        ("vr_b", "blur", 3),
        ("vr_b_5", "blur", 5),
        ("vr_l", "brighten", 3),
        ("vr_l_1", "brighten", 1),
        ("vr_r", "rotate", 0),
        ("blank", "blank", 0),
    ],
)
def test_pictures_are_disturbed_one_by_one(name: str, operation: str, severity: int) -> None:
    (original,), (row,) = rows("original"), rows(name)
    assert row["id"] == f"q/{name}"
    step = (operation, severity)
    assert steps(row) == [(["d1"], step), (["d2"], step)]
    assert all(row[key] == original[key] for key in ("text", "order", "options", "answers", "asks"))
    (joined,) = rows(name, style=JOINED)
    assert steps(joined) == [(["d1", "d2"], step, ("side_by_side", 0))], "before they are joined"


@pytest.mark.parametrize("name", ["vr_b", "vr_l", "vr_r", "blank"])
def test_without_a_picture_there_is_nothing_to_disturb(name: str) -> None:
    assert rows(name, replace(ITEM, images=())) == []


def test_options_are_reversed_and_added_ones_stay_last() -> None:
    (row,) = rows("option_order")
    assert row["order"] == [2, 1, 0, DONT_KNOW, NONE_OF_ABOVE]
    assert row["options"][:3] == ["z", "y", "x"] and row["answers"] == [2]
    assert row["text"].splitlines()[1:4] == ["A. z", "B. y", "C. x"]
    assert steps(row) == [(["d1"],), (["d2"],)]


@pytest.mark.parametrize("options", [(), ("x",)])
def test_there_is_no_other_order_of_less_than_two_options(options: tuple[str, ...]) -> None:
    assert rows("option_order", replace(ITEM, options=options, answers=())) == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("vr_bb", r"unknown variation vr_bb; valid: blank, .*did you mean vr_b\?"),
        ("vr_b_6", "unknown variation vr_b_6; valid: vr_b_1 to vr_b_5"),
        ("vr_b_03", "valid: vr_b_1 to vr_b_5"),
        ("vr_r_2", "valid: vr_r, which has no levels"),
        ("option_order+nothing", "unknown variation nothing; valid: "),
        ("vr_b+vr_l", "vr_b and vr_l both change the pictures; combine variations that change different"),
        ("vr_b+vr_b", "vr_b and vr_b both change the pictures"),
        ("original+vr_b", "variation original.vr_b: original changes nothing; leave it out"),
    ],
)
def test_names_that_are_no_variation(name: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        load_variation(name)


def test_two_names_of_one_variation() -> None:
    same = [["vr_b", "vr_b_3"], ["vr_b_4+option_order", "option_order+vr_b_4"]]
    for one, other in same:
        assert load_variation(one).same_as == load_variation(other).same_as
    different = ("original", "option_order", "vr_b", "vr_b_4", "vr_l_4", "vr_b_4+option_order")
    assert len({load_variation(name).same_as for name in different}) == len(different)


def test_a_combination_does_one_after_the_other() -> None:
    (row,) = rows("option_order+vr_b_2", style=JOINED)
    assert row["id"] == "q/option_order+vr_b_2" and (row["family"], row["effect"]) == ("VR", "kept")
    assert row["order"][:3] == [2, 1, 0]
    assert steps(row) == [(["d1", "d2"], ("blur", 2), ("side_by_side", 0))]
    assert rows("vr_b+option_order", replace(ITEM, images=())) == []

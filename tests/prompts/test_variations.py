"""Every file of vouch/prompts/variations, and what its prompts look like."""

from dataclasses import replace
from typing import Any

import pytest

from tests.prompts.rows import item_rows
from vouch.images.operations import revision_of
from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import load
from vouch.prompts.build.combination import FILES, load_variation
from vouch.prompts.build.template import TEMPLATES, parse_template
from vouch.prompts.build.variation import FAMILIES, PARTS, Item
from vouch.tables.prompts import DONT_KNOW, EFFECTS, NONE_OF_ABOVE

NAMES = sorted(path.stem for path in FILES.glob("[!_]*.py"))
STYLE = parse_template(load(TEMPLATES / "kostumov.yaml"), "kostumov.yaml")
JOINED = STYLE.model_copy(update={"pictures": "joined"})
ITEM = Item("q", "g", "What?", None, ("x", "y", "z"), (0,), ("d1", "d2"), "choice")


def rows(name: str, item: Item = ITEM, template: Any = STYLE) -> list[dict[str, Any]]:
    """The prompts of an item in a variation."""
    return list(item_rows(item, [load_variation(name)], template, "kostumov", None, before={}))


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
        ("jpeg_2", "jpeg", 2),
        ("vr_r", "rotate", 0),
        ("blank", "blank", 0),
    ],
)
def test_pictures_are_disturbed_one_by_one(name: str, operation: str, severity: int) -> None:
    (original,), (row,) = rows("original"), rows(name)
    assert row["id"] == f"q/{name}"
    step = (operation, severity)
    assert steps(row) == [(["d1"], step), (["d2"], step)]
    assert all(row[key] == original[key] for key in ("text", "order", "options", "answers", "outputs"))
    (joined,) = rows(name, template=JOINED)
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
        ("vr_bb", r"unknown variation vr_bb; did you mean vr_b\?"),
        ("vr_b_6", "unknown variation vr_b_6; valid: vr_b_1 to vr_b_5"),
        ("vr_b_03", "valid: vr_b_1 to vr_b_5"),
        ("vr_r_2", "valid: vr_r, which has no levels"),
        ("tests_51", "unknown variation tests_51; valid: tests_1 to tests_50"),
        ("shuffled_0", "valid: shuffled_1 to shuffled_50"),
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
    same = [["vr_b", "vr_b_3"], ["tests", "tests_5"], ["vr_b_4+option_order", "option_order+vr_b_4"]]
    for one, other in same:
        assert load_variation(one).same_as == load_variation(other).same_as
    different = ("original", "option_order", "vr_b", "vr_b_4", "vr_l_4", "vr_b_4+option_order")
    assert len({load_variation(name).same_as for name in different}) == len(different)


def test_a_combination_does_one_after_the_other() -> None:
    (row,) = rows("option_order+vr_b_2", template=JOINED)
    assert row["id"] == "q/option_order+vr_b_2" and (row["family"], row["effect"]) == ("VR", "kept")
    assert row["order"][:3] == [2, 1, 0]
    assert steps(row) == [(["d1", "d2"], ("blur", 2), ("side_by_side", 0))]
    assert rows("vr_b+option_order", replace(ITEM, images=())) == []


PAIR = Item("p", "g", "Which has more?", None, ("Left", "Right"), (0,), ("d1", "d2"), "choice")


def test_swapped_pictures_turn_the_answer() -> None:
    (row,) = rows("vs_s", PAIR)
    assert steps(row) == [(["d2"],), (["d1"],)] and row["answers"] == [1]
    assert (row["family"], row["effect"]) == ("VS", "swapped")
    assert row["text"] == rows("original", PAIR)[0]["text"]
    (joined,) = rows("vs_s", PAIR, JOINED)
    assert steps(joined) == [(["d2", "d1"], ("side_by_side", 0))]
    (reversed_,) = rows("option_order+vs_s", PAIR)
    assert reversed_["options"][:2] == ["Right", "Left"] and reversed_["answers"] == [0]


@pytest.mark.parametrize(
    ("options", "sides"),
    [
        (("Left", "Right"), True),
        (("the right image.", "The left image."), True),
        (("First", "second picture"), True),
        (("<image 1>", "<image 2>"), True),
        (("Photo 2", "picture 1"), True),
        (("1", "2"), False),
        (("left", "left image"), False),
        (("left", "second"), False),
        (("left", "right", "both"), False),
        (("turn left", "turn right"), False),
        (("yes", "no"), False),
        (("image", "picture"), False),
        (("", ""), False),
    ],
)
def test_options_that_name_the_two_pictures(options: tuple[str, ...], sides: bool) -> None:
    assert bool(rows("vs_s", replace(PAIR, options=options))) == sides


def test_one_picture_or_three_have_nothing_to_swap() -> None:
    for images in ((), ("d1",), ("d1", "d2", "d3")):
        assert rows("vs_s", replace(PAIR, images=images)) == []
    assert rows("vs_s", replace(PAIR, answers=())) == rows("vs_s", replace(PAIR, answers=(0, 1))) == []


def test_an_exchanged_picture_turns_the_answer() -> None:
    (row,) = rows("vs_e", replace(PAIR, exchange=(None, "x")))
    assert steps(row) == [(["d1"],), (["x"],)] and row["answers"] == [1] and row["effect"] == "swapped"
    assert steps(rows("vs_e", replace(PAIR, exchange=("x", None)))[0]) == [(["x"],), (["d2"],)]
    assert rows("vs_e", PAIR) == rows("vs_e", replace(PAIR, exchange=(None, None))) == []
    both = [rows("vs_e", replace(PAIR, id=f"i{n}", exchange=("x", "y")))[0] for n in range(40)]
    places = [[recipe["images"][0] in "xy" for recipe in row["pictures"]].index(True) for row in both]
    assert 10 < sum(places) < 30
    assert steps(both[0]) == steps(rows("vs_e", replace(PAIR, id="i0", exchange=("x", "y")))[0])


@pytest.mark.parametrize("pictures", ["first", "marks", "joined", "merged"])
@pytest.mark.parametrize("images", [("d1",), ("d1", "d2")])
def test_without_its_pictures_an_item_is_asked_in_the_same_words(pictures: str, images: Any) -> None:
    template = STYLE.model_copy(update={"pictures": pictures})
    item = replace(PAIR, images=images, question="Look at this:\n<image 1>\nWhich?", hint="h")
    (row,), (original,) = rows("text_only", item, template), rows("original", item, template)
    assert row["pictures"] == [] and row["outputs"] == original["outputs"] == ["letters"]
    assert "<image" not in row["text"]
    if pictures != "marks":
        assert row["text"] == original["text"]
    assert rows("text_only", replace(item, images=())) == []
    assert rows("original", replace(item, images=()))[0]["outputs"] == [], (
        "nobody asks an item without a picture"
    )


def test_pictures_and_options_without_a_question() -> None:
    item = replace(ITEM, hint="Look up.", question="Which?\n<image 1>")
    (row,) = rows("image_only", item)
    assert row["text"].startswith("A. x\nB. y\n") and steps(row) == steps(rows("original", item)[0])
    assert rows("image_only", replace(item, images=())) == []
    assert rows("image_only", replace(item, kind="text", options=(), answers=())) == []


def test_every_rotation_of_the_options() -> None:
    made = rows("circular")
    assert [row["id"] for row in made] == ["q/circular/1", "q/circular/2", "q/circular/3"]
    assert [row["order"][:3] for row in made] == [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    assert all(row["order"][3:] == [DONT_KNOW, NONE_OF_ABOVE] for row in made)
    assert [row["answers"] for row in made] == [[0], [2], [1]]
    assert made[0]["text"] == rows("original")[0]["text"]
    assert rows("circular", replace(ITEM, options=("x",))) == []

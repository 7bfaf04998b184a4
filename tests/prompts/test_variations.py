"""What each variation does to an item, which items it does not apply to, and which names are refused."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tests.prompts.rows import item_rows
from tests.refusals import refused
from vouch.pipeline.yaml12 import load
from vouch.prompts.combination import load_variation
from vouch.prompts.draft import Item
from vouch.prompts.template import TEMPLATES, parse_template
from vouch.prompts.variations import declared
from vouch.tables.asked import TEXT, painted_option

NAMES = declared()
STYLE = parse_template(load(TEMPLATES / "kostumov.yaml"), "kostumov.yaml")
JOINED = STYLE.model_copy(update={"images": "joined"})
ITEM = Item("q", "g", "What?", None, ("x", "y", "z"), (0,), ("d1", "d2"), "choice")


def rows(name: str, item: Item = ITEM, template: Any = STYLE) -> list[dict[str, Any]]:
    """The prompts of an item in a variation."""
    return list(
        item_rows(item, [load_variation(name)], template, "kostumov", None, before={"q/original": (TEXT,)})
    )


def steps(row: dict[str, Any]) -> list[Any]:
    """Sources and steps of the pictures."""
    return [
        (recipe["images"], *((step["operation"], step["severity"]) for step in recipe["steps"]))
        for recipe in row["images"]
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_says_what_it_is(name: str) -> None:
    (part,) = load_variation(name).parts
    for row in rows(name):
        assert row["variation"] == name and row["id"].startswith(f"q/{name}")
        assert (row["family"], row["effect"]) == (part.declaration.family, part.declaration.effect)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("vr_bb", r"unknown variation vr_bb; did you mean vr_b\?"),
        ("vr_b_6", "unknown variation vr_b_6; valid: vr_b_1 to vr_b_5"),
        ("vr_b_03", "valid: vr_b_1 to vr_b_5"), ("vr_r_2", "valid: vr_r, which has no levels"),
        ("tests_51", "unknown variation tests_51; valid: tests_1 to tests_50"),
        ("shuffled_0", "valid: shuffled_1 to shuffled_50"),
        ("option_order+qqqq", "unknown variation qqqq; valid: "),
        ("vr_b+vr_l", "vr_b and vr_l both change the images; combine variations that change different"),
        ("vr_b+vr_b", "vr_b and vr_b both change the images"),
        ("original+vr_b", "variation original.vr_b: original changes nothing; leave it out"),
    ],
)  # fmt: skip
def test_names_that_are_no_variation(name: str, reason: str) -> None:
    with refused(reason):
        load_variation(name)


def test_two_names_of_one_variation() -> None:
    same = [["vr_b", "vr_b_3"], ["tests", "tests_5"], ["vr_b_4+option_order", "option_order+vr_b_4"]]
    for one, other in same:
        assert load_variation(one).same_as == load_variation(other).same_as
    different = ("original", "option_order", "vr_b", "vr_b_4", "vr_l_4", "vr_b_4+option_order")
    assert len({load_variation(name).same_as for name in different}) == len(different)


PAIR = Item("p", "g", "Which has more?", None, ("Left", "Right"), (0,), ("d1", "d2"), "choice")


@pytest.mark.parametrize(
    ("names", "item", "changes"),
    [
        (["vr_b", "vr_l", "jpeg", "vr_r", "blank", "image_only", "vr_b+option_order"], ITEM, {"images": ()}),
        (["option_order", "circular"], ITEM, {"options": ("x",)}),
        (["option_order", "circular", "image_only"], ITEM, {"kind": "text", "options": (), "answers": ()}),
        *((["vs_s"], PAIR, {"images": images}) for images in ((), ("d1",), ("d1", "d2", "d3"))),
        *((["vs_s"], PAIR, {"answers": answers}) for answers in ((), (0, 1))),
    ],
)
def test_items_that_a_variation_does_not_apply_to(names: list[str], item: Item, changes: Any) -> None:
    for name in names:
        assert rows(name, item) and not rows(name, replace(item, **changes)), name


ORDERS = ("option_order", "circular", "shuffled", "tests", "vr_b+option_order", "circular+blank")


@pytest.mark.parametrize(
    ("last", "orders", "labels"),
    [
        ("z", True, True), ("neither of these", True, True), ("Both A and B", False, False),
        ("A and B only", False, False), ("neither of the above two", False, True),
        ("All of the above", False, True),
    ],
)  # fmt: skip
def test_options_that_name_others_stay_where_they_are(last: str, orders: bool, labels: bool) -> None:
    item = replace(ITEM, options=("x", "y", last))
    assert {name: bool(rows(name, item)) for name in ORDERS} == dict.fromkeys(ORDERS, orders)
    assert bool(rows("labels", item)) == labels
    for name in ("original", "vr_b", "p_true"):
        assert rows(name, item), name


@pytest.mark.parametrize(
    ("options", "variation", "right"),
    [
        (("x", "None of the above"), "original", [1, 3]), (("x", "None of these."), "vr_b", [1, 3]),
        (("x", "I don't know"), "original", [1, 2]), (("x", "None"), "original", [1]),
        (("x", "None of these"), "option_order", [0, 3]), (("x", "y"), "original", [1]),
    ],
)  # fmt: skip
def test_an_added_option_that_says_the_answer_is_right(
    options: tuple[str, ...], variation: str, right: list[int]
) -> None:
    item = replace(ITEM, options=options, answers=(1,))
    (row,) = rows(variation, item)
    assert row["answers"] == right and row["order"][2:] == [-1, -2]
    (plain,) = rows(variation, item, STYLE.model_copy(update={"added": {}}))
    assert plain["answers"] == right[:1]
    wrong = replace(item, answers=(0,))
    assert len(rows(variation, wrong)[0]["answers"]) == 1


@pytest.mark.parametrize(
    ("options", "sides"),
    [
        (("Left", "Right"), True), (("the right image.", "The left image."), True),
        (("First", "second picture"), True), (("<image 1>", "<image 2>"), True),
        (("Photo 2", "picture 1"), True), (("1", "2"), False), (("left", "left image"), False),
        (("left", "second"), False), (("left", "right", "both"), False),
        (("turn left", "turn right"), False), (("yes", "no"), False), (("image", "picture"), False),
        (("", ""), False),
    ],
)  # fmt: skip
def test_options_that_name_the_two_pictures(options: tuple[str, ...], sides: bool) -> None:
    assert bool(rows("vs_s", replace(PAIR, options=options))) == sides


def test_an_exchanged_picture_turns_the_answer() -> None:
    (row,) = rows("vs_e", replace(PAIR, exchange=(None, "x")))
    assert steps(row) == [(["d1"],), (["x"],)] and row["answers"] == [1] and row["effect"] == "swapped"
    assert steps(rows("vs_e", replace(PAIR, exchange=("x", None)))[0]) == [(["x"],), (["d2"],)]
    assert rows("vs_e", PAIR) == rows("vs_e", replace(PAIR, exchange=(None, None))) == []
    both = [rows("vs_e", replace(PAIR, id=f"i{n}", exchange=("x", "y")))[0] for n in range(40)]
    places = [[recipe["images"][0] in "xy" for recipe in row["images"]].index(True) for row in both]
    assert 10 < sum(places) < 30
    assert steps(both[0]) == steps(rows("vs_e", replace(PAIR, id="i0", exchange=("x", "y")))[0])


@pytest.mark.parametrize("way", ["first", "interleaved", "joined", "merged"])
@pytest.mark.parametrize("images", [("d1",), ("d1", "d2")])
def test_without_its_pictures_an_item_is_asked_in_the_same_words(way: str, images: Any) -> None:
    template = STYLE.model_copy(update={"images": way})
    item = replace(PAIR, images=images, question="Look at this:\n<image 1>\nWhich?", hint="h")
    (row,), (original,) = rows("text_only", item, template), rows("original", item, template)
    assert row["images"] == [] and row["outputs"] == original["outputs"] == ["letters"]
    assert "<image" not in row["text"]
    if way != "interleaved":
        assert row["text"] == original["text"]
    assert rows("text_only", replace(item, images=())) == []
    assert rows("original", replace(item, images=()))[0]["outputs"] == ["letters"]
    assert rows("original", replace(item, images=(), question=" "))[0]["outputs"] == [], (
        "nobody asks an item with neither an image nor a question"
    )


ATTACK, CONTROL = "typographic", "typographic_control"


def painted(name: str, item: Item, template: Any = None) -> list[tuple[str, str]]:
    """Look and text of the words on each picture of the only prompt."""
    (row,) = rows(name, item, template) if template else rows(name, item)
    steps = [[step["operation"] for step in recipe["steps"]] for recipe in row["images"]]
    assert row["answers"] == list(item.answers) and row["effect"] == "kept"
    return [tuple(found[0].removeprefix("write:").split(":", 1)) for found in steps]  # type: ignore[misc]


def test_a_wrong_option_is_painted_and_the_control_in_its_place() -> None:
    items = [replace(ITEM, id=f"i{number}") for number in range(300)]
    words = Counter(painted(ATTACK, item)[0][1] for item in items)
    assert set(words) == {"y", "z"} and min(words.values()) > 100
    for item in items[:40]:
        attack, control = painted(ATTACK, item), painted(CONTROL, item)
        assert [look for look, _ in attack] == [look for look, _ in control]
        assert {text for _, text in control} == {"example"}
        assert attack[0][1] == item.options[painted_option(item.id, 3, item.answers) or 0]
        assert painted(ATTACK, item) == attack, "the item's id decides"
    assert len({painted(ATTACK, item)[0][0] for item in items}) > 200


def test_each_of_two_pictures_is_painted_before_they_are_joined() -> None:
    (row,) = rows(ATTACK, PAIR, JOINED)
    (recipe,) = row["images"]
    assert [step["operation"].split(":")[0] for step in recipe["steps"]] == ["write", "side_by_side"]
    assert painted(ATTACK, PAIR)[0][1] == "Right"


@pytest.mark.parametrize(
    "changes",
    [
        {"images": ()},
        {"answers": (0, 1, 2)},
        {"options": ("x", "größer", "红")},
        {"options": (), "answers": ()},
    ],
)
def test_items_that_cannot_be_attacked_have_no_control_either(changes: Any) -> None:
    assert rows(ATTACK, replace(ITEM, **changes)) == rows(CONTROL, replace(ITEM, **changes)) == []

"""Every file of stages/vary/variations, and what its prompts look like."""

from pathlib import Path

import pytest

from stages.contracts.prompts import DONT_KNOW, NONE_OF_ABOVE
from stages.extract.pictures import OPERATIONS
from stages.vary import variations
from stages.vary.__main__ import STYLES, load_variation
from stages.vary.prompt import prompt_row
from stages.vary.style import parse_style
from stages.vary.variation import Draft, Item
from stages.yaml12 import load

NAMES = sorted(path.stem for path in Path(variations.__file__).parent.glob("[!_]*.py"))
STYLE = parse_style(load(STYLES / "kostumov.yaml"), "kostumov.yaml")
ITEM = Item("q", "g", "What?", None, ("x", "y", "z"), (0,), ("d1", "d2"), "choice")


def drafts(name: str, item: Item = ITEM) -> list[Draft]:
    """The drafts of a variation, in a list."""
    found = load_variation(name).vary(item, STYLE)
    return [found] if isinstance(found, Draft) else list(found or ())


@pytest.mark.parametrize("name", NAMES)
def test_recipes_are_those_that_extract_renders(name: str) -> None:
    for draft in drafts(name):
        for picture in draft.pictures:
            assert picture.revision == OPERATIONS[picture.operation][0]
            row = prompt_row(draft, name, "kostumov", None)
            assert row["variation"] == name and row["id"].startswith(f"q/{name}")


@pytest.mark.parametrize(
    ("name", "operation", "severity"),
    [("vr_b", "blur", 3), ("vr_l", "brighten", 3), ("vr_r", "rotate", 0), ("blank", "blank", 0)],
)
def test_pictures_are_disturbed_one_by_one(name: str, operation: str, severity: int) -> None:
    (original,), (draft,) = drafts("original"), drafts(name)
    shown = [(picture.images, picture.operation, picture.severity) for picture in draft.pictures]
    assert shown == [(("d1",), operation, severity), (("d2",), operation, severity)]
    texts = [prompt_row(each, "any", "kostumov", None)["text"] for each in (original, draft)]
    assert texts[0] == texts[1] and draft.order == original.order


@pytest.mark.parametrize("name", ["vr_b", "vr_l", "vr_r", "blank"])
def test_without_a_picture_there_is_nothing_to_disturb(name: str) -> None:
    assert drafts(name, Item("q", "g", "What?", None, ("x", "y"), (0,), (), "choice")) == []


def test_options_are_reversed_and_added_ones_stay_last() -> None:
    (draft,) = drafts("option_order")
    row = prompt_row(draft, "option_order", "kostumov", None)
    assert row["order"] == [2, 1, 0, DONT_KNOW, NONE_OF_ABOVE]
    assert row["options"][:3] == ["z", "y", "x"] and row["answers"] == [2]
    assert row["text"].splitlines()[1:4] == ["A. z", "B. y", "C. x"]
    assert [picture["operation"] for picture in row["pictures"]] == ["original"] * 2


@pytest.mark.parametrize("options", [(), ("x",)])
def test_there_is_no_other_order_of_less_than_two_options(options: tuple[str, ...]) -> None:
    assert drafts("option_order", Item("q", "g", "What?", None, options, (), ("d1",), "choice")) == []

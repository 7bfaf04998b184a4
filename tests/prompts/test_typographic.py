"""Typographic attacks: what is painted where, and that the control differs by the words alone."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tests.prompts.test_variations import ITEM, JOINED, PAIR, rows
from vouch.prompts.draft import Item
from vouch.tables.asked import painted_option

ATTACK, CONTROL = "typographic", "typographic_control"


def painted(name: str, item: Item, template: Any = None) -> list[tuple[str, str]]:
    """Look and text of the words on each picture of the only prompt."""
    (row,) = rows(name, item, template) if template else rows(name, item)
    steps = [[step["operation"] for step in recipe["steps"]] for recipe in row["pictures"]]
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
    (recipe,) = row["pictures"]
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

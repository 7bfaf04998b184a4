"""Every variation on items of the demo: the words, the correct options and the pictures that it must give, as
the tables of tests/prompts/every have them. A variation without a line there fails."""

from collections.abc import Callable, Sequence
from functools import cache

import pytest

from tests.prompts.every.demo_items import DEMO
from tests.prompts.every.expected import Asked
from tests.prompts.every.made import Made, checkout, correct
from vouch.images.opening import pixel_digest
from vouch.prompts.variations import declared

NAMES = set(declared()) - {"typographic", "typographic_control", "p_true"}  # tests of their own


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Made]:
    """A dataset of the demo, made when it is first asked for."""
    folder = checkout(tmp_path_factory.mktemp("demo"))

    @cache
    def made(name: str) -> Made:
        entry, _, table = DEMO[name]
        return Made(folder, name, entry, table)

    return made


def check(made: Made, item: str, variation: str, expected: Sequence[Asked]) -> None:
    rows = made.prompts(item, variation)
    assert [row["text"] for row in rows] == [one.text for one in expected]
    sources = made.sources(item)
    for row, one in zip(rows, expected, strict=True):
        assert correct(row) == one.right
        assert [(turn["question"], turn["answer"]) for turn in row["turns"]] == list(one.turns)
        assert row["response"] == one.response
        assert [tuple(ids) for ids in row["earlier"]] == list(one.earlier)
        wanted = one.look([sources[place] for place in one.images])
        assert pixel_digest(made.images(row)) == pixel_digest(wanted)
        assert row["outputs"], "a model is asked"


@pytest.mark.parametrize(
    ("dataset", "variation"),
    [pytest.param(name, variation, id=f"{name}-{variation}") for name in DEMO for variation in DEMO[name][2]],
)
def test_items_of_the_demo(demo: Callable[[str], Made], dataset: str, variation: str) -> None:
    _, item, table = DEMO[dataset]
    check(demo(dataset), item, variation, table[variation])


def test_every_variation_has_a_line_for_every_item() -> None:
    for name, (_, _, table) in DEMO.items():
        assert not NAMES - set(table), f"{name}: add what these must give, or an empty list"
    shown = {name for _, _, table in DEMO.values() for name, asked in table.items() if asked}
    assert shown >= NAMES, "each is shown where it applies"

"""The shapes dataset: what it promises, and its answers against the pixels of its pictures."""

import io
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pydantic import ValidationError

from vouch.datasets.loaders.shapes import Settings, count, read
from vouch.datasets.raw import RawItem
from vouch.datasets.read.files import Source
from vouch.demo.scenes.phrasings import HELD_OUT, TRAINED
from vouch.demo.scenes.questions import CHOICE_TASKS
from vouch.demo.scenes.scene import COLOURS

SOURCE = Source(Path("vouch/demo/scenes"))


def items(**settings: object) -> list[RawItem]:
    return list(read(SOURCE, "shapes", Settings(**{"seed": 7, "items": 240, **settings})))


def colour_cells(data: bytes) -> dict[str, set[tuple[int, int]]]:
    """Quarters (column, row) of a picture in which at least two pixels have a colour exactly."""
    pixels = np.asarray(Image.open(io.BytesIO(data)))
    found = defaultdict(set)
    for colour, rgb in COLOURS.items():
        rows, columns = np.nonzero((pixels == rgb).all(axis=2))
        quarters = Counter(zip((columns // 32).tolist(), (rows // 32).tolist(), strict=True))
        found[colour] = {quarter for quarter, number in quarters.items() if number >= 2}
    return found


def test_answers_agree_with_the_pixels() -> None:
    checked = Counter()
    for item in items(items=600):
        cells, (right,) = colour_cells(item.images[0]), item.answers
        answer, words = item.options[right], item.question.rstrip("?.").split()
        named = [word for word in words if word in COLOURS]
        if item.category == "colour":
            assert cells[answer]
        elif item.category == "position":
            quarter = (int("right" in answer), int("bottom" in answer))
            assert quarter in cells[named[0]]
        elif item.category == "count" and named:
            assert bool(cells[named[0]]) == (answer != "zero")
        elif item.category == "exist":
            assert cells[answer.split()[0]]
        elif item.category == "exist_not":
            wrong = [option for option in item.options if option != answer]
            assert all(cells[option.split()[0]] for option in wrong)
        elif item.category == "shape":
            assert cells[named[0]]
        checked[item.category] += 1
    assert set(checked) == set(CHOICE_TASKS)


def test_items_are_well_formed() -> None:
    made = items()
    assert (
        len({item.id for item in made}) == len(made) == count(SOURCE, "shapes", Settings(seed=7, items=240))
    )
    for item in made:
        assert 2 <= len(item.options) == len(set(item.options)) <= 4
        assert len(item.answers) == 1 and 0 <= item.answers[0] < len(item.options)
        assert item.kind == "choice" and item.hint is None
    sizes = Counter(len(item.options) for item in made)
    assert set(sizes) == {2, 3, 4} and sizes[4] > 0.75 * len(made)
    assert Counter(item.category for item in made) == dict.fromkeys(CHOICE_TASKS, 40)
    places = Counter(item.answers[0] for item in made if len(item.options) == 4)
    assert min(places.values()) > 0.15 * sizes[4]


def test_a_group_is_a_picture() -> None:
    groups = defaultdict(list)
    for item in items():
        groups[item.group].append(item)
    pictures = [{item.images for item in group} for group in groups.values()]
    assert all(len(images) == 1 for images in pictures)
    assert len(set().union(*pictures)) == len(groups) == 120
    assert all(len({item.category for item in group}) == len(group) == 2 for group in groups.values())


def test_deterministic_and_longer_sets_only_add() -> None:
    assert items() == items()
    assert items(items=25) == items()[:25]
    assert {item.images for item in items()}.isdisjoint(item.images for item in items(seed=8))


def test_option_counts_can_be_set() -> None:
    assert {len(item.options) for item in items(min_options=4)} == {4}
    assert {len(item.options) for item in items(max_options=2)} == {2}
    assert {len(item.options) for item in items(min_options=3, fewer=1)} == {3}


def test_phrasings_can_be_held_out() -> None:
    def fixed(table: dict[str, tuple[str, ...]]) -> set[str]:
        return {text for texts in table.values() for text in texts if "{" not in text}

    trained = {item.question for item in items()}
    held_out = {item.question for item in items(phrasings="held_out")}
    assert fixed(TRAINED) & trained and not fixed(HELD_OUT) & trained
    assert fixed(HELD_OUT) & held_out and not fixed(TRAINED) & held_out


@pytest.mark.parametrize(
    "settings",
    [{"items": 0}, {"seed": -1}, {"max_options": 5}, {"min_options": 4, "max_options": 3}, {"colour": "red"}],
)
def test_bad_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        items(**settings)

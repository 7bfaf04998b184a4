"""The datasets that are drawn: what they promise, and answers and exchanges against the pixels of their images."""

import importlib
import io
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pydantic import ValidationError

from vouch.datasets.raw import RawItem
from vouch.datasets.read.files import SourceFiles
from vouch.demo.scenes.phrasings import HELD_OUT, TRAINED
from vouch.demo.scenes.questions import (
    CHOICE_TASKS,
    CORNERS,
    LATER_TASKS,
    NUMBERS,
    OPEN_TASKS,
    PAIR_TASKS,
    SIDES,
    TURNS,
)
from vouch.demo.scenes.scene import COLOURS, SHAPES
from vouch.pipeline.errors import UserError

SOURCE = SourceFiles(Path("vouch/demo/scenes"))
SIZES = {"shapes": 240, "shapes_text": 200, "shapes_dialog": 120, "pairs": 100}
TASKS = {"shapes": CHOICE_TASKS, "shapes_text": OPEN_TASKS, "pairs": PAIR_TASKS}
ANSWERS = {
    "colour": set(COLOURS),
    "shape": set(SHAPES),
    "count": set(NUMBERS),
    "position": set(CORNERS),
    "presence": {"yes", "no"},
}


@cache
def items(loader: str, **settings: Any) -> list[RawItem]:
    module = importlib.import_module(f"vouch.datasets.loaders.{loader}")
    chosen = module.Settings(**{"seed": 7, "items": SIZES[loader], **settings})
    found = list(module.read(SOURCE, loader, chosen))
    assert len(found) == module.count(SOURCE, loader, chosen) == len({item.id for item in found})
    return found


@pytest.mark.parametrize("loader", SIZES)
def test_the_same_items_again_of_each_task_as_many_and_longer_sets_only_add(loader: str) -> None:
    made = items(loader)
    assert items.__wrapped__(loader) == made
    assert items(loader, items=25) == made[:25]
    assert {item.images for item in made}.isdisjoint(item.images for item in items(loader, items=25, seed=8))
    if loader in TASKS:
        of_each = len(made) // len(TASKS[loader])
        assert Counter(item.category for item in made) == dict.fromkeys(TASKS[loader], of_each)
    groups = defaultdict(set)
    for item in made:
        groups[item.group].add(item.images)
    assert all(len(pictures) == 1 for pictures in groups.values()), "a group is a picture, or a pair"
    assert len(set().union(*groups.values())) == len(groups)


@pytest.mark.parametrize("loader", SIZES)
def test_phrasings_can_be_held_out(loader: str) -> None:
    trained = {item.question for item in items(loader)}
    held_out = {item.question for item in items(loader, items=40, phrasings="held_out")}
    assert trained.isdisjoint(held_out)
    fixed = [
        {text for texts in table.values() for text in texts if "{" not in text}
        for table in (TRAINED, HELD_OUT)
    ]
    assert not fixed[1] & trained and not fixed[0] & held_out


@pytest.mark.parametrize("loader", SIZES)
def test_the_stage_takes_them(project: Any, loader: str) -> None:
    tables = project.prepare(loader, "vouch/demo/scenes", seed=1, items=12)
    rows = tables["items"].to_pylist()
    assert len(rows) == 12 and tables["rejects"].num_rows == 0
    flags = ["several_images"] if loader == "pairs" else []
    kind = "text" if loader == "shapes_text" else "choice"
    assert all((row["flags"], row["kind"]) == (flags, kind) for row in rows)
    named = {digest for row in rows for digest in (*row["images"], *row["exchange"]) if digest}
    assert set(tables["images"].column("digest").to_pylist()) == named
    if loader == "shapes_dialog":
        turns = [[], ["toy-000000"], ["toy-000000", "toy-000001"]]
        assert [row["turns"] for row in rows[:4]] == [*turns, []]


def colour_cells(data: bytes) -> dict[str, set[tuple[int, int]]]:
    """Quarters (column, row) of an image in which at least two pixels have a colour exactly."""
    pixels = np.asarray(Image.open(io.BytesIO(data)))
    found = defaultdict(set)
    for colour, rgb in COLOURS.items():
        rows, columns = np.nonzero((pixels == rgb).all(axis=2))
        quarters = Counter(zip((columns // 32).tolist(), (rows // 32).tolist(), strict=True))
        found[colour] = {quarter for quarter, number in quarters.items() if number >= 2}
    return found


def test_answers_of_shapes_agree_with_the_pixels() -> None:
    checked = Counter()
    for item in items("shapes", items=600):
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


def test_shapes_have_two_to_four_options_and_answers_at_every_place() -> None:
    made = items("shapes")
    for item in made:
        assert 2 <= len(item.options) == len(set(item.options)) <= 4
        assert len(item.answers) == 1 and 0 <= item.answers[0] < len(item.options)
        assert item.kind == "choice" and item.hint is None
    sizes = Counter(len(item.options) for item in made)
    assert set(sizes) == {2, 3, 4} and sizes[4] > 0.75 * len(made)
    places = Counter(item.answers[0] for item in made if len(item.options) == 4)
    assert min(places.values()) > 0.15 * sizes[4]
    asked = Counter(item.group for item in made)
    assert set(asked.values()) == {2} and len({(item.group, item.category) for item in made}) == len(made)
    for size, settings in (
        (4, {"min_options": 4}),
        (2, {"max_options": 2}),
        (3, {"min_options": 3, "fewer": 1}),
    ):
        assert {len(item.options) for item in items("shapes", items=60, **settings)} == {size}


@pytest.mark.parametrize(
    "settings",
    [{"items": 0}, {"seed": -1}, {"max_options": 5}, {"min_options": 4, "max_options": 3}, {"colour": "red"}],
)
def test_bad_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        items("shapes", **settings)


def test_another_source_is_refused() -> None:
    module = importlib.import_module("vouch.datasets.loaders.pairs")
    with pytest.raises(UserError, match="this loader needs vouch/demo/scenes"):
        list(module.read(SourceFiles(Path("elsewhere")), "pairs", module.Settings(seed=1, items=1)))


def test_open_questions_have_their_answers_in_every_spelling() -> None:
    for item in items("shapes_text"):
        assert item.kind == "text" and not item.options and not item.answers
        assert item.references[0] in ANSWERS[item.category]
        assert item.category != "count" or NUMBERS[int(item.references[1])] == item.references[0]


def test_turns_of_a_conversation_follow_each_other() -> None:
    made = items("shapes_dialog")
    talks = [made[first : first + TURNS] for first in range(0, len(made), TURNS)]
    for talk in talks:
        assert len({item.group for item in talk}) == 1
        assert [list(item.turns) for item in talk] == [[t.id for t in talk[:k]] for k in range(TURNS)]
        assert tuple(item.category for item in talk[1:]) == LATER_TASKS
        assert all(len(set(item.options)) == 4 and len(item.answers) == 1 for item in talk)
    assert {talk[0].category for talk in talks} == {"colour", "shape"}


def covered(data: bytes, colour: str) -> int:
    """Number of 16-pixel cells of an image that hold at least two pixels of exactly this colour."""
    pixels = np.asarray(Image.open(io.BytesIO(data)))
    hits = (pixels == COLOURS[colour]).all(axis=2)
    return int((hits.reshape(4, 16, 2, 16).sum(axis=(1, 3)) >= 2).sum())


def test_answers_and_exchanges_of_pairs_agree_with_the_pixels() -> None:
    checked, exchanged = Counter(), 0
    for item in items("pairs", items=200):
        colour = next((word for word in item.question.rstrip("?.").split() if word in COLOURS), None)
        if colour is None or not any(word in item.question for word in ("objects", "object")):
            continue
        (right,) = item.answers
        left_wins = {"more": 1, "has": 1}.get(item.category, -1)
        counts = [covered(data, colour) for data in item.images]
        assert np.sign(counts[0] - counts[1]) == (left_wins if right == 0 else -left_wins)
        checked[item.category] += 1
        for place, other in enumerate(item.exchange):
            if other is not None:
                changed = [covered(other, colour) if i == place else n for i, n in enumerate(counts)]
                assert np.sign(changed[0] - changed[1]) == -np.sign(counts[0] - counts[1])
                exchanged += 1
    assert set(checked) == set(PAIR_TASKS) and exchanged > 20


def test_pairs_have_two_images_of_which_one_can_be_exchanged() -> None:
    made = items("pairs")
    for item in made:
        assert tuple(item.options) == SIDES and len(item.images) == len(item.exchange) == 2
        assert {Image.open(io.BytesIO(data)).size for data in item.images} == {(32, 64)}
    # A single image cannot flip the answer where one side has what the other has not.
    compared = [item for item in made if item.category in ("more", "less", "more_not")]
    assert sum(any(item.exchange) for item in compared) > 0.6 * len(compared)
    assert not any(any(item.exchange) for item in made if item.category in ("has", "has_not"))
    assert 0.35 < sum(item.answers[0] for item in made) / len(made) < 0.65

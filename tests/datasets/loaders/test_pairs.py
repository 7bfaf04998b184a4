"""The pairs dataset: its answers and its pictures for exchange against the pixels."""

import io
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vouch.datasets.loaders.pairs import Settings, count, read
from vouch.datasets.raw import RawItem
from vouch.datasets.read.files import Source
from vouch.demo.scenes.pairs import PAIR_TASKS, SIDES
from vouch.demo.scenes.phrasings import HELD_OUT
from vouch.demo.scenes.scene import COLOURS
from vouch.pipeline.errors import UserError

SOURCE = Source(Path("vouch/demo/scenes"))


@cache
def items(items: int = 100, phrasings: str = "trained") -> list[RawItem]:
    return list(read(SOURCE, "pairs", Settings(seed=7, items=items, phrasings=phrasings)))


def covered(data: bytes, colour: str) -> int:
    """Number of 16-pixel cells of a picture that hold at least two pixels of exactly this colour."""
    pixels = np.asarray(Image.open(io.BytesIO(data)))
    hits = (pixels == COLOURS[colour]).all(axis=2)
    return int((hits.reshape(4, 16, 2, 16).sum(axis=(1, 3)) >= 2).sum())


def test_answers_and_exchanges_agree_with_the_pixels() -> None:
    checked, exchanged = Counter(), 0
    for item in items(200):
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


def test_items_are_well_formed() -> None:
    made = items()
    assert len({item.id for item in made}) == len(made) == count(SOURCE, "pairs", Settings(seed=7, items=100))
    assert Counter(item.category for item in made) == dict.fromkeys(PAIR_TASKS, 20)
    for item in made:
        assert tuple(item.options) == SIDES and len(item.images) == len(item.exchange) == 2
        assert {Image.open(io.BytesIO(data)).size for data in item.images} == {(32, 64)}
    # A single picture cannot flip the answer where one side has what the other has not.
    compared = [item for item in made if item.category in ("more", "less", "more_not")]
    assert sum(any(item.exchange) for item in compared) > 0.6 * len(compared)
    assert not any(any(item.exchange) for item in made if item.category in ("has", "has_not"))
    assert 0.35 < sum(item.answers[0] for item in made) / len(made) < 0.65
    assert all(len({i.images for i in made if i.group == group}) == 1 for group in {i.group for i in made})
    assert items.__wrapped__(25) == made[:25]


def test_phrasings_can_be_held_out() -> None:
    starts = tuple(text.split(" {")[0] for texts in HELD_OUT.values() for text in texts if "{" in text)
    assert all(item.question.startswith(starts) for item in items(40, "held_out"))
    assert not any(item.question.startswith(("There", "Look")) for item in items())


def test_the_stage_stores_both_pictures_and_those_for_exchange(project) -> None:
    tables = project.prepare("pairs", "vouch/demo/scenes", seed=1, items=20)
    rows = tables["items"].to_pylist()
    known = set(tables["images"].column("digest").to_pylist())
    named = {digest for row in rows for digest in (*row["images"], *row["exchange"]) if digest}
    assert known == named and tables["rejects"].num_rows == 0
    assert all(row["flags"] == ["several_images"] and row["turns"] == [] for row in rows)


def test_another_source_is_refused() -> None:
    with pytest.raises(UserError, match="vouch/demo/scenes draws its pictures"):
        list(read(Source(Path("elsewhere")), "pairs", Settings(seed=1, items=1)))

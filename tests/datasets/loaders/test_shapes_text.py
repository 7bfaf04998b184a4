"""The dataset of open questions."""

from collections import Counter
from pathlib import Path

from vouch.datasets.loaders.shapes_text import Settings, count, read
from vouch.datasets.raw import RawItem
from vouch.datasets.read.files import Source
from vouch.demo.scenes.questions import CORNERS, NUMBERS, OPEN_TASKS
from vouch.demo.scenes.scene import COLOURS, SHAPES

SOURCE = Source(Path("vouch/demo/scenes"))
ANSWERS = {
    "colour": set(COLOURS),
    "shape": set(SHAPES),
    "count": set(NUMBERS),
    "position": set(CORNERS),
    "presence": {"yes", "no"},
}


def items(**settings: object) -> list[RawItem]:
    return list(read(SOURCE, "open", Settings(**{"seed": 7, "items": 200, **settings})))


def test_items_are_well_formed() -> None:
    made = items()
    assert len({item.id for item in made}) == len(made) == count(SOURCE, "open", Settings(seed=7, items=200))
    assert Counter(item.category for item in made) == dict.fromkeys(OPEN_TASKS, 40)
    for item in made:
        assert item.kind == "text" and not item.options and not item.answers
        assert item.references[0] in ANSWERS[item.category]
        assert item.category != "count" or NUMBERS[int(item.references[1])] == item.references[0]
    assert items() == made and items(items=25) == made[:25]
    assert {item.question for item in made}.isdisjoint(i.question for i in items(phrasings="held_out"))


def test_the_stage_takes_them(project) -> None:
    tables = project.prepare("shapes_text", "vouch/demo/scenes", seed=1, items=12)
    assert tables["items"].num_rows == 12 and tables["images"].num_rows == 6
    assert all(row["kind"] == "text" and row["flags"] == [] for row in tables["items"].to_pylist())

"""The dataset of conversations."""

from collections import Counter
from pathlib import Path

from vouch.datasets.loaders.shapes_dialog import Settings, count, read
from vouch.datasets.raw import RawItem
from vouch.datasets.read.files import Source
from vouch.demo.scenes.dialogues import LATER_TASKS, TURNS

SOURCE = Source(Path("vouch/demo/scenes"))


def items(**settings: object) -> list[RawItem]:
    return list(read(SOURCE, "talk", Settings(**{"seed": 7, "items": 120, **settings})))


def test_turns_of_a_conversation_follow_each_other() -> None:
    made = items()
    assert len(made) == count(SOURCE, "talk", Settings(seed=7, items=120))
    talks = [made[first : first + TURNS] for first in range(0, len(made), TURNS)]
    for talk in talks:
        assert len({item.group for item in talk}) == len({item.images for item in talk}) == 1
        assert [list(item.turns) for item in talk] == [[t.id for t in talk[:k]] for k in range(TURNS)]
        assert tuple(item.category for item in talk[1:]) == LATER_TASKS
        assert all(len(set(item.options)) == 4 and len(item.answers) == 1 for item in talk)
    assert set(Counter(talk[0].category for talk in talks)) == {"colour", "shape"}
    assert len({talk[0].group for talk in talks}) == len(talks)
    assert items() == made and items(items=25) == made[:25]
    assert {item.question for item in made}.isdisjoint(i.question for i in items(phrasings="held_out"))


def test_the_stage_keeps_the_turns(project) -> None:
    rows = project.prepare("shapes_dialog", "vouch/demo/scenes", seed=1, items=7)["items"].to_pylist()
    assert [row["turns"] for row in rows[:3]] == [[], ["toy-000000"], ["toy-000000", "toy-000001"]]
    assert rows[6]["turns"] == [] and len(rows) == 7

"""Code shared by the loaders of the demo's datasets: settings, and questions about images drawn from a seed.

Scenes have layouts that no demo model was trained on (the test space). Every image has two
questions of different tasks. Every task comes up once before any comes up again, and question k does not
depend on the number of questions.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from pydantic import Field

from vouch.datasets.raw import LoaderSettings, RawItem
from vouch.datasets.read.files import SourceFiles
from vouch.demo.scenes.phrasings import HELD_OUT, TRAINED
from vouch.demo.scenes.questions import Question, make_question, wording
from vouch.demo.scenes.scene import Scene, draw_scene, png, render
from vouch.pipeline.errors import UserError

RENDERER = Path("vouch/demo/scenes")
_PER_IMAGE = 2  # questions
Seen = TypeVar("Seen")

# Wordings that the demo models were trained on, or wordings that they have never seen.
Phrasings = Literal["trained", "held_out"]
PHRASINGS: dict[Phrasings, Mapping[str, Sequence[str]]] = {"trained": TRAINED, "held_out": HELD_OUT}


class SceneSettings(LoaderSettings):
    """seed: for everything that is drawn. items: their number.

    phrasings: wordings that the demo models were trained on, or wordings that they have never seen.
    """

    seed: int = Field(ge=0, lt=2**32)
    items: int = Field(ge=1, le=1_000_000)
    phrasings: Phrasings = "trained"


def count_items(source: SourceFiles, name: str, settings: SceneSettings) -> int:
    """Number of items that `read` yields."""
    return settings.items


def check_source(source: Path, name: str) -> None:
    """Raises UserError unless the source is the folder of the drawing code, whose changes must be noticed."""
    if source != RENDERER:
        raise UserError(
            f"params.yaml: datasets.{name}.source is {source}; this loader needs {RENDERER}; write that"
        )


@dataclass(frozen=True)
class Drawn(Generic[Seen]):
    """An image: its 0-based number, its content, its questions with their indices, and its generator."""

    number: int
    seen: Seen
    questions: tuple[tuple[int, Question], ...]
    rng: random.Random


def draw(
    label: str,
    seed: int,
    count: int,
    tasks: Sequence[str],
    see: Callable[[random.Random], Seen],
    ask: Callable[[random.Random, Seen, str], Question | None],
) -> Iterator[Drawn[Seen]]:
    """Images with `count` questions in total.

    see: draws what an image shows. ask: gives a question of a task about it, or None if there can be none.
    """
    for first in range(0, count, _PER_IMAGE):
        number = first // _PER_IMAGE
        rng = random.Random(f"{label}/{seed}/{number}")
        indices = range(first, first + _PER_IMAGE)
        wanted = [_task(label, seed, tasks, index) for index in indices]
        while True:
            seen = see(rng)
            asked = (ask(rng, seen, task) for task in wanted)
            questions = [question for question in asked if question is not None]
            if len(questions) == len(wanted):
                break
        kept = [(i, question) for i, question in zip(indices, questions, strict=True) if i < count]
        yield Drawn(number, seen, tuple(kept), rng)


def _task(label: str, seed: int, tasks: Sequence[str], index: int) -> str:
    """The task of a question: each run of len(tasks) questions has every task once, in its own order."""
    turn, position = divmod(index, len(tasks))
    return random.Random(f"{label}/{seed}/tasks/{turn}").sample(tasks, len(tasks))[position]


def unseen_scene(rng: random.Random) -> Scene:
    """A scene with a layout that no demo model was trained on."""
    return draw_scene(rng, "test")


def scene_items(
    label: str,
    tasks: Sequence[str],
    name: str,
    settings: SceneSettings,
    answered: Callable[[random.Random, Question], dict[str, Any]],
) -> Iterator[RawItem]:
    """The items of a dataset about scenes. answered: the fields of an item that hold its answer."""
    for drawn in draw(label, settings.seed, settings.items, tasks, unseen_scene, make_question):
        image = png(render(drawn.seen))
        for index, question in drawn.questions:
            fields = {"images": (image,), **answered(drawn.rng, question)}
            yield drawn_item(name, drawn, index, question, settings, **fields)


def drawn_item(
    name: str,
    drawn: Drawn[Any],
    index: int,
    question: Question,
    settings: SceneSettings,
    what: str = "picture",
    **fields: Any,
) -> RawItem:
    """An item of the dataset `name` about a drawn image. Its wording is drawn here, after `fields`."""
    return RawItem(
        id=f"{name}-{index:06d}",
        where=f"{name} item {index}",
        question=wording(drawn.rng, question, PHRASINGS[settings.phrasings]),
        category=question.task,
        source_id=f"{what} {drawn.number} {question.task}",
        group=f"{name}-{what}-{drawn.number:06d}",
        **fields,
    )

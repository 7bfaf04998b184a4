"""shapes: the demo's own dataset, questions about rendered pictures of coloured shapes.

Nothing is downloaded: stages/scenes makes pictures and questions from a seed. The scenes are those
of the test space, whose layouts no demo model was trained on. Every picture carries two questions of
different tasks, which share a group. The six tasks take turns, and item k is the same whatever the
number of items.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from stages.prepare.raw import LoaderSettings, RawItem
from stages.runtime.errors import UserError
from stages.scenes.phrasings import HELD_OUT, TRAINED
from stages.scenes.questions import CHOICE_TASKS, Question, choices, make_question, wording
from stages.scenes.scene import Scene, draw_scene, png, render

RENDERER = Path("stages/scenes")
_PER_PICTURE = 2
_PHRASINGS = {"trained": TRAINED, "held_out": HELD_OUT}


class Settings(LoaderSettings):
    """seed: of everything drawn. items: how many. fewer: share of items with less than `max_options`.

    phrasings: wordings that the demo models were trained on, or ones they never met.
    """

    seed: int = Field(ge=0)
    items: int = Field(ge=1, le=1_000_000)
    min_options: int = Field(default=2, ge=2, le=4)
    max_options: int = Field(default=4, ge=2, le=4)
    fewer: float = Field(default=0.15, ge=0, le=1)
    phrasings: Literal["trained", "held_out"] = "trained"

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_options > self.max_options:
            raise ValueError(
                f"min_options is {self.min_options}, above max_options {self.max_options}; lower it"
            )
        return self


def count(source: Path, name: str, settings: Settings) -> int:
    """Number of items that `read` yields."""
    return settings.items


def read(source: Path, name: str, settings: Settings) -> Iterator[RawItem]:
    """The items in order. `source` must be the folder of the drawing code, so that it is watched."""
    if source != RENDERER:
        raise UserError(
            f"params.yaml: datasets.{name}.source is {source}; {RENDERER} draws shapes, write that"
        )
    for first in range(0, settings.items, _PER_PICTURE):
        picture = first // _PER_PICTURE
        rng = random.Random(f"shapes/{settings.seed}/{picture}")
        tasks = [_task(settings.seed, index) for index in range(first, first + _PER_PICTURE)]
        scene, questions = _scene_for(rng, tasks)
        image = png(render(scene))
        for index, question in enumerate(questions, start=first):
            if index < settings.items:
                yield _item(rng, name, index, picture, question, image, settings)


def _task(seed: int, index: int) -> str:
    """The task of an item: each run of six items has every task once, in an order of its own."""
    turn, place = divmod(index, len(CHOICE_TASKS))
    return random.Random(f"shapes/{seed}/tasks/{turn}").sample(CHOICE_TASKS, len(CHOICE_TASKS))[place]


def _scene_for(rng: random.Random, tasks: list[str]) -> tuple[Scene, list[Question]]:
    """A scene of the test space that can host every task, with its questions."""
    while True:
        scene = draw_scene(rng, "test")
        questions = [q for task in tasks if (q := make_question(rng, scene, task)) is not None]
        if len(questions) == len(tasks):
            return scene, questions


def _item(
    rng: random.Random,
    name: str,
    index: int,
    picture: int,
    question: Question,
    image: bytes,
    settings: Settings,
) -> RawItem:
    most = settings.max_options
    if settings.min_options < most and rng.random() < settings.fewer:
        most = rng.randrange(settings.min_options, most)
    options, answer = choices(rng, question, most)
    return RawItem(
        id=f"{name}-{index:06d}",
        where=f"{name} item {index}",
        question=wording(rng, question, _PHRASINGS[settings.phrasings]),
        options=options,
        answers=(answer,),
        images=(image,),
        category=question.task,
        source_id=f"picture {picture} {question.task}",
        group=f"{name}-picture-{picture:06d}",
    )

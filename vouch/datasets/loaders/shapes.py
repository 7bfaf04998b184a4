"""shapes: multiple-choice questions about rendered images of coloured shapes.

Six tasks: colour, shape, count, position, which object is there (exist) and which is not (exist_not).
See vouch/datasets/read/scenes.py for how images and questions are drawn.
"""

import random
from collections.abc import Iterator
from typing import Self

from pydantic import Field, model_validator

from vouch.datasets.raw import RawItem
from vouch.datasets.read.files import Source
from vouch.datasets.read.scenes import (
    SceneSettings,
    check_source,
    count_items,
    draw,
    drawn_item,
    unseen_scene,
)
from vouch.demo.scenes.questions import CHOICE_TASKS, choices, make_question
from vouch.demo.scenes.scene import png, render


class Settings(SceneSettings):
    """fewer: share of items with less than `max_options`."""

    min_options: int = Field(default=2, ge=2, le=4)
    max_options: int = Field(default=4, ge=2, le=4)
    fewer: float = Field(default=0.15, ge=0, le=1)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_options > self.max_options:
            raise ValueError(
                f"min_options is {self.min_options}, above max_options {self.max_options}; lower it"
            )
        return self


count = count_items


def read(source: Source, name: str, settings: Settings) -> Iterator[RawItem]:
    """The items in order."""
    check_source(source.path, name)
    for drawn in draw("shapes", settings.seed, settings.items, CHOICE_TASKS, unseen_scene, make_question):
        image = png(render(drawn.seen))
        for index, question in drawn.questions:
            options, answer = choices(drawn.rng, question, _most_options(drawn.rng, settings))
            shown = {"options": options, "answers": (answer,), "images": (image,)}
            yield drawn_item(name, drawn, index, question, settings, **shown)


def _most_options(rng: random.Random, settings: Settings) -> int:
    most = settings.max_options
    if settings.min_options < most and rng.random() < settings.fewer:
        return rng.randrange(settings.min_options, most)
    return most

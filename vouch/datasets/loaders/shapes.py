"""shapes: multiple-choice questions about rendered images of coloured shapes.

Six tasks: colour, shape, count, position, which object is there (exist) and which is not (exist_not).
See vouch/datasets/read/scenes.py for how images and questions are drawn.
"""

import random
from collections.abc import Iterator
from typing import Any, Self

from pydantic import Field, model_validator

from vouch.datasets.raw import RawItem
from vouch.datasets.read.files import SourceFiles
from vouch.datasets.read.scenes import SceneSettings, check_source, count_items, scene_items
from vouch.demo.scenes.questions import CHOICE_TASKS, Question, choices


class Settings(SceneSettings):
    """fewer: share of items with fewer than `max_options` options."""

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


def read(source: SourceFiles, name: str, settings: Settings) -> Iterator[RawItem]:
    check_source(source.path, name)

    def answered(rng: random.Random, question: Question) -> dict[str, Any]:
        most = settings.max_options
        if settings.min_options < most and rng.random() < settings.fewer:
            most = rng.randrange(settings.min_options, most)
        options, answer = choices(rng, question, most)
        return {"options": options, "answers": (answer,)}

    return scene_items("shapes", CHOICE_TASKS, name, settings, answered)

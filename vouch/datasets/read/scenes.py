"""What the loaders of the demo's rendered pictures have in common."""

import random
from typing import Any

from pydantic import Field

from vouch.datasets.raw import LoaderSettings, RawItem
from vouch.datasets.read.files import Source
from vouch.demo.scenes.questions import Question, wording
from vouch.demo.scenes.sampling import PHRASINGS, Drawn, Phrasings
from vouch.demo.scenes.scene import Scene, draw_scene


class SceneSettings(LoaderSettings):
    """seed: of everything drawn. items: how many.

    phrasings: wordings that the demo models were trained on, or ones they never met.
    """

    seed: int = Field(ge=0, lt=2**32)
    items: int = Field(ge=1, le=1_000_000)
    phrasings: Phrasings = "trained"


def count_items(source: Source, name: str, settings: SceneSettings) -> int:
    """Number of items that `read` yields."""
    return settings.items


def unseen_scene(rng: random.Random) -> Scene:
    """A picture with a layout that no demo model was trained on."""
    return draw_scene(rng, "test")


def drawn_item(
    name: str, drawn: Drawn[Any], index: int, question: Question, settings: SceneSettings, **fields: Any
) -> RawItem:
    """An item of the dataset `name` about what was drawn; its wording is drawn now, after `fields`."""
    return RawItem(
        id=f"{name}-{index:06d}",
        where=f"{name} item {index}",
        question=wording(drawn.rng, question, PHRASINGS[settings.phrasings]),
        category=question.task,
        source_id=f"picture {drawn.number} {question.task}",
        group=f"{name}-picture-{drawn.number:06d}",
        **fields,
    )

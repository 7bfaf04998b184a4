"""shapes_text: questions about rendered pictures of coloured shapes, answered in a word or two.

Five tasks: colour, shape, count, position, and whether an object is there (presence). A number may be
written as a word or as a digit.
"""

import random
from collections.abc import Iterator

from vouch.datasets.raw import RawItem
from vouch.datasets.read.files import Source
from vouch.datasets.read.scenes import SceneSettings, count_items
from vouch.demo.scenes.questions import NUMBERS, OPEN_TASKS, make_question, wording
from vouch.demo.scenes.sampling import PHRASINGS, check_source, draw
from vouch.demo.scenes.scene import Scene, draw_scene, png, render

Settings = SceneSettings
count = count_items


def read(source: Source, name: str, settings: Settings) -> Iterator[RawItem]:
    """The items in order."""
    check_source(source.path, name)
    for drawn in draw("shapes_text", settings.seed, settings.items, OPEN_TASKS, _scene, make_question):
        image = png(render(drawn.seen))
        for index, question in drawn.questions:
            yield RawItem(
                id=f"{name}-{index:06d}",
                where=f"{name} item {index}",
                question=wording(drawn.rng, question, PHRASINGS[settings.phrasings]),
                references=_spellings(question.answer),
                images=(image,),
                category=question.task,
                kind="text",
                source_id=f"picture {drawn.number} {question.task}",
                group=f"{name}-picture-{drawn.number:06d}",
            )


def _scene(rng: random.Random) -> Scene:
    return draw_scene(rng, "test")


def _spellings(answer: str) -> tuple[str, ...]:
    return (answer, str(NUMBERS.index(answer))) if answer in NUMBERS else (answer,)

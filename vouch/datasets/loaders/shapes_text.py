"""shapes_text: questions about rendered images of coloured shapes, answered in a word or two.

Five tasks: colour, shape, count, position, and whether an object is there (presence). A number may be
written as a word or as a digit.
"""

from collections.abc import Iterator

from vouch.datasets.raw import RawItem, open_questions
from vouch.datasets.read.files import Source
from vouch.datasets.read.scenes import (
    SceneSettings,
    check_source,
    count_items,
    draw,
    drawn_item,
    unseen_scene,
)
from vouch.demo.scenes.questions import NUMBERS, OPEN_TASKS, make_question
from vouch.demo.scenes.scene import png, render

Settings = SceneSettings
kinds = open_questions
count = count_items


def read(source: Source, name: str, settings: Settings) -> Iterator[RawItem]:
    """The items in order."""
    check_source(source.path, name)
    for drawn in draw("shapes_text", settings.seed, settings.items, OPEN_TASKS, unseen_scene, make_question):
        image = png(render(drawn.seen))
        for index, question in drawn.questions:
            answer = question.answer
            spellings = (answer, str(NUMBERS.index(answer))) if answer in NUMBERS else (answer,)
            shown = {"kind": "text", "references": spellings, "images": (image,)}
            yield drawn_item(name, drawn, index, question, settings, **shown)

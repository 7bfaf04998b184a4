"""shapes_text: questions about rendered images of coloured shapes, answered in a word or two.

Five tasks: colour, shape, count, position, and whether an object is there (presence). A number may be
written as a word or as a digit.
"""

import random
from collections.abc import Iterator
from typing import Any

from vouch.datasets.raw import RawItem, open_questions
from vouch.datasets.read.files import SourceFiles
from vouch.datasets.read.scenes import SceneSettings, check_source, count_items, scene_items
from vouch.demo.scenes.questions import NUMBERS, OPEN_TASKS, Question

Settings = SceneSettings
kinds = open_questions
count = count_items


def read(source: SourceFiles, name: str, settings: Settings) -> Iterator[RawItem]:
    check_source(source.path, name)
    return scene_items("shapes_text", OPEN_TASKS, name, settings, _answered)


def _answered(_: random.Random, question: Question) -> dict[str, Any]:
    answer = question.answer
    spellings = (answer, str(NUMBERS.index(answer))) if answer in NUMBERS else (answer,)
    return {"kind": "text", "references": spellings}

"""shapes_dialog: dialogues of three turns about one rendered image, each turn an item.

Only the first turn names the object that all of them are about, so the later ones need the history:
`turns` names the items before. All turns of a dialogue are one group.
"""

import random
from collections.abc import Iterator

from vouch.datasets.raw import RawItem
from vouch.datasets.read.files import SourceFiles
from vouch.datasets.read.scenes import PHRASINGS, SceneSettings, check_source, count_items
from vouch.demo.scenes.questions import TURNS, Question, choices, make_dialogue, wording
from vouch.demo.scenes.scene import Scene, draw_scene, png, render

_OPTIONS = 4

Settings = SceneSettings
count = count_items


def read(source: SourceFiles, name: str, settings: Settings) -> Iterator[RawItem]:
    check_source(source.path, name)
    for first in range(0, settings.items, TURNS):
        number = first // TURNS
        rng = random.Random(f"shapes_dialog/{settings.seed}/{number}")
        scene, questions = _scene_for(rng)
        image = png(render(scene))
        ids = [f"{name}-{first + turn:06d}" for turn in range(TURNS)]
        for turn, question in enumerate(questions[: settings.items - first]):
            options, answer = choices(rng, question, _OPTIONS)
            yield RawItem(
                id=ids[turn],
                where=f"{name} item {first + turn}",
                question=wording(rng, question, PHRASINGS[settings.phrasings]),
                options=options,
                answers=(answer,),
                images=(image,),
                category=question.task,
                source_id=f"picture {number} turn {turn + 1}",
                group=f"{name}-picture-{number:06d}",
                turns=ids[:turn],
            )


def _scene_for(rng: random.Random) -> tuple[Scene, tuple[Question, ...]]:
    """A scene of the test space that can host a dialogue, with its questions."""
    while True:
        scene = draw_scene(rng, "test")
        questions = make_dialogue(rng, scene)
        if questions is not None:
            return scene, questions

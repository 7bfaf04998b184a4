"""Dialogues: three questions about one thing, of which only the first one names it.

First what colour (or shape) it has, then where it is, then how many objects share that colour (or
shape). Without the first turn nobody could tell what `it` is, and without the first answer, read off
the picture or the history, not which colour is counted.
"""

import random

from vouch.demo.scenes.questions import CORNERS, NUMBERS, Question, corner, make_question, other_numbers
from vouch.demo.scenes.scene import Scene

TURNS = 3
LATER_TASKS = ("place_of_it", "count_like_it")


def make_dialogue(rng: random.Random, scene: Scene) -> tuple[Question, ...] | None:
    """The questions of a dialogue in order, or None where the scene cannot host one."""
    asked = rng.choice(("colour", "shape"))
    opening = make_question(rng, scene, asked)
    if opening is None:
        return None
    named = "shape" if asked == "colour" else "colour"
    (thing,) = [thing for thing in scene.things if getattr(thing, named) == opening.subject]
    place = corner(thing.column, thing.row)
    elsewhere = [other for other in CORNERS if other != place]
    number = sum(getattr(other, asked) == opening.answer for other in scene.things)
    others = other_numbers(rng, number)
    return (
        opening,
        Question("place_of_it", "", place, tuple(rng.sample(elsewhere, len(elsewhere)))),
        Question("count_like_it", asked, NUMBERS[number], others),
    )

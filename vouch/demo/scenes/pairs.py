"""Pairs: two half scenes whose pictures are compared, and questions that name one of them.

Each half can be exchanged for another half scene, and the halves can change sides.
"""

import random
from dataclasses import dataclass

from PIL import Image

from vouch.demo.scenes.questions import Question
from vouch.demo.scenes.scene import COLOURS, SHAPES, Scene, Space, Thing, draw_half, render

SIDES = ("Left", "Right")
PAIR_TASKS = ("more", "less", "more_not", "has", "has_not")
_LEFT_WINS = {"more": True, "less": False, "more_not": False, "has": True, "has_not": False}


@dataclass(frozen=True)
class Pair:
    """Two half scenes of one space."""

    left: Scene
    right: Scene


def draw_pair(rng: random.Random, space: Space) -> Pair:
    """A random pair of a space. Its halves do not show the same things, so something can be asked."""
    while True:
        pair = Pair(draw_half(rng, space), draw_half(rng, space))
        left, right = (sorted(thing.name for thing in half.things) for half in (pair.left, pair.right))
        if left != right:
            return pair


def render_pair(pair: Pair) -> Image.Image:
    """Both pictures side by side: RGB, 64 x 64."""
    left, right = render(pair.left), render(pair.right)
    whole = Image.new("RGB", (left.width + right.width, left.height))
    whole.paste(left, (0, 0))
    whole.paste(right, (left.width, 0))
    return whole


def make_pair_question(rng: random.Random, pair: Pair, task: str) -> Question | None:
    """A question of one of PAIR_TASKS, or None where both pictures would answer it, or neither."""
    subject = _sought(rng, pair) if task in ("has", "has_not") else _compared(rng)
    answer = winner(task, subject, pair)
    if answer is None:
        return None
    (other,) = (side for side in SIDES if side != answer)
    return Question(task, subject, answer, (other,))


def winner(task: str, subject: str, pair: Pair) -> str | None:
    """The side that answers a question, None where the pictures do not differ in it."""
    left, right = (sum(_is(thing, subject) for thing in half.things) for half in (pair.left, pair.right))
    if task in ("has", "has_not"):
        left, right = min(left, 1), min(right, 1)
    if left == right:
        return None
    return SIDES[(left > right) != _LEFT_WINS[task]]


def _is(thing: Thing, subject: str) -> bool:
    """Whether a thing is such as `stars`, `red object` or `red star`."""
    words = {thing.colour, thing.shape, f"{thing.shape}s", "object", "objects"}
    return set(subject.split()) <= words


def _compared(rng: random.Random) -> str:
    """What is counted, in the plural."""
    kind = rng.choices(("shape", "colour", "all"), weights=(9, 9, 2))[0]
    if kind == "shape":
        return f"{rng.choice(SHAPES)}s"
    return f"{rng.choice(tuple(COLOURS))} objects" if kind == "colour" else "objects"


def _sought(rng: random.Random, pair: Pair) -> str:
    """What one picture may have, in the singular."""
    thing = rng.choice((*pair.left.things, *pair.right.things))
    kind = rng.choices(("shape", "colour", "name"), weights=(4, 3, 3))[0]
    return {"shape": thing.shape, "colour": f"{thing.colour} object", "name": thing.name}[kind]

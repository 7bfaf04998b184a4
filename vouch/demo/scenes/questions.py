"""Questions about one scene: what is asked about, the right answer, plausible wrong ones.

A maker returns None where the scene cannot host its task, for instance when two circles make
`the circle` ambiguous. Every question has exactly one right answer.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from vouch.demo.scenes.scene import COLOURS, GRID, MOST, SHAPES, Scene, Thing

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six")
CORNERS = ("top left", "top right", "bottom left", "bottom right")
NAMES = tuple(f"{colour} {shape}" for colour in COLOURS for shape in SHAPES)


@dataclass(frozen=True)
class Question:
    """subject: what the wording is filled with, empty where it needs nothing. wrong: most tempting first."""

    task: str
    subject: str
    answer: str
    wrong: tuple[str, ...]


Maker = Callable[[random.Random, Scene], Question | None]


def corner(column: int, row: int) -> str:
    """The quarter of the picture that a cell lies in."""
    return CORNERS[2 * (row >= GRID // 2) + (column >= GRID // 2)]


def _shuffled(rng: random.Random, texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(rng.sample(texts, len(texts)))


def _others(rng: random.Random, texts: Sequence[str], answer: str) -> tuple[str, ...]:
    return _shuffled(rng, [text for text in texts if text != answer])


def _single(rng: random.Random, scene: Scene, look: str) -> Thing | None:
    """A thing of which the scene has no other with that look (shape, colour or name)."""
    looks = Counter(getattr(thing, look) for thing in scene.things)
    single = [thing for thing in scene.things if looks[getattr(thing, look)] == 1]
    return rng.choice(single) if single else None


def other_numbers(rng: random.Random, number: int) -> tuple[str, ...]:
    """All numbers that may be but one, in words, the nearest first."""
    rest = [n for n in range(MOST + 1) if n != number]
    return tuple(NUMBERS[n] for n in sorted(rest, key=lambda n: abs(n - number) + rng.random()))


def _colour(rng: random.Random, scene: Scene) -> Question | None:
    thing = _single(rng, scene, "shape")
    if thing is None:
        return None
    return Question("colour", thing.shape, thing.colour, _others(rng, tuple(COLOURS), thing.colour))


def _shape(rng: random.Random, scene: Scene) -> Question | None:
    thing = _single(rng, scene, "colour")
    if thing is None:
        return None
    return Question("shape", thing.colour, thing.shape, _others(rng, SHAPES, thing.shape))


def _count(rng: random.Random, scene: Scene) -> Question | None:
    kind = rng.choices(("shape", "colour", "all"), weights=(2, 2, 1))[0]
    if kind == "shape":
        shape = rng.choice(SHAPES)
        subject, number = f"{shape}s", sum(thing.shape == shape for thing in scene.things)
    elif kind == "colour":
        colour = rng.choice(tuple(COLOURS))
        subject, number = f"{colour} objects", sum(thing.colour == colour for thing in scene.things)
    else:
        subject, number = "objects", len(scene.things)
    # Most shapes and colours are absent from most scenes; without this, `zero` would win by default.
    if number == 0 and rng.random() < 0.6:
        return None
    return Question("count", subject, NUMBERS[number], other_numbers(rng, number))


def _position(rng: random.Random, scene: Scene) -> Question | None:
    thing = _single(rng, scene, "name")
    if thing is None:
        return None
    answer = corner(thing.column, thing.row)
    return Question("position", thing.name, answer, _others(rng, CORNERS, answer))


def _seen_and_unseen(rng: random.Random, scene: Scene) -> tuple[tuple[str, ...], tuple[str, ...]]:
    seen = {thing.name for thing in scene.things}
    unseen = [name for name in NAMES if name not in seen]
    return _shuffled(rng, sorted(seen)), _shuffled(rng, unseen)


def _exist(rng: random.Random, scene: Scene) -> Question | None:
    seen, unseen = _seen_and_unseen(rng, scene)
    return Question("exist", "", seen[0], unseen)


def _exist_not(rng: random.Random, scene: Scene) -> Question | None:
    seen, unseen = _seen_and_unseen(rng, scene)
    return Question("exist_not", "", unseen[0], seen) if len(seen) >= 3 else None


def _presence(rng: random.Random, scene: Scene) -> Question | None:
    seen, unseen = _seen_and_unseen(rng, scene)
    if rng.random() < 0.5:
        return Question("presence", seen[0], "yes", ("no",))
    return Question("presence", unseen[0], "no", ("yes",))


_MAKERS: dict[str, Maker] = {
    "colour": _colour,
    "shape": _shape,
    "count": _count,
    "position": _position,
    "exist": _exist,
    "exist_not": _exist_not,
    "presence": _presence,
}
# Tasks with at least four plausible options, and those that make sense without any.
CHOICE_TASKS = ("colour", "shape", "count", "position", "exist", "exist_not")
OPEN_TASKS = ("colour", "shape", "count", "position", "presence")


def make_question(rng: random.Random, scene: Scene, task: str) -> Question | None:
    """A question of one task about a scene, or None where the scene cannot host it."""
    return _MAKERS[task](rng, scene)


def wording(rng: random.Random, question: Question, phrasings: Mapping[str, Sequence[str]]) -> str:
    """The question in one of the wordings of a table (see phrasings.py)."""
    return rng.choice(phrasings[question.task]).format(subject=question.subject)


def choices(rng: random.Random, question: Question, count: int) -> tuple[list[str], int]:
    """At most `count` shuffled options with the answer among them, and the answer's 0-based index."""
    options = [question.answer, *question.wrong[: count - 1]]
    rng.shuffle(options)
    return options, options.index(question.answer)

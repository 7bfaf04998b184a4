"""Questions about scenes: what is asked about, the correct answer, and plausible wrong ones.

There are three kinds: questions about one scene, questions about which side of a pair answers them, and
dialogues of three questions about one thing, of which only the first names it. A function that makes a
question returns None where the scene cannot host the task, for instance when two circles make `the circle`
ambiguous. Every question has exactly one correct answer.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from vouch.demo.scenes.scene import COLOURS, GRID, MOST, SHAPES, Pair, Scene, Thing

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six")
CORNERS = ("top left", "top right", "bottom left", "bottom right")
NAMES = tuple(f"{colour} {shape}" for colour in COLOURS for shape in SHAPES)


@dataclass(frozen=True)
class Question:
    """subject: fills the wording, empty where it needs nothing. wrong: the most tempting first."""

    task: str
    subject: str
    answer: str
    wrong: tuple[str, ...]


Maker = Callable[[random.Random, Scene], Question | None]


def corner(column: int, row: int) -> str:
    """The quarter of the image that a cell lies in."""
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
    """All possible numbers but one, in words, the nearest first."""
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
    # Most shapes and colours are absent from most scenes; without this, `zero` would be the best guess.
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


SIDES = ("Left", "Right")
PAIR_TASKS = ("more", "less", "more_not", "has", "has_not")
_LEFT_WINS = {"more": True, "less": False, "more_not": False, "has": True, "has_not": False}


def make_pair_question(rng: random.Random, pair: Pair, task: str) -> Question | None:
    """A question of one of PAIR_TASKS, or None where both images would answer it, or neither."""
    subject = _sought(rng, pair) if task in ("has", "has_not") else _compared(rng)
    answer = winner(task, subject, pair)
    if answer is None:
        return None
    (other,) = (side for side in SIDES if side != answer)
    return Question(task, subject, answer, (other,))


def winner(task: str, subject: str, pair: Pair) -> str | None:
    """The side that answers a question, None where the images do not differ in it."""
    left, right = (sum(_is(thing, subject) for thing in half.things) for half in (pair.left, pair.right))
    if task in ("has", "has_not"):
        left, right = min(left, 1), min(right, 1)
    if left == right:
        return None
    return SIDES[(left > right) != _LEFT_WINS[task]]


def _is(thing: Thing, subject: str) -> bool:
    """Whether a thing fits a subject such as `stars`, `red object` or `red star`."""
    words = {thing.colour, thing.shape, f"{thing.shape}s", "object", "objects"}
    return set(subject.split()) <= words


def _compared(rng: random.Random) -> str:
    """What is counted, in the plural."""
    kind = rng.choices(("shape", "colour", "all"), weights=(9, 9, 2))[0]
    if kind == "shape":
        return f"{rng.choice(SHAPES)}s"
    return f"{rng.choice(tuple(COLOURS))} objects" if kind == "colour" else "objects"


def _sought(rng: random.Random, pair: Pair) -> str:
    """What one image may have, in the singular."""
    thing = rng.choice((*pair.left.things, *pair.right.things))
    kind = rng.choices(("shape", "colour", "name"), weights=(4, 3, 3))[0]
    return {"shape": thing.shape, "colour": f"{thing.colour} object", "name": thing.name}[kind]


TURNS = 3
LATER_TASKS = ("place_of_it", "count_like_it")


def make_dialogue(rng: random.Random, scene: Scene) -> tuple[Question, ...] | None:
    """The questions of a dialogue in order, or None where the scene cannot host one.

    They ask what colour (or shape) a thing has, then where it is, then how many objects share that colour (or
    shape). The later ones cannot be answered without the earlier turns: `it` is named in the first only, and
    the colour to count is the first answer.
    """
    asked = rng.choice(("colour", "shape"))
    opening = make_question(rng, scene, asked)
    if opening is None:
        return None
    named = "shape" if asked == "colour" else "colour"
    (thing,) = [thing for thing in scene.things if getattr(thing, named) == opening.subject]
    here = corner(thing.column, thing.row)
    elsewhere = [other for other in CORNERS if other != here]
    number = sum(getattr(other, asked) == opening.answer for other in scene.things)
    others = other_numbers(rng, number)
    return (
        opening,
        Question("place_of_it", "", here, tuple(rng.sample(elsewhere, len(elsewhere)))),
        Question("count_like_it", asked, NUMBERS[number], others),
    )

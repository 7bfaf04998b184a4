"""Pictures with questions for a dataset: the same from the same seed, of the test space.

No demo model was trained on a layout of that space. Every picture carries two questions of different
tasks. The tasks take turns, and question k is the same whatever the number of questions.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, TypeVar

from vouch.demo.scenes.phrasings import HELD_OUT, TRAINED
from vouch.demo.scenes.questions import Question
from vouch.pipeline.errors import UserError

RENDERER = Path("vouch/demo/scenes")
_PER_PICTURE = 2

# Wordings that the demo models were trained on, or ones they never met.
Phrasings = Literal["trained", "held_out"]
PHRASINGS: dict[Phrasings, Mapping[str, Sequence[str]]] = {"trained": TRAINED, "held_out": HELD_OUT}

Seen = TypeVar("Seen")


def check_source(source: Path, name: str) -> None:
    """The source must be the folder of the drawing code, so that it is watched. Raises UserError."""
    if source != RENDERER:
        raise UserError(
            f"params.yaml: datasets.{name}.source is {source}; {RENDERER} draws its pictures, write that"
        )


@dataclass(frozen=True)
class Drawn(Generic[Seen]):
    """A picture: its 0-based number, what it shows, its questions by their index, and its generator."""

    number: int
    seen: Seen
    questions: tuple[tuple[int, Question], ...]
    rng: random.Random


def draw(
    label: str,
    seed: int,
    count: int,
    tasks: Sequence[str],
    see: Callable[[random.Random], Seen],
    ask: Callable[[random.Random, Seen, str], Question | None],
) -> Iterator[Drawn[Seen]]:
    """Pictures with `count` questions in all.

    see: draws what a picture shows. ask: a question about it, or None where it cannot host the task.
    """
    for first in range(0, count, _PER_PICTURE):
        number = first // _PER_PICTURE
        rng = random.Random(f"{label}/{seed}/{number}")
        indices = range(first, first + _PER_PICTURE)
        wanted = [_task(label, seed, tasks, index) for index in indices]
        while True:
            seen = see(rng)
            questions = [found for task in wanted if (found := ask(rng, seen, task)) is not None]
            if len(questions) == len(wanted):
                break
        kept = [(i, question) for i, question in zip(indices, questions, strict=True) if i < count]
        yield Drawn(number, seen, tuple(kept), rng)


def _task(label: str, seed: int, tasks: Sequence[str], index: int) -> str:
    """The task of a question: each run of len(tasks) has every task once, in an order of its own."""
    turn, place = divmod(index, len(tasks))
    return random.Random(f"{label}/{seed}/tasks/{turn}").sample(tasks, len(tasks))[place]

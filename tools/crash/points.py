"""What is tried: drawn from a seed, so that a seed always means the same points."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

RUNNERS = ("dvc", "snakemake")
VICTIMS = ("runner", "stage", "group")
EVENTS = ("begun", "file", "receipt")
KILLS = 60
# Other kinds of point, and how many of each.
OTHERS = {"full": 8, "readonly": 4, "memory": 8, "clock": 6, "two": 6}
LOCKS = 8  # kills while DVC writes dvc.lock


@dataclass(frozen=True)
class Point:
    """One try. number: its place in the plan; the rest is empty or zero where it does not belong to the kind.

    kind: kill, full, readonly, memory, clock, two or lock. stage: whose outputs are gone when it begins.
    runner, finisher: what is disturbed, and what is run afterwards; for `two`, what runs at once.
    victim: the runner's process alone, the stage's, or all. event, nth: what is waited for: the stage's
    process, the nth new file of the stage, its receipt, the writing of dvc.lock. delay: seconds from there
    to the signal; for `two`, between the starts. amount: free MB of a full disk, MB of memory, days that
    the clock is off.
    """

    number: int
    kind: str
    stage: str
    runner: str
    finisher: str
    victim: str = ""
    event: str = ""
    nth: int = 0
    delay: float = 0.0
    amount: float = 0.0


def plan(seed: int, stages: Sequence[str]) -> list[Point]:
    """All points: every stage in turn, under either runner and both, then the other kinds, then dvc.lock."""
    draw = random.Random(seed)
    points = list(_kills(draw, stages, KILLS))
    for kind, count in OTHERS.items():
        for place in range(count):
            points.append(_other(draw, len(points), kind, place, stages))
    for place in range(LOCKS):  # the last ones: whatever is added, the others keep their numbers
        points.append(_lock(draw, len(points), place, stages))
    return points


def _kills(draw: random.Random, stages: Sequence[str], count: int) -> Iterator[Point]:
    pairs = [(runner, finisher) for runner in RUNNERS for finisher in RUNNERS]
    order: list[str] = []
    for number in range(count):
        order = order or draw.sample(stages, len(stages))
        event = draw.choices(EVENTS, weights=(2, 2, 1))[0]
        # a stage that has written its receipt is about to end: its runner is what works then
        victim = draw.choice(VICTIMS if event != "receipt" else ("runner", "group"))
        runner, finisher = pairs[number % len(pairs)]
        longest = {"begun": 4.0, "file": 0.05, "receipt": 1.2}[event]
        yield Point(
            number=number,
            kind="kill",
            stage=order.pop(),
            runner=runner,
            finisher=finisher,
            victim=victim,
            event=event,
            nth=draw.randint(1, 6) if event == "file" else 1,
            delay=round(draw.uniform(0, longest), 3),
        )


def _other(draw: random.Random, number: int, kind: str, place: int, stages: Sequence[str]) -> Point:
    runner, finisher = RUNNERS[place % 2], RUNNERS[(place // 2) % 2]
    amounts: Mapping[str, Callable[[], float]] = {
        "full": lambda: round(10 ** draw.uniform(-2.5, 0.5), 3),
        "readonly": lambda: 0.0,
        "memory": lambda: round(draw.uniform(60, 420)),
        "clock": lambda: draw.choice((-400.0, -3.0, -0.05, 0.05, 3.0, 400.0)),
        "two": lambda: 0.0,
    }
    amount = amounts[kind]()
    delay = round(draw.uniform(0, 4), 3) if kind == "two" else 0.0
    return Point(number, kind, draw.choice(list(stages)), runner, finisher, delay=delay, amount=amount)


def _lock(draw: random.Random, number: int, place: int, stages: Sequence[str]) -> Point:
    return Point(
        number=number,
        kind="lock",
        stage=draw.choice(list(stages)),
        runner="dvc",
        finisher=RUNNERS[place % 2],
        victim=("runner", "group")[place // 2 % 2],
        event="lock",
        nth=1,
        delay=round(draw.uniform(0, 0.1), 3),
    )

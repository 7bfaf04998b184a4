"""Speed of asking a model: `python -m benchmarks.extract` from the repository root.

k prompts about a picture, one item and variation, against the loop (_asking.py) on a LLaVA of random
weights (_llava.py): 576 tokens of the picture, 60 to 100 of text. Both sides do all that a user waits for,
from a question to its numbers: templates, tokens, pixels, the model, what is read out. They run in turn on
the same prompts, every round with new pictures; figures are medians, their ratio the median of the rounds'.

Without a GPU a small model on one core, in processor time; only the ratios mean something. `limit` is what
the operations of both sides would give. With one (`--device cuda`) LLaVA-1.5-7B in bfloat16, in time of the
wall, and `floor`: the time that this GPU would need at least, by the rates it is seen to reach on a large
product and a copy. `--dry` tries that path on any machine with a model of a toy's size.
"""

import argparse
import os
import random
import statistics
import sys
from dataclasses import dataclass, replace

import numpy as np
import torch

from benchmarks._asking import Loop, Values, by_engine, questions
from benchmarks._clock import seconds
from benchmarks._figure import figure
from benchmarks._limits import Rates, floor, limit, measured_rates
from benchmarks._llava import DRY, SEVEN_B, SMALL, Shape, as_published, load
from vouch.models.config import ExtractConfig
from vouch.models.decoder.engine import shared_prefix
from vouch.models.engine import Engine, Question
from vouch.tables.asked import LETTERS, LIKELIHOOD

PEER = "one prompt per forward pass, all logits"
TOLERANCE = {"float32": 1e-4, "bfloat16": 0.2}  # of the standard deviation of the numbers


@dataclass(frozen=True)
class Case:
    """prompts: about each picture. pictures: of a round, so that short ones can be timed."""

    name: str
    output: str
    prompts: int
    pictures: int
    rounds: int


ON_CPU = (
    Case("letters_k1", LETTERS, 1, 4, 7),
    Case("letters_k4", LETTERS, 4, 1, 7),
    Case("letters_k12", LETTERS, 12, 1, 5),
    Case("letters_k48", LETTERS, 48, 1, 3),
    Case("likelihood_4x12", LIKELIHOOD, 12, 1, 3),
)
ON_GPU = (
    Case("letters_k1", LETTERS, 1, 32, 5),
    Case("letters_k4", LETTERS, 4, 8, 5),
    Case("letters_k12", LETTERS, 12, 8, 5),
    Case("letters_k48", LETTERS, 48, 2, 5),
    Case("likelihood_4x12", LIKELIHOOD, 12, 4, 5),
)


@dataclass(frozen=True)
class Round:
    """Seconds of both sides, and how far their numbers are apart at most."""

    ours: float
    theirs: float
    apart: float


def difference(ours: Values, theirs: Values) -> float:
    """Largest difference, in standard deviations of the loop's numbers."""
    mine, loop = (np.array([value for row in side for value in row]) for side in (ours, theirs))
    return float(np.abs(mine - loop).max() / loop.std())


def both(case: Case, engine: Engine, loop: Loop, asked: list[list[Question]], ours_first: bool) -> Round:
    """Seconds and numbers of both sides, one after the other."""
    every = [one for of_picture in asked for one in of_picture]
    sides = [lambda: by_engine(engine, case.output, asked), lambda: loop.answer(case.output, every)]
    order = (0, 1) if ours_first else (1, 0)
    timed = {side: seconds(sides[side], engine.device) for side in order}
    (ours, mine), (theirs, its) = timed[0], timed[1]
    return Round(ours, theirs, difference(mine, its))


def measure(case: Case, shape: Shape, engine: Engine, loop: Loop, rates: Rates | None) -> float:
    """Prints the figures of a case; the largest difference of the two sides."""
    rng = random.Random(case.name)
    count = case.pictures * case.prompts
    rounds, limits, floors = [], [], []
    both(case, engine, loop, [questions(shape, rng, case.output, 1)], True)  # first calls set things up
    for number in range(case.rounds):
        asked = [questions(shape, rng, case.output, case.prompts) for _ in range(case.pictures)]
        rounds.append(both(case, engine, loop, asked, number % 2 == 0))
        limits.append(statistics.mean(limit(shape, of_picture) for of_picture in asked))
        if rates:
            floors.append(sum(floor(shape, rates, of_picture) for of_picture in asked))
    value, peer = (
        1000 / count * statistics.median(side)
        for side in ([one.ours for one in rounds], [one.theirs for one in rounds])
    )
    ratio = statistics.median(one.theirs / one.ours for one in rounds)
    figure(case.name, value, "ms/prompt", PEER, peer, ratio, statistics.median(limits))
    if rates:
        least = 1000 / count * statistics.median(floors)
        figure(f"{case.name}_floor", value, "ms/prompt", "computed floor", least, least / value)
    return max(one.apart for one in rounds)


def processor(loop: Loop, shape: Shape, device: str) -> None:
    """What the processor takes of the loop's time."""
    asked = questions(shape, random.Random(0), LETTERS, 24)

    def work() -> None:
        for one in asked:
            loop.inputs(one)

    times = [seconds(work, device)[0] for _ in range(3)]
    figure("processor", 1000 * statistics.median(times) / len(asked), "ms/prompt")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.extract")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--batch", type=int, nargs="+", default=[1], help="rows of a pass, one run for each")
    parser.add_argument("--cases", nargs="+", default=[case.name for case in ON_CPU])
    return parser.parse_args()


def main() -> None:
    """Measures and prints every figure; fails where the two sides disagree."""
    given = arguments()
    cuda = torch.cuda.is_available() if given.device == "auto" else given.device == "cuda"
    device = "cuda" if cuda else "cpu"
    absolute = cuda or given.dry
    shape = DRY if given.dry else SEVEN_B if cuda else SMALL
    if not cuda and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rates = measured_rates(device, 256 if given.dry else 8192) if absolute else None
    if rates:
        figure("product_bfloat16", rates.peak / 1e12, "TFLOP/s")
        figure("copy", rates.bandwidth / 1e12, "TB/s")
    cases = [case for case in (ON_GPU if absolute else ON_CPU) if case.name in given.cases]
    if given.dry:
        cases = [replace(case, pictures=1, rounds=1) for case in cases]
    wrong = []
    config = ExtractConfig(batch=1, bucket=8, threads=1, device=device, workers=8 if cuda else 1)
    loaded = load(shape, device)
    loop = Loop(as_published(loaded.model), loaded.processor)
    processor(loop, shape, device)
    for batch in given.batch:
        engine = shared_prefix(loaded, None, config.model_copy(update={"batch": batch}))
        for case in cases:
            apart = measure(case, shape, engine, loop, rates)
            figure(f"{case.name}_difference", apart, "standard deviations")
            if not apart <= TOLERANCE[shape.dtype]:
                wrong.append(case.name)
        print(engine.notes, file=sys.stderr)
    if wrong:
        raise SystemExit(f"the engine and the loop disagree: {', '.join(wrong)}")


if __name__ == "__main__":
    main()

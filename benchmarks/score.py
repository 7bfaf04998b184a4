"""Speed of scoring: `python -m benchmarks.score` from the repository root.

26 models on the 4,377 rows of MMBench: the released logits where ../shared has them, else simulated
logits of the same size. All figures are processor time on one core, after imports and reading; the two
sides of the ratio run in turn and the best of the rounds counts.
"""

import os
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from benchmarks._figure import figure
from stages.compare.differences import differences
from stages.score.config import Config
from stages.score.join import Block, join
from stages.score.readings.clean import clean
from stages.score.readings.faithful import faithful
from stages.score.tables import score_block
from tests.score import released
from tests.score.reference_loop import score_rows
from tests.score.simulated import SHARED, labels_of, simulate, tables, values

CONFIG = Config(alpha=0.1, calibration=0.5, seed=42, splits=100, bins=15)
MODELS, ROWS, ROUNDS = 26, 4377, 5


def blocks() -> dict[str, Block]:
    """What each model answered."""
    if SHARED.is_dir():
        return {model: released.block(model) for model in released.models()}
    found = {}
    for number in range(MODELS):
        (block,) = join(*tables(simulate(number, ROWS, copies=4)), f"model {number}")
        found[f"model_{number}"] = block
    return found


def seconds(work: Callable[[], Any]) -> float:
    """Processor time of one call: that of the wall on a core that nobody else uses."""
    start = time.process_time()
    work()
    return time.process_time() - start


def against_the_loop(answered: dict[str, Block]) -> None:
    """The faithful reading, one split, every metric, against one row after the other."""
    responses = [block.responses for block in answered.values()]
    peers = [(each.logits.copy(order="C"), labels_of(each)) for each in responses]
    ours, theirs = [], []
    for _ in range(ROUNDS):
        theirs.append(seconds(lambda: [score_rows(logits, labels) for logits, labels in peers]))
        ours.append(seconds(lambda: [faithful(each, CONFIG) for each in responses]))
    for each, (logits, labels) in zip(responses, peers, strict=True):
        found, expected = values(faithful(each, CONFIG).figures), score_rows(logits, labels)
        # The loop leaves ties to this machine's argsort, which may not be the released one.
        if any(abs(found[name] - value) > 0.05 for name, value in expected.items()):
            raise SystemExit("the arrays and the loop disagree; the tests of score tell where")
    rows = sum(len(each) for each in responses)
    mine, loop = rows / min(ours), rows / min(theirs)
    figure("score_mmbench_vs_reference", mine, "rows/s", "row-by-row Python loop", loop, mine / loop)


def main() -> None:
    """Measures and prints every figure."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    answered = blocks()
    against_the_loop(answered)
    name, block = next(iter(answered.items()))
    one = min(seconds(lambda: clean(block.responses, CONFIG)) for _ in range(ROUNDS))
    figure("score_mmbench_clean_100_splits", one, "s per model")
    whole = min(seconds(lambda: score_block(name, "mmbench", block, CONFIG)) for _ in range(ROUNDS))
    figure("score_mmbench_both_readings_and_categories", whole, "s per model")
    outcomes = pa.concat_tables(score_block(n, "mmbench", b, CONFIG)[1] for n, b in answered.items())
    pairs = min(seconds(lambda: differences(outcomes, 42, 1000)) for _ in range(ROUNDS))
    figure("compare_mmbench_325_pairs", pairs, "s")


if __name__ == "__main__":
    main()

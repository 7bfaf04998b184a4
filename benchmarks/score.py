"""Speed of scoring: `python -m benchmarks.score` from the repository root.

26 models on the 4,377 rows of MMBench: the released logits where ../shared has them, else simulated
logits of the same size; prediction sets of a million simulated rows; and 26 models on as many rows as two
benchmarks have together (7,221), with every metric. All figures are processor time on one core, after
imports and reading; the two sides of the ratio run in turn and the best of the rounds counts.
"""

import os
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from mapie.classification import SplitConformalClassifier
from mapie.conformity_scores import APSConformityScore, LACConformityScore

from benchmarks._figure import figure
from tests.metrics import released
from tests.metrics.given import Given
from tests.metrics.reference_loop import aps_sets, lac_sets, score_rows
from tests.metrics.simulated import SHARED, labels_of, simulate, tables, values
from vouch.metrics.calibration import authors_probabilities, softmax
from vouch.metrics.comparison.leaderboard import differences
from vouch.metrics.config import ScoreConfig
from vouch.metrics.conformal.figures import Calibrations, rows_of
from vouch.metrics.conformal.sets import group_splits
from vouch.metrics.join import Block, join
from vouch.metrics.protocols import AUTHORS, authors_split, authors_threshold, clean, faithful
from vouch.metrics.responses import Responses
from vouch.metrics.tables import score_block

CONFIG = ScoreConfig(alpha=0.1, calibration=0.5, seed=42, splits=100, bins=15)
EVERYTHING = CONFIG.model_copy(
    update={
        "scores": ["lac", "aps", "margin", "raps", "saps"],
        "strata": ["marginal", "class", "category", "options"],
    }
)
MODELS, ROWS, ROUNDS = 26, 4377, 5
MANY, LOOPED, BOTH = 1_000_000, 20_000, 7221


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
    """The faithful protocol, one split, every metric, against one row after the other."""
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


def a_million(rows: Responses) -> None:
    """The authors' LAC and APS sets of a million rows in float32, as letters are stored, from logits.

    MAPIE starts from probabilities.
    """

    def authors() -> None:
        _, calibration = authors_split(len(rows), 0.5, 42)
        probabilities = authors_probabilities(rows)
        for score in AUTHORS.values():
            score.sets(probabilities, authors_threshold(score.answers(probabilities)[calibration], 0.1))

    few = rows.take(np.arange(LOOPED))
    pairs = list(zip(few.logits.copy(order="C"), labels_of(few), strict=True))
    halves = pairs[LOOPED // 2 :], pairs[: LOOPED // 2]

    def loop() -> None:
        lac_sets(*halves, 0.1)
        aps_sets(*halves, 0.1, np.argsort)

    times = [(seconds(authors), seconds(loop), by_mapie(rows)) for _ in range(ROUNDS)]
    mine, looped, mapie = (min(of) for of in zip(*times, strict=True))
    ours, theirs, peer = MANY / mine, LOOPED / looped, MANY / mapie
    figure("lac_aps_1m_vs_reference", ours, "rows/s", "row-by-row Python loop", theirs, ours / theirs)
    figure("lac_aps_1m_vs_mapie", ours, "rows/s", "MAPIE", peer, ours / peer)


def by_mapie(rows: Responses) -> float:
    """Seconds that MAPIE takes for the LAC and APS sets of a million rows, from probabilities."""
    p, labels, half = softmax(rows.logits.copy(order="C")), np.array(labels_of(rows)), MANY // 2

    def both() -> None:
        for score in (LACConformityScore(), APSConformityScore()):
            model = SplitConformalClassifier(Given(), conformity_score=score, prefit=True, random_state=0)
            model.conformalize(p[:half], labels[:half])
            model.predict_set(p[half:])

    return seconds(both)


def many_splits(rows: Responses) -> None:
    """The clean protocol's LAC and APS sets of a million rows: time of 100 splits, and memory."""
    times = [(seconds(lambda: sets(rows, 1)), by_mapie(rows)) for _ in range(ROUNDS)]
    one, peer = (min(of) for of in zip(*times, strict=True))
    many = min(seconds(lambda: sets(rows, 100)) for _ in range(ROUNDS))
    figure("splits_100_vs_1", many, "s", "one split", one, one / many)
    figure("clean_1m_vs_mapie", MANY / one, "rows/s", "MAPIE", MANY / peer, peer / one)
    tracemalloc.start()
    sets(rows, 100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    size = rows.logits.nbytes
    figure("lac_aps_1m_100_splits_memory", peak / 2**20, "MiB", "the logits", size / 2**20, size / peak)


def sets(rows: Responses, splits: int) -> None:
    """LAC and APS sets of the clean protocol, from logits."""
    drawn = group_splits(rows.groups, 0.5, 42, splits)
    calibrations = Calibrations(
        rows_of(rows, np.zeros(len(rows), dtype=bool), CONFIG.scores, CONFIG.parameters), drawn
    )
    calibrations.of(calibrations.rows.strata("marginal"), 0.1)


def everything() -> None:
    """All metrics, 100 splits, five scores, four kinds of calibration; the loop: one split, two scores."""
    simulated = [simulate(number, BOTH, copies=4) for number in range(MODELS)]
    clean(simulated[0], EVERYTHING)
    ours = seconds(lambda: [clean(each, EVERYTHING) for each in simulated])
    peers = [(each.logits.copy(order="C"), labels_of(each)) for each in simulated]
    theirs = seconds(lambda: [score_rows(logits, labels) for logits, labels in peers])
    figure("all_metrics_vs_reference", ours, "s", "row-by-row Python loop, one split", theirs, theirs / ours)


def main() -> None:
    """Measures and prints every figure."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    a_million(simulate(0, MANY))
    many_splits(simulate(0, MANY, step=1e-9, dtype=np.float64))
    everything()
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

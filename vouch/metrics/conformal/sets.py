"""Split conformal prediction: splits, thresholds and prediction sets, over many splits at once.

`group_splits` draws splits of whole groups. `thresholds` finds each split's threshold for each stratum (Vovk
et al. 2005, section 4.5); `weighted_thresholds` finds thresholds that hold under covariate shift (Tibshirani
et al. 2019). `set_membership` says for every row how large its set is and whether it contains the answer,
without building the sets of every split: thresholds of different splits are close together, so most rows have
the same set in all of them and are counted once. Only rows with a score between the smallest and the largest
threshold are examined split by split. 100 splits of a million rows take less than twice the memory of their
logits and less than four times as long as one split.

Strata (`score.strata`): marginal, one threshold for all rows; class, one for each letter, so that coverage
holds whichever letter is correct; category, one for each category of the items; options, one for each number
of options. A stratum with too few calibration rows has an infinite threshold: its sets contain every option.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.responses import Array, Bools, Floats, Ints, Ranked, count, pieces

KEPT_ROWS, KEPT_BITS = 1 << 12, 1 << 19
"""The most rows, and rows times splits, of splits that are kept for the next answers with the same groups."""
BYTES = 1 << 13
"""Bytes per split and step: small enough for the processor's cache."""
DIGITS = 12
"""Significant digits of a computed number such as 1 - 0.9; the rest is rounding error."""


def meant(number: float) -> Fraction:
    """The exact number behind a floating-point one: 1 / 3 is a third."""
    digits = f"{number:.{DIGITS}g}"
    ratio = Fraction(digits).limit_denominator(1000)
    return ratio if f"{float(ratio):.{DIGITS}g}" == digits else Fraction(digits)


@dataclass(frozen=True)
class Splits:
    """Which of n rows calibrate in each split; the others test. Iterating gives a split [n] at a time.

    packed: [splits, bytes] rows by np.packbits, so that 100 splits of a million rows take 12 MiB.
    """

    packed: NDArray[np.uint8]
    rows: int

    @classmethod
    def of(cls, splits: Iterable[Bools], rows: int) -> "Splits":
        """From splits [n] that say, one after another, whether each of n rows calibrates."""
        return cls(np.stack([np.packbits(split) for split in splits]), rows)

    def __len__(self) -> int:
        return len(self.packed)

    def __iter__(self) -> Iterator[Bools]:
        for packed in self.packed:
            yield np.unpackbits(packed, count=self.rows).view(bool)

    def calibrating(self, rows: Ints | None = None) -> Bools:
        """[splits, r] whether the given rows (all by default) calibrate."""
        if rows is None:
            return np.unpackbits(self.packed, axis=1, count=self.rows).view(bool)
        bits = np.take(self.packed, rows >> 3, axis=1)
        bits >>= np.bitwise_not(rows).astype(np.uint8) & 7  # the first row of a byte is its highest bit
        bits &= 1
        return bits.view(bool)

    def count(self, marked: Bools) -> Ints:
        """[splits] how many of the marked rows [n] calibrate."""
        bits = np.packbits(marked)
        counted = np.zeros(len(self), dtype=np.int64)
        for start in range(0, len(bits), BYTES):
            overlap = self.packed[:, start : start + BYTES] & bits[start : start + BYTES]
            counted += np.bitwise_count(overlap).sum(axis=1, dtype=np.int64)
        return counted

    def part(self, start: int, stop: int) -> "Splits":
        """The same splits of consecutive rows."""
        return Splits.of((split[start:stop] for split in self), stop - start)

    @cached_property
    def sizes(self) -> Ints:
        """[splits] how many rows calibrate."""
        return self.count(np.ones(self.rows, dtype=bool))

    def test_means(self, values: np.ndarray) -> Array:
        """[splits] mean of values [n] over the rows that test; rows with equal values are summed exactly."""
        total = np.zeros(len(self))
        # np.unique would sort a million booleans, which takes as long as everything else here.
        for value in (False, True) if values.dtype == bool else np.unique(values):
            rows = values == value
            total += float(value) * (np.count_nonzero(rows) - self.count(rows))
        return total / (self.rows - self.sizes)

    @cached_property
    def tests(self) -> Ints:
        """[n] in how many splits a row tests."""
        times = np.full(self.rows, len(self))
        for split in self:
            times -= split
        return times


def group_splits(groups: Ints, calibration: float, seed: int, splits: int) -> Splits:
    """Splits of n rows that keep each group whole, on one side.

    groups [n]: numbers from 0. A group's number decides on which side it falls; the order of the
    rows does not. Each split draws floor(calibration G) of the G groups without replacement: those with the
    smallest of G random numbers; of equal ones, the first. Other shares use the same numbers, so a larger
    calibration half contains the smaller one. Generator: SFC64, whose raw stream numpy has frozen.
    """
    numbers = np.unique(groups, return_inverse=True)[1]
    if len(numbers) > KEPT_ROWS or len(numbers) * splits > KEPT_BITS:
        return _group_splits(numbers, calibration, seed, splits)
    return _kept_splits(numbers.astype(np.int16).tobytes(), calibration, seed, splits)


@lru_cache(maxsize=512)
def _kept_splits(groups: bytes, calibration: float, seed: int, splits: int) -> Splits:
    """All models and most variations have the same groups, in each category; 32 MiB at most."""
    return _group_splits(np.frombuffer(groups, dtype=np.int16), calibration, seed, splits)


def _group_splits(numbers: NDArray[np.integer], calibration: float, seed: int, splits: int) -> Splits:
    total = int(numbers.max(initial=-1)) + 1
    chosen = math.floor(meant(calibration) * total)
    source = np.random.SFC64(seed)

    def drawn() -> Iterator[Bools]:
        for _ in range(splits):
            raw = source.random_raw(-(-total // 2)).astype("<u8", copy=False).view("<u4")[:total]
            yield _smallest(raw, chosen)[numbers]

    return Splits.of(drawn(), len(numbers))


def _smallest(draws: NDArray[np.uint32], chosen: int) -> Bools:
    """[n] whether a draw is among the `chosen` smallest [n]; of equal ones, the first are."""
    if not chosen:
        return np.zeros(len(draws), dtype=bool)
    last = np.partition(draws, chosen - 1)[chosen - 1]
    smallest = draws <= last
    spare = int(np.count_nonzero(smallest)) - chosen
    if spare:
        smallest[np.flatnonzero(draws == last)[-spare:]] = False
    return np.asarray(smallest)


class Strata(NamedTuple):
    """answers [n]: stratum that a row calibrates. rows [n]: that of its threshold; None: one per letter."""

    answers: NDArray[np.integer]
    rows: NDArray[np.integer] | None
    number: int


def _one(rows: int) -> Strata:
    alike = np.zeros(rows, dtype=np.uint8)
    return Strata(alike, alike, 1)


def _of_rows(numbers: np.ndarray) -> Strata:
    distinct, rows = np.unique(numbers, return_inverse=True)
    return Strata(rows, rows, len(distinct))


def _of_letters(ranked: Ranked) -> Strata:
    first = ranked.answers.argmax(axis=1)
    return Strata(ranked.letters[np.arange(len(first)), first], None, ranked.logits.shape[1])


STRATA: dict[str, Callable[[Ranked, Ints], Strata]] = {
    "marginal": lambda ranked, categories: _one(len(ranked)),
    "class": lambda ranked, categories: _of_letters(ranked),
    "category": lambda ranked, categories: _of_rows(categories),
    "options": lambda ranked, categories: _of_rows(ranked.options),
}
"""Kinds of calibration; arguments: the rows, the category of each row's item."""
SMALL = 4096
"""With fewer rows than this, the window below would save nothing."""
REACH = 4
"""The window's reach in square roots of n: more than ten standard deviations if rows are independent."""


def thresholds(
    answer: Floats, strata: NDArray[np.integer], count: int, splits: Splits, alpha: float
) -> Array:
    """[splits, count] the ceil((m + 1)(1 - alpha))-th smallest score of the m rows that calibrate a stratum.

    answer [n]: scores of the answers; strata [n]: each row's stratum in 0 ... count - 1. +inf if m is too
    small for the rank (Vovk, Gammerman and Shafer 2005, sections 2.2 and 4.5).
    """
    limits = np.full((len(splits), count), np.inf)
    for stratum in range(count):
        mine = np.asarray(strata == stratum)
        sizes = splits.count(mine)
        rank_of = {size: exact_rank(size, alpha) for size in set(sizes.tolist())}
        ranks = np.array([rank_of[size] for size in sizes.tolist()])
        finite = ranks <= sizes
        if finite.any():
            low, high = _window(answer, mine, sizes[finite], ranks[finite])
            values = _select(answer, mine, splits, np.where(finite, ranks, 0), low, high)
            limits[finite, stratum] = values[finite]
    return limits


def _window(answer: Floats, mine: Bools, sizes: Ints, ranks: Ints) -> tuple[float, float]:
    """Bounds of the scores among which the thresholds of all splits are expected."""
    total = int(np.count_nonzero(mine))
    if total < SMALL:
        return -np.inf, np.inf
    levels, reach = ranks / sizes, REACH * math.sqrt(total)
    low = max(0, math.floor(levels.min() * total - reach))
    high = min(total - 1, math.ceil(levels.max() * total + reach))
    values = answer if total == len(answer) else answer[mine]
    placed = np.partition(values, (low, high))
    return float(placed[low]), float(placed[high])


def _select(answer: Floats, mine: Bools, splits: Splits, ranks: Ints, low: float, high: float) -> Array:
    """[splits] the rank-th smallest calibrating score in each split; looks at all rows if need be."""
    inside = np.flatnonzero(mine & (answer >= low) & (answer <= high))
    order = inside[np.argsort(answer[inside], kind="stable")]
    skipped = splits.count(mine & (answer < low))
    reached = np.cumsum(splits.calibrating(order), axis=1, dtype=np.int32)
    reached += skipped[:, None].astype(np.int32)
    bounded = (ranks > skipped) & (ranks <= reached[:, -1])
    if not bounded[ranks > 0].all():
        return _select(answer, mine, splits, ranks, -np.inf, np.inf)
    return np.asarray(answer[order][(reached >= ranks[:, None]).argmax(axis=1)])


def quantile(scores: Floats, alpha: float) -> float:
    """The ceil((n + 1)(1 - alpha))-th smallest of n scores, their threshold; inf if n is too small."""
    rank = exact_rank(len(scores), alpha)
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else np.inf


@lru_cache(maxsize=1 << 14)
def exact_rank(count: int, alpha: float) -> int:
    """ceil((n+1)(1-alpha)) without rounding error: the 1-based rank of the conformal threshold.

    1 - 0.9 as alpha means 0.1. Larger than `count` if n is too small for the target; the threshold is then
    +inf (Vovk et al. 2005; Angelopoulos and Bates 2023, section 1).
    """
    return max(1, math.ceil((count + 1) * (1 - meant(alpha))))


def fewest_groups(alpha: float, calibration: float) -> int:
    """The fewest groups of which enough calibrate (`group_splits`) for a finite threshold."""
    calibrating = math.ceil(1 / meant(alpha)) - 1
    return math.ceil(calibrating / meant(calibration))


LIVE = 1 << 10
"""How many live rows are counted at a time, to limit the memory needed."""
Scores = Callable[[Ranked], Floats]


class NotANumber(ValueError):
    """A nonconformity score is NaN. score: its name."""

    def __init__(self, score: str, row: int) -> None:
        super().__init__(f"the nonconformity score {score} of row {row} is NaN; correct its function")
        self.score = score


def answer_scores(ranked: Ranked, scores: Mapping[str, Scores]) -> dict[str, Array]:
    """[n] score of each row's answer, the smallest of several, by the names of the scores.

    Raises NotANumber if the score of an option is NaN.
    """
    smallest_of = {name: np.full(len(ranked), np.inf) for name in scores}
    for piece in pieces(len(ranked)):
        part = ranked.part(piece)  # what scores share is worked out once
        answers = part.answers
        for name, score in scores.items():
            values, smallest = score(part), smallest_of[name][piece]
            unknown = (np.isnan(values) & part.present).any(axis=1)
            if unknown.any():
                raise NotANumber(name, piece.start + int(unknown.argmax()))
            for letter in range(values.shape[1]):
                of_answers = np.where(answers[:, letter], values[:, letter], np.inf)
                np.minimum(smallest, of_answers, out=smallest)
    return smallest_of


@dataclass(frozen=True)
class SetMembership:
    """A code is 4 size + 2 covered + empty: size and coverage once filled, and whether it was empty before.

    settled [n]             code of each row that is not live; meaningless for live ones
    live    [r]             the live rows: their sets may differ between splits
    varying [splits, r]     codes of the live rows
    """

    settled: NDArray[np.uint8]
    live: Ints
    varying: NDArray[np.uint8]

    def counts(self, splits: Splits) -> NDArray[np.int64]:
        """[splits, s] how many test rows of each split have each code."""
        number = 1 + max(int(self.settled.max(initial=0)), int(self.varying.max(initial=0)))
        counted = np.zeros((len(splits), number), dtype=np.int64)
        fixed = np.ones(splits.rows, dtype=bool)
        fixed[self.live] = False
        for code in range(number):
            rows = fixed & (self.settled == code)
            if not rows.any():
                continue
            counted[:, code] = np.count_nonzero(rows) - splits.count(rows)
        first = np.arange(len(splits))[:, None] * number
        for start in range(0, len(self.live), LIVE):
            testing = ~splits.calibrating(self.live[start : start + LIVE])
            cells = (first + self.varying[:, start : start + LIVE])[testing]
            counted += np.bincount(cells, minlength=counted.size).reshape(counted.shape)
        return counted

    def row_means(self, splits: Splits) -> tuple[Array, Array]:
        """[n] mean size and mean coverage of each row over the splits in which it tests, or 0."""
        testing = ~splits.calibrating(self.live)
        times = np.maximum(testing.sum(axis=0), 1)
        tested = splits.tests > 0
        both = []
        for shift, mask in ((2, 63), (1, 1)):
            means = (self.settled >> shift & mask).astype(np.float64)
            varying = (self.varying >> shift & mask) * testing
            means[self.live] = varying.sum(axis=0, dtype=np.int64) / times
            both.append(means * tested)
        return both[0], both[1]


def set_membership(
    ranked: Ranked,
    scores: Mapping[str, Scores],
    limits: Mapping[str, Array],
    strata: NDArray[np.integer] | None,
) -> dict[str, SetMembership]:
    """Set membership of all rows in every split, by the names of the scores.

    limits [splits, strata]: thresholds of each score. strata [n]: each row's column of them; None: each
    letter has the column of its position in the prompt.
    """
    settled = {name: np.empty(len(ranked), dtype=np.uint8) for name in scores}
    nothing = np.zeros(0, dtype=np.int64), np.zeros((len(next(iter(limits.values()))), 0), dtype=np.uint8)
    moving = {name: [nothing] for name in scores}
    for piece in pieces(len(ranked)):
        part = ranked.part(piece)  # what scores share is worked out once
        where = part.letters if strata is None else strata[piece, None]
        for name, score in scores.items():
            settled[name][piece], live, varying = _of_piece(part, score(part), limits[name], where)
            if len(live):
                moving[name].append((live + piece.start, varying))
    membership = {}
    for name in scores:
        rows, codes = zip(*moving.pop(name), strict=True)
        membership[name] = SetMembership(settled[name], np.concatenate(rows), np.concatenate(codes, axis=1))
    return membership


def _of_piece(
    part: Ranked, scores: Floats, limits: Array, where: NDArray[np.integer]
) -> tuple[NDArray[np.uint8], Ints, NDArray[np.uint8]]:
    """Codes [r] by the smallest thresholds; the rows that are live, and their codes in every split.

    scores [r, k]; where [r, k] or [r, 1]: columns of limits.
    """
    if part.options.min() < scores.shape[1]:
        # Not even an infinite threshold admits a letter that does not exist.
        scores = np.where(part.present, scores, np.nan)
    low, high = limits.min(axis=0), limits.max(axis=0)
    kept = scores <= low[where]
    settled = _code(part, count(kept), (kept & part.answers).any(axis=1))
    live = np.zeros(0, dtype=np.int64)
    if (low < high).any():
        live = np.flatnonzero(((scores <= high[where]) != kept).any(axis=1))
    return settled, live, _varying(part.take(live), scores[live], limits, where[live])


def _varying(part: Ranked, scores: Floats, limits: Array, where: NDArray[np.integer]) -> NDArray[np.uint8]:
    """[splits, r] codes of r rows; scores [r, k], where [r, k] or [r, 1] as columns of limits."""
    size = np.zeros((len(limits), len(part)), dtype=np.uint8)
    covered = np.zeros(size.shape, dtype=bool)
    answers = part.answers
    for letter in range(scores.shape[1]):
        threshold = limits[:, where[:, min(letter, where.shape[1] - 1)]]
        kept = scores[:, letter] <= threshold
        size += kept
        covered |= kept & answers[:, letter]
    return _code(part, size, covered)


def _code(part: Ranked, size: NDArray[np.uint8], covered: Bools) -> NDArray[np.uint8]:
    """[..., n] codes of sets with that size and coverage; the most probable letters fill an empty one."""
    empty = size == 0
    filled = size.copy()
    rows = np.flatnonzero(empty if empty.ndim == 1 else empty.any(axis=0))
    if len(rows):
        of_rows, tops = empty[..., rows], part.tops(rows)
        filled[..., rows] = np.where(of_rows, count(tops), size[..., rows])
        covered[..., rows] |= of_rows & (tops & part.answers[rows]).any(axis=1)
    return np.asarray(filled << 2 | covered.view(np.uint8) << 1 | empty.view(np.uint8))


STEPS = 50
RATIO_DIGITS = 6
"""Significant digits of a ratio: the last ones depend on the number of threads of the linear algebra."""


def density_ratio(source: Array, target: Array, penalty: float = 1.0) -> tuple[Array, Array]:
    """For the rows of source [n, d] and target [m, d], how much likelier they are in the target.

    Odds of a logistic regression on standardised columns, times n / m; all its coefficients but the intercept
    are shrunk by penalty / 2 times their squares. Fitted by Newton's method.
    """
    rows = np.concatenate([source, target])
    spread = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1)
    rows = np.column_stack([rows, np.ones(len(rows))])
    wanted = np.repeat([0.0, 1.0], [len(source), len(target)])
    shrink = np.append(np.full(source.shape[1], penalty), 0.0)
    coefficients = np.append(np.zeros(source.shape[1]), np.log(len(target) / len(source)))
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-rows @ coefficients))
        curvature = (rows * (p * (1 - p))[:, None]).T @ rows + np.diag(shrink) + 1e-9 * np.eye(len(shrink))
        step = np.linalg.solve(curvature, rows.T @ (wanted - p) - shrink * coefficients)
        coefficients = coefficients + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-10:
            break
    odds = np.exp(np.clip(rows @ coefficients, -30, 30)) * len(source) / len(target)
    odds = np.array([float(f"{each:.{RATIO_DIGITS - 1}e}") for each in odds])
    return odds[: len(source)], odds[len(source) :]


def weighted_thresholds(scores: Array, weights: Array, new: Array, alpha: float) -> Array:
    """[m] thresholds for questions of weight new [m]; scores, weights [n]: of the questions that calibrate.

    The smallest score such that larger ones have at most a share alpha of all weight, including the new
    question's; inf if its own weight exceeds that. With equal weights, this is the usual threshold.
    """
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weights[order])
    total = reached[-1] if len(reached) else 0.0
    index = np.searchsorted(reached, (1 - alpha) * (total + new) * (1 - 1e-12))
    return np.append(scores[order], np.inf)[np.minimum(index, len(scores))]

"""Sorting the letters of each prompt by probability, ties as in the released scores.

numpy's default argsort is no stable sort: on rows this short it runs a fixed sorting network, and
logits in half precision tie often enough for that to move published set sizes. The network
below gives the same order on every machine.

Probabilities with the letters of each row in descending order of probability, and what follows from the
order.

Everything here is the same for letters of equal probability, so no number depends on how ties were sorted.
Masses are logarithms: a probability of 1e-400 has its place, and so has one that falls short of 1 by as much.

Nonconformity scores, SCORES by the names of `score.scores`. To add one, add an entry.

`order` takes Ranked rows and Penalties and returns [n, k]: numbers in the order of the letters' scores. The
clean protocol builds {letters with a score <= threshold} from it, for which order is all that counts. For a
score s it is -log(1 - s), worked out from the mass 1 - s, so that letters with s = 1 - 1e-20 and 1 - 1e-400
stay apart, where rounded scores would all be 1. `value` turns such numbers back into scores.

Letters of equal probability have equal scores. Random terms use one uniform number a row that hangs
on the item alone (`uniform`), so it is the same in every order of rows, every variation and every split.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.responses import Array, Bools, Floats, Ints, Responses

Marks = TypeVar("Marks", bound=np.ndarray)

NETWORK_LETTERS = 8
ROWS = 1 << 14
"""Rows a piece: its arrays stay in the processor's cache, and memory stays flat."""
STAGES = (
    ((0, 1), (2, 3), (4, 5), (6, 7)),
    ((0, 3), (1, 2), (4, 7), (5, 6)),
    ((0, 1), (2, 3), (4, 5), (6, 7)),
    ((0, 7), (1, 6), (2, 5), (3, 4)),
    ((0, 2), (1, 3), (4, 6), (5, 7)),
    ((0, 1), (2, 3), (4, 5), (6, 7)),
)


@lru_cache
def _comparators(letters: int) -> tuple[tuple[int, int], ...]:
    # Fewer than eight values are padded at the end with +inf; comparators that touch a pad never swap.
    return tuple(pair for stage in STAGES for pair in stage if pair[1] < letters)


def pieces(count: int) -> list[slice]:
    """Consecutive slices of ROWS rows."""
    return [slice(start, min(start + ROWS, count)) for start in range(0, count, ROWS)]


def descending(values: Floats, carried: Marks) -> tuple[Floats, Marks]:
    """Both [n, k] arrays with each row in descending order of `values`; `carried`: bool or unsigned numbers.

    Up to eight letters: the reverse of numpy's argsort network, ties included. Above eight: the
    reverse of a stable ascending sort, so among equal values the later letter comes first.
    """
    ranked, marks = np.empty_like(values, order="F"), np.empty_like(carried, order="F")
    for piece in pieces(len(values)):
        _sort(values[piece], carried[piece], ranked[piece], marks[piece])
    return ranked, marks


def _sort(values: Floats, carried: np.ndarray, ranked: Floats, sorted_marks: np.ndarray) -> None:
    """Writes both in descending order to `ranked` and `sorted_marks`."""
    letters = values.shape[1]
    if letters > NETWORK_LETTERS:
        order = np.argsort(values, axis=1, kind="stable")[:, ::-1]
        ranked[:] = np.take_along_axis(values, order, axis=1)
        sorted_marks[:] = np.take_along_axis(carried, order, axis=1)
        return
    columns = [values[:, k] for k in range(letters)]
    marks = [carried[:, k] for k in range(letters)]
    for low, high in _comparators(letters):
        swap = columns[low] > columns[high]
        columns[low], columns[high] = (
            np.minimum(columns[low], columns[high]),
            np.maximum(columns[low], columns[high]),
        )
        moved = (marks[low] ^ marks[high]) * swap
        marks[low], marks[high] = marks[low] ^ moved, marks[high] ^ moved
    for rank in range(letters):
        ranked[:, rank], sorted_marks[:, rank] = columns[-1 - rank], marks[-1 - rank]


ANSWER = 32
"""A mark that is carried through the sort: the letter's place in its prompt, plus this for an answer."""
FAR = -600.0
"""Logits that lie further below the largest one are added up as logarithms; their exponentials vanish."""


@dataclass(frozen=True)
class Ranked:
    """n rows of at most k letters.

    logits  [n, k] descending, in the dtype in which they are stored; -inf where no letter is left
    marks   [n, k] place of the letter in its prompt, plus ANSWER for a correct one
    options [n] how many letters the row has
    noise   [n] a uniform number in 0 ... 1 for the scores that ask for one
    """

    logits: Floats
    marks: NDArray[np.uint8]
    options: NDArray[np.uint8]
    noise: Floats

    def __len__(self) -> int:
        return len(self.logits)

    def part(self, rows: slice) -> "Ranked":
        """Consecutive rows, as views."""
        return Ranked(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})

    def take(self, rows: Bools | NDArray[np.int64]) -> "Ranked":
        """Some rows, by mask or by index, in the order given."""
        return Ranked(**{f.name: np.asfortranarray(getattr(self, f.name)[rows]) for f in fields(self)})

    @cached_property
    def gaps(self) -> Floats:
        """[n, k] float64, logits minus the largest of the row; -inf where no letter is left."""
        gaps = self.logits.astype(np.float64)
        gaps -= gaps[:, :1].copy()
        return gaps

    @cached_property
    def _from(self) -> Floats:
        """[n, k] log of the sum of exp(gaps) of this letter and all after it, from the smallest up."""
        sums = np.exp(self.gaps)
        for rank in range(sums.shape[1] - 2, 0, -1):
            sums[:, rank] += sums[:, rank + 1]
        with np.errstate(divide="ignore"):
            np.log(sums[:, 1:], out=sums[:, 1:])
        far = np.flatnonzero((self.gaps < FAR).any(axis=1))
        if len(far):
            backwards = np.logaddexp.accumulate(self.gaps[far, :0:-1], axis=1)
            sums[far, 1:] = backwards[:, ::-1]
        sums[:, 0] = np.log1p(np.exp(sums[:, 1])) if sums.shape[1] > 1 else 0.0
        return sums

    @cached_property
    def log_p(self) -> Floats:
        """[n, k] log of the softmax; -inf where no letter is left."""
        return np.asarray(self.gaps - self._from[:, :1])

    @cached_property
    def log_beside(self) -> Floats:
        """[n, 1] log of 1 - p of the most probable letter."""
        if self.gaps.shape[1] == 1:
            return np.full((len(self), 1), -np.inf)
        return np.asarray(self._from[:, 1:2] - self._from[:, :1])

    @cached_property
    def log_from(self) -> Floats:
        """[n, k] log of the sum of all p no larger than this one; 0 for the most probable letters."""
        mass = self._from - self._from[:, :1]
        for rank in range(1, mass.shape[1]):
            np.copyto(mass[:, rank], mass[:, rank - 1], where=self._same[:, rank - 1])
        return mass

    @cached_property
    def log_below(self) -> Floats:
        """[n, k] log of the sum of all p smaller than this one; -inf for the least probable letters."""
        mass: Floats = np.full_like(self._from, -np.inf)
        for rank in range(mass.shape[1] - 2, -1, -1):
            after = self._from[:, rank + 1] - self._from[:, 0]
            mass[:, rank] = np.where(self._same[:, rank], mass[:, rank + 1], after)
        return mass

    @property
    def answers(self) -> Bools:
        """[n, k] the answers."""
        return np.asarray(self.marks >= ANSWER)

    @property
    def letters(self) -> NDArray[np.uint8]:
        """[n, k] place of each letter in its prompt."""
        return self.marks & np.uint8(ANSWER - 1)

    @property
    def present(self) -> Bools:
        """[n, k] whether a rank has a letter."""
        return np.asarray((np.arange(self.logits.shape[1])[:, None] < self.options).T)

    def tops(self, rows: Ints) -> Bools:
        """[r, k] the letters with the largest probability, of some rows."""
        return np.asarray(self.gaps[rows] == 0) & self.present[rows]

    @cached_property
    def _same(self) -> Bools:
        """[n, k - 1] whether a letter is as probable as the next one."""
        return np.asarray(self.gaps[:, :-1] == self.gaps[:, 1:])

    @cached_property
    def place(self) -> Array:
        """[n, k] 1 + how many letters are more probable."""
        places: Array = np.ones(self.gaps.shape)
        for rank in range(1, places.shape[1]):
            places[:, rank] = np.where(self._same[:, rank - 1], places[:, rank - 1], rank + 1)
        return places


def rank(responses: Responses) -> Ranked:
    """The options of each prompt in descending order of their logits, in pieces.

    Probabilities are worked out where a piece is used: kept, they would take twice the memory of float32
    logits.
    """
    shape = responses.logits.shape
    logits = np.empty(shape, dtype=responses.logits.dtype, order="F")
    marks = np.empty(shape, dtype=np.uint8, order="F")
    for piece in pieces(len(responses)):
        logits[piece], marks[piece] = _ranked(
            responses.logits[piece], responses.answers[piece], responses.options[piece]
        )
    return Ranked(logits, marks, responses.options.astype(np.uint8), responses.noise)


def _ranked(logits: Floats, answers: Bools, options: Ints) -> tuple[Floats, NDArray[np.uint8]]:
    letters = logits.shape[1]
    if options.min() < letters:
        logits = np.where((np.arange(letters)[:, None] < options).T, logits, logits.dtype.type(-np.inf))
    return descending(logits, np.arange(letters, dtype=np.uint8) + answers.view(np.uint8) * np.uint8(ANSWER))


LARGEST = np.finfo(np.float64).max
"""Of a score of exactly 1: infinity is the threshold that admits every letter."""


class Penalties(NamedTuple):
    """raps: what each place beyond the first k_reg adds; saps: what each place below the first adds."""

    raps: float = 0.1
    k_reg: int = 2
    saps: float = 0.2


MOST_PENALTY = 1e6
"""So that scores stay finite, and differences of probabilities still show."""


def aps_randomised(ranked: Ranked, penalties: Penalties) -> Floats:
    """APS with its random term: sum of all p_j > p_k, plus u times the sum of all p_j = p_k."""
    return _finite(-_log_beyond(ranked))


def _log_beyond(ranked: Ranked) -> Floats:
    """[n, k] log of 1 - aps_randomised, the sum of all p_j < p_k plus 1 - u times that of all p_j = p_k."""
    with np.errstate(invalid="ignore", divide="ignore"):  # of letters with p = 0, and of u = 1
        rest = np.log1p(ranked.noise[:, None] * np.expm1(ranked.log_below - ranked.log_from))
    return np.asarray(np.where(np.isneginf(ranked.log_from), -np.inf, ranked.log_from + rest))


def lac(ranked: Ranked, penalties: Penalties) -> Floats:
    """LAC, least ambiguous classifier: 1 - p (Sadinle, Lei and Wasserman 2019)."""
    return _finite(-ranked.log_p)


def margin(ranked: Ranked, penalties: Penalties) -> Floats:
    """max_{j != k} p_j - p_k, in -1 ... 1; -p_k for a letter that stands alone (Löfström et al. 2015).

    Two-sided: negative for the most probable letter. Where nearly all answers are on top the threshold is
    negative too, a set may be empty, and `negative_threshold_rate` says how often.
    """
    gaps = ranked.gaps
    found = np.full(gaps.shape, -LARGEST, order="F")
    if gaps.shape[1] == 1:
        return found
    # 1 - (p_top - p_k) is what lies beside the top, plus p_k.
    rest = np.logaddexp(ranked.log_beside, ranked.log_p[:, 1:])
    found[:, 0] = np.where(gaps[:, 1] == 0, 0.0, np.clip(rest[:, 0], -LARGEST, 0.0))
    found[:, 1:] = np.clip(-rest, 0.0, LARGEST)
    for rank in range(1, gaps.shape[1]):
        # A much less probable letter adds nothing to the sum; it keeps its place behind the one before.
        before = found[:, rank - 1]
        behind = np.minimum(np.maximum(found[:, rank], np.nextafter(before, LARGEST)), LARGEST)
        found[:, rank] = np.where(gaps[:, rank] < gaps[:, rank - 1], behind, before)
    return found


def raps(ranked: Ranked, penalties: Penalties) -> Floats:
    """APS with its random term, plus penalty (place - k_reg)_+ (Angelopoulos, et al. 2021).

    Scores gather below every 1 + m penalty. So the order is m + 1 - h(r), with r how far below the score lies
    as a share of the penalty, and h(r) = 1 / (1 - log r).
    """
    log_rest = _log_beyond(ranked)
    if penalties.raps <= 0:
        return _finite(-log_rest)
    steps = np.maximum(ranked.place - penalties.k_reg, 0)
    log_share = log_rest - np.log(penalties.raps)
    share = np.exp(np.minimum(log_share, 700))
    whole = np.floor(share)
    with np.errstate(divide="ignore"):
        log_share = np.where(whole > 0, np.log(share - whole), log_share)
    return np.asarray(steps - whole + 1 - 1 / (1 - log_share))


def _raps_value(order: Array, penalties: Penalties) -> Array:
    if penalties.raps <= 0:
        return _value(order, penalties)
    steps = np.ceil(order)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(order < steps, np.exp(1 - 1 / (steps - order)), 0.0)
    return np.asarray(1 + penalties.raps * (steps - 1 - share))


def saps(ranked: Ranked, penalties: Penalties) -> Floats:
    """u p_max for the most probable letters, p_max + (place - 2 + u) penalty else (Huang et al. 2024)."""
    noise = ranked.noise[:, None]
    top = ranked.place == 1
    # expm1 of the log of 1 - p_max is -p_max.
    log_rest = np.where(top, np.log1p(noise * np.expm1(ranked.log_beside)), ranked.log_beside)
    if penalties.saps <= 0:
        return _finite(-log_rest)
    extra = np.where(top, 0.0, (ranked.place - 2 + noise) * penalties.saps)
    return np.asarray(extra - np.expm1(log_rest))


def _saps_value(order: Array, penalties: Penalties) -> Array:
    return order if penalties.saps > 0 else _value(order, penalties)


def _finite(order: Floats) -> Floats:
    return np.asarray(np.minimum(order, LARGEST))


def _value(order: Array, penalties: Penalties) -> Array:
    """The scores of numbers -log(1 - s), those of margin below 0 turned round 0; infinity stays."""
    found = np.sign(order) * -np.expm1(-np.abs(order))
    return np.asarray(np.where(np.isinf(order), order, found))


class Score(NamedTuple):
    """order(ranked, penalties) [n, k]; value(order, penalties): the scores of such numbers."""

    order: Callable[[Ranked, Penalties], Floats]
    value: Callable[[Array, Penalties], Array] = _value


SCORES: dict[str, Score] = {
    # Sum of all p_j >= p_k: equation 4 of the benchmark's paper to the letter, equals included, without
    # the random term of Romano, Sesia and Candes (2020).
    "aps": Score(lambda ranked, penalties: _finite(-ranked.log_below)),
    # Sum of all p_j > p_k: the set that keeps the letter with which the running sum crosses the threshold.
    # The most probable letter has score 0: no set is empty.
    "aps_crossing": Score(lambda ranked, penalties: _finite(-ranked.log_from)),
    "aps_randomised": Score(aps_randomised),
    "lac": Score(lac),
    "margin": Score(margin),
    "raps": Score(raps, _raps_value),
    "saps": Score(saps, _saps_value),
}


def with_penalties(name: str, penalties: Penalties) -> Callable[[Ranked], Floats]:
    """The order by a score with its penalties."""
    order = SCORES[name].order
    return lambda ranked: order(ranked, penalties)


def score_values(name: str, order: Array, penalties: Penalties) -> Array:
    """Scores, such as thresholds, from numbers that `order` gives; infinite where these are."""
    return np.asarray(SCORES[name].value(np.asarray(order, dtype=np.float64), penalties))

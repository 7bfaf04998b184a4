"""One model's answers to one variation of a dataset as arrays, and the same rows sorted by probability.

Every [n, k] array has one row per prompt and one column per option letter. Arrays are stored column by column
(Fortran order), because every formula works on whole columns.

`rank` sorts each row. Nothing that follows from a `Ranked` depends on how ties were sorted: options of equal
probability get equal numbers. Masses are logarithms, so that 1e-400 and 1 - 1e-400 stay apart from 0 and 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NO_ROLE = -3


def count(marked: Bools) -> NDArray[np.uint8]:
    """[n] how many letters of each row are marked [n, k]; rows have no more than 26."""
    return np.asarray(marked.view(np.uint8).sum(axis=1, dtype=np.uint8))


def uniform(items: Sequence[str]) -> Array:
    """[n] in [0, 1): depends on the item's id only, not on what else is scored or in which order."""
    digests = b"".join(blake2b(item.encode(), digest_size=8).digest() for item in items)
    return np.asarray((np.frombuffer(digests, dtype="<u8") >> np.uint64(11)) * 2.0**-53)


def entropy(p: Floats) -> Floats:
    """[...] -sum p log p over the last axis, nats; values that are NaN or not above 0 add nothing."""
    known = np.where(p > 0, p, 1)
    return np.asarray((known * -np.log(known)).sum(axis=-1))


@dataclass(frozen=True)
class Responses:
    """n prompts with at most k letters, in the order of the items.

    logits    [n, k] float32 or float64 as stored; -inf if the row has no such letter
    answers   [n, k] whether the letter is a correct answer
    roles     [n, k] what the letter means: an option's index in the item, DONT_KNOW or
              NONE_OF_ABOVE for an option that the template added, NO_ROLE for none
    letters   [n] how many logits the row has
    options   [n] how many options its prompt shows, never more than letters
    groups    [n] number of the row's group: items that belong together share it
    categories [n] number of the item's category
    noise     [n] a uniform number in 0 ... 1 that depends only on the item
    defective [n] whether cleaning found a defect that a fair score cannot repair
    """

    logits: Floats
    answers: Bools
    roles: NDArray[np.int32]
    letters: Ints
    options: Ints
    groups: Ints
    categories: Ints
    noise: Array
    defective: Bools

    def __len__(self) -> int:
        return len(self.logits)

    def take(self, rows: Bools | Ints) -> "Responses":
        """Some rows, by mask or by index, in the order given."""
        return Responses(**{f.name: np.asfortranarray(getattr(self, f.name)[rows]) for f in fields(self)})


Carried = TypeVar("Carried", bound=np.ndarray)

NETWORK_LETTERS = 8
ROWS = 1 << 14
"""Rows per piece: few enough for the processor's cache, which also limits the memory needed."""
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


def descending(values: Floats, carried: Carried) -> tuple[Floats, Carried]:
    """Both [n, k] arrays with each row in descending order of `values`; `carried`: bool or unsigned numbers.

    Ties fall as in the released scores. numpy's default argsort is not stable: on rows of up to eight values
    it runs a fixed sorting network, and half-precision logits tie often enough for that to change published
    set sizes. The network here gives the same order on every machine. Above eight letters: the reverse of a
    stable ascending sort, so that of equal values the later letter comes first.
    """
    ranked, along = np.empty_like(values, order="F"), np.empty_like(carried, order="F")
    for piece in pieces(len(values)):
        _sort(values[piece], carried[piece], ranked[piece], along[piece])
    return ranked, along


def _sort(values: Floats, carried: np.ndarray, ranked: Floats, moved_along: np.ndarray) -> None:
    """Writes `values` and `carried`, in descending order of the values, to `ranked` and `moved_along`."""
    letters = values.shape[1]
    if letters > NETWORK_LETTERS:
        order = np.argsort(values, axis=1, kind="stable")[:, ::-1]
        ranked[:] = np.take_along_axis(values, order, axis=1)
        moved_along[:] = np.take_along_axis(carried, order, axis=1)
        return
    columns = [values[:, k] for k in range(letters)]
    along = [carried[:, k] for k in range(letters)]
    for low, high in _comparators(letters):
        swap = columns[low] > columns[high]
        columns[low], columns[high] = (
            np.minimum(columns[low], columns[high]),
            np.maximum(columns[low], columns[high]),
        )
        moved = (along[low] ^ along[high]) * swap
        along[low], along[high] = along[low] ^ moved, along[high] ^ moved
    for rank in range(letters):
        ranked[:, rank], moved_along[:, rank] = columns[-1 - rank], along[-1 - rank]


ANSWER = 32
"""A code that is carried through the sort: the letter's index in its prompt, plus this for an answer."""
FAR = -600.0
"""Logits that lie further below the largest one are added up as logarithms; their exponentials vanish."""


@dataclass(frozen=True)
class Ranked:
    """n rows of at most k letters.

    logits  [n, k] descending, in the dtype in which they are stored; -inf if no letter is left
    codes   [n, k] index of the letter in its prompt, plus ANSWER for a correct one
    options [n] how many letters the row has
    noise   [n] a uniform number in 0 ... 1 for the scores that ask for one
    """

    logits: Floats
    codes: NDArray[np.uint8]
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
        """[n, k] float64, logits minus the largest of the row; -inf if no letter is left."""
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
        """[n, k] log of the softmax; -inf if no letter is left."""
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
        """[n, k] whether the letter is an answer."""
        return np.asarray(self.codes >= ANSWER)

    @property
    def letters(self) -> NDArray[np.uint8]:
        """[n, k] index of each letter in its prompt."""
        return self.codes & np.uint8(ANSWER - 1)

    @property
    def present(self) -> Bools:
        """[n, k] whether there is a letter of this rank."""
        return np.asarray((np.arange(self.logits.shape[1])[:, None] < self.options).T)

    def tops(self, rows: Ints) -> Bools:
        """[r, k] whether the letter has the largest probability, for some rows."""
        return np.asarray(self.gaps[rows] == 0) & self.present[rows]

    @cached_property
    def _same(self) -> Bools:
        """[n, k - 1] whether a letter is as probable as the next one."""
        return np.asarray(self.gaps[:, :-1] == self.gaps[:, 1:])

    @cached_property
    def rank(self) -> Array:
        """[n, k] 1 + how many letters are more probable."""
        ranks: Array = np.ones(self.gaps.shape)
        for rank in range(1, ranks.shape[1]):
            ranks[:, rank] = np.where(self._same[:, rank - 1], ranks[:, rank - 1], rank + 1)
        return ranks


def rank(responses: Responses) -> Ranked:
    """The options of each prompt in descending order of their logits, in pieces.

    Probabilities are computed when a piece is used: stored, they would take twice the memory of float32
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

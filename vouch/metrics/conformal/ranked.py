"""Probabilities with the letters of each row in descending order of probability, and what follows from the
order.

Everything here is the same for letters of equal probability, so no number depends on how ties were sorted.
Masses are logarithms: a probability of 1e-400 has its place, and so has one that falls short of 1 by as much.
"""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.conformal.ordering import descending, pieces
from vouch.metrics.responses import Array, Bools, Floats, Ints, Responses

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

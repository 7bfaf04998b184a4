"""Probabilities with the letters of each row in descending order of probability, and what follows from the
order.

Everything here is the same for letters of equal probability, so no number depends on how ties were sorted.
"""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.conformal.ordering import descending, pieces
from vouch.metrics.responses import Array, Bools, Floats, Ints, Responses

ANSWER = 32
"""A mark that is carried through the sort: the letter's place in its prompt, plus this for an answer."""


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
    def p(self) -> Floats:
        """[n, k] float64, softmax of each row; 0 where no letter is left. Summed from the smallest up."""
        weights = self.logits.astype(np.float64)
        weights -= weights[:, :1].copy()
        np.exp(weights[:, 1:], out=weights[:, 1:])
        weights[:, 0] = 1
        total = np.zeros(len(weights))
        for column in weights.T[::-1]:
            total += column
        weights /= total[:, None]
        return weights

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
        p = self.p[rows]
        return np.asarray(p == p[:, :1]) & self.present[rows]

    @cached_property
    def _same(self) -> Bools:
        """[n, k - 1] whether a letter is as probable as the next one."""
        return np.asarray(self.p[:, :-1] == self.p[:, 1:])

    @cached_property
    def _running(self) -> Floats:
        total = self.p.copy(order="F")
        for rank in range(1, total.shape[1]):
            total[:, rank] += total[:, rank - 1]
        return total

    @cached_property
    def upto(self) -> Floats:
        """[n, k] sum of all p at least as large as this one; exactly 1 for the least probable letter."""
        mass = self._running / self._running[:, -1:]
        if self._same.any():
            for rank in range(mass.shape[1] - 2, -1, -1):
                np.copyto(mass[:, rank], mass[:, rank + 1], where=self._same[:, rank])
        return mass

    @cached_property
    def before(self) -> Floats:
        """[n, k] sum of all p larger than this one."""
        mass = np.zeros_like(self._running)
        for rank in range(1, mass.shape[1]):
            previous = self._running[:, rank - 1] / self._running[:, -1]
            mass[:, rank] = np.where(self._same[:, rank - 1], mass[:, rank - 1], previous)
        return mass

    @cached_property
    def place(self) -> Array:
        """[n, k] 1 + how many letters are more probable."""
        places = np.ones(self.p.shape, order="F")
        for rank in range(1, self.p.shape[1]):
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

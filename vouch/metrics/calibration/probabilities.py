"""Probabilities of the letters of each prompt, and what follows from them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.conformal.ordering import descending, pieces
from vouch.metrics.responses import Bools, Floats, Ints, Responses, count


@dataclass(frozen=True)
class Probabilities:
    """One protocol's view of n responses with at most k letters.

    logits  [n, k] those of the letters that count; -inf where there is none
    shared  whether letters with the same largest logit share the prediction; else the first has all of it
    p       [n, k] softmax over the letters that count; 0 where there is none
    present [n, k] the letters that count
    answers [n, k] the correct ones among them, at least one a row
    roles   [n, k] what each letter stands for, see Responses
    """

    logits: Floats
    shared: bool
    p: Floats
    present: Bools
    answers: Bools
    roles: NDArray[np.int32]

    @cached_property
    def tops(self) -> Bools:
        """[n, k] the letters with the largest logit, at least one a row."""
        return np.asarray(self.logits == self.logits.max(axis=1, keepdims=True))

    @cached_property
    def picked(self) -> Bools | Floats:
        """[n, k] the predicted letter; or how much of the prediction falls on each, rows sum to 1."""
        if self.shared:
            return np.asarray(self.tops / self.tops.sum(axis=1, keepdims=True))
        picked = self.tops.copy(order="K")
        earlier = self.tops[:, 0].copy()
        for letter in range(1, picked.shape[1]):
            picked[:, letter] &= ~earlier
            earlier |= self.tops[:, letter]
        return picked

    @cached_property
    def options(self) -> NDArray[np.uint8]:
        """[n] how many letters count."""
        return count(self.present)

    @cached_property
    def correct(self) -> Floats | Bools:
        """[n] share of the prediction that is correct, or whether it is."""
        return self.share(self.answers)

    @cached_property
    def confidence(self) -> Floats:
        """[n] the largest probability."""
        return np.asarray(self.p.max(axis=1))

    @cached_property
    def sureness(self) -> Floats:
        """[n] minus the log of 1 - confidence: in the same order, also where the confidence rounds to 1."""
        return sureness(self.logits)

    def share(self, letters: Bools) -> Floats | Bools:
        """[n] share of the prediction that falls on the marked letters [n, k], or whether it does."""
        fallen = self.picked * letters
        return np.asarray(fallen.any(axis=1) if fallen.dtype == bool else fallen.sum(axis=1))

    @cached_property
    def _ranked(self) -> tuple[Floats, Bools]:
        if self.present.all():
            return descending(self.p, self.answers)
        # Letters that do not count go last, behind letters whose probability is 0.
        return descending(np.where(self.present, self.p, self.p.dtype.type(-1)), self.answers)

    @cached_property
    def ranked_present(self) -> Bools:
        """[n, k] whether a rank has a letter."""
        return self._ranked[0] >= 0

    @cached_property
    def ranked(self) -> Floats:
        """[n, k] probabilities in descending order; -1 where no letter is left."""
        return self._ranked[0]

    @cached_property
    def ranked_answers(self) -> Bools:
        """[n, k] the answers in that order."""
        return self._ranked[1]

    @cached_property
    def cumulative(self) -> Floats:
        """[n, k] running sum of the ranked probabilities, in their dtype."""
        total = np.maximum(self.ranked, 0)
        for rank in range(1, total.shape[1]):
            total[:, rank] += total[:, rank - 1]
        return total


def authors_probabilities(responses: Responses) -> Probabilities:
    """All letters that the row has, in the stored dtype; a tie at the top goes to the lowest letter."""
    return Probabilities(
        logits=responses.logits,
        shared=False,
        p=softmax(responses.logits),
        present=_first(responses.letters, responses.logits),
        answers=responses.answers,
        roles=responses.roles,
    )


def clean_probabilities(responses: Responses) -> Probabilities:
    """Only the options of the prompt, in float64; a tie at the top shares the prediction equally."""
    present = _first(responses.options, responses.logits)
    logits = np.where(present, responses.logits.astype(np.float64), -np.inf)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    # Summed from the smallest up, so that the order of the options cannot move a bit.
    total = np.zeros(len(weights))
    for column in np.sort(weights, axis=1).T:
        total += column
    return Probabilities(
        logits=logits,
        shared=True,
        p=weights / total[:, None],
        present=present,
        answers=responses.answers,
        roles=responses.roles,
    )


def softmax(logits: Floats) -> Floats:
    """exp(l - max) / sum over the letters [n, k]; a letter with -inf gets 0.

    The sum runs from the first letter to the last, as numpy sums a row of fewer than eight values,
    so that float32 results equal those of row-by-row code bit for bit.
    """
    weights = np.empty_like(logits, order="F")
    for piece in pieces(len(logits)):
        rows = logits[piece]
        part: Floats = np.exp(rows - rows.max(axis=1, keepdims=True))
        part /= part.sum(axis=1, keepdims=True)
        weights[piece] = part
    return weights


def log_softmax(logits: Floats) -> Floats:
    """[n, k] float64, log of the softmax of each row; -inf where there is no letter.

    Summed from the smallest up, so that the order of the options cannot move a bit, and without the largest,
    so that the log of a probability just below 1 is no 0.
    """
    gaps = _gaps(logits)
    return np.asarray(gaps - np.log1p(_sums(np.exp(np.sort(gaps, axis=1)[:, :-1])))[:, None])


def sureness(logits: Floats) -> Floats:
    """[n] -log of 1 - p of the most probable letter; the largest float64 where it is the only one."""
    most = np.finfo(np.float64).max
    others = np.sort(_gaps(logits), axis=1)[:, :-1]
    second = others.max(axis=1, initial=-most)
    with np.errstate(divide="ignore"):
        rest = second + np.log(_sums(np.exp(others - second[:, None])))
    return np.asarray(np.minimum(np.log1p(np.exp(rest)) - rest, most))


def _gaps(logits: Floats) -> Floats:
    found = logits.astype(np.float64)
    return np.asarray(found - found.max(axis=1, keepdims=True))


def _sums(columns: Floats) -> Floats:
    """[n] of columns [n, k], from the first to the last."""
    total = np.zeros(len(columns))
    for column in columns.T:
        total += column
    return total


def entropy(p: Floats) -> Floats:
    """[...] -sum p log p over the last axis, nats; what is NaN or not above 0 adds nothing."""
    known = np.where(p > 0, p, 1)
    return np.asarray((known * -np.log(known)).sum(axis=-1))


def _first(letters: Ints, like: np.ndarray) -> Bools:
    return np.asarray((np.arange(like.shape[1])[:, None] < letters).T)

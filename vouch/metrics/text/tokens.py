"""What a model gave to each token of its generated texts, as flat arrays."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.responses import Bools, Ints

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Tokens:
    """n texts; text i has the values from starts[i] on, counts[i] many.

    ended [n]: whether one more follows, that of the token which ends the sequence.

    nll      negative log-likelihood of each token, nats
    entropy  of the full vocabulary before each token, 0 ... 1; NaN where unknown
    """

    nll: Numbers
    entropy: Numbers
    starts: Ints
    counts: Ints
    ended: Bools

    def with_end(self) -> "Tokens":
        """The same with the token that ends the sequence counted as one of the text."""
        return replace(self, counts=self.counts + self.ended, ended=np.zeros_like(self.ended))

    def first(self, values: Numbers) -> Numbers:
        """[n] the value at the first token; NaN where there is none."""
        return self._at(values, self.starts)

    def last(self, values: Numbers) -> Numbers:
        """[n] the value at the last token; NaN where there is none."""
        return self._at(values, self.starts + self.counts - 1)

    def largest(self, values: Numbers) -> Numbers:
        """[n] the largest value; NaN where there is none."""
        return self._reduced(np.maximum, values)

    def mean(self, values: Numbers) -> Numbers:
        """[n] the mean; NaN where there is no token."""
        return self._reduced(np.add, values) / np.maximum(self.counts, 1)

    def _at(self, values: Numbers, places: Ints) -> Numbers:
        found = np.full(len(self.counts), np.nan)
        some = self.counts > 0
        found[some] = values[places[some]]
        return found

    def _reduced(self, reduce: np.ufunc, values: Numbers) -> Numbers:
        found = np.full(len(self.counts), np.nan)
        some = np.flatnonzero(self.counts)
        if len(some):
            # Every second part is what lies between one text and the next.
            ends = self.starts[some] + self.counts[some]
            edges = np.stack([self.starts[some], ends], axis=1).ravel()
            found[some] = reduce.reduceat(np.append(values, 0.0), edges)[::2]
        return found

"""The numbers that rank models without labels, as arrays."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.responses import Array

PROBABILITIES = "probabilities"
NLL = "nll_min"


@dataclass(frozen=True)
class Task:
    """m models on n items of a dataset, by one output.

    score        empty, or the temperature of the samples that `label_free` holds, `t0.7`
    models       names, in alphabetical order
    groups       [n] number of the item's group
    performance  [m, n] how right an answer is; NaN where there is none
    label_free   by name, [m, n], NaN where unknown; PROBABILITIES [m, n, k], NaN where there is no option
    answers      [n, k] the right options; of no use to a ranker but on a proxy
    """

    dataset: str
    output: str
    score: str
    models: tuple[str, ...]
    groups: NDArray[np.int64]
    performance: Array
    label_free: Mapping[str, Array]
    answers: NDArray[np.bool_]

    def only(self, models: tuple[str, ...]) -> "Task":
        """The same for some of the models."""
        rows = [self.models.index(model) for model in models]
        label_free = {name: values[rows] for name, values in self.label_free.items()}
        return replace(self, models=models, performance=self.performance[rows], label_free=label_free)

    @property
    def certainty(self) -> Array:
        """[m, n] how sure the model is: minus NLL of the least probable token, or the log-odds of the most
        probable option, whose probability may round to 1."""
        if NLL in self.label_free:
            return -self.label_free[NLL]
        given = self.label_free[PROBABILITIES]
        p = np.sort(np.nan_to_num(given), axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.log(p[:, :, -1]) - np.log(p[:, :, :-1].sum(axis=2))
        return np.where(np.isnan(given).all(axis=2), np.nan, odds)


def highest(probabilities: Array) -> Array:
    """[m, n] the largest of [m, n, k]; NaN where there is no option."""
    return np.asarray(np.fmax.reduce(probabilities, axis=2))

"""Metrics of several prompts of a question, one file each; the file name is the metric's name.

A file defines one of

of_means(means) -> [..., v]    from Means of v variations. FIELD: the field whose rows it rests on. AVERAGED:
                               over what its means over variations go, `prompts` (the original one as well),
                               `variations` or nothing
of_cells(means) -> [...]       from mean accuracies [..., c] by number of the test or turn; OVER says which.
                               RESTING: whether noise in the means leaves the value where it is on average
per_question(questions, answers) -> [q]   from the numbers 0 ... q - 1 of the questions [n] and what was
                               answered [n]; the metric is the mean over the questions
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
TESTS, TURNS = "tests", "turns"
PROMPTS, VARIATIONS = "prompts", "variations"


@dataclass(frozen=True)
class Means:
    """Means over the rows of v variations, all [..., v] and in 0 ... 1; NaN where there is no row.

    random_accuracy, random_consistency: of a guess on the same rows.
    """

    accuracy: Array
    random_accuracy: Array
    certainty: Array
    consistency: Array
    random_consistency: Array

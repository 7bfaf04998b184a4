"""anls: average normalised Levenshtein similarity, 0 below one half (Biten et al. 2019; DocVQA).

1 - distance / length of the longer text, in lower case with single spaces.
"""

from collections.abc import Sequence

import numpy as np

from stages.score.answers import References, best

BOUNDED = True
THRESHOLD = 0.5


def scores(texts: Sequence[str], references: References) -> list[float]:
    """[n] in 0 ... 1."""
    return best(_similarity, texts, references)


def _similarity(text: str, reference: str) -> float:
    first, second = (" ".join(each.lower().split()) for each in (text, reference))
    longer = max(len(first), len(second))
    # Lengths alone may already keep the texts apart; this bounds the work on a long text.
    if longer == 0 or abs(len(first) - len(second)) > THRESHOLD * longer:
        return float(longer == 0)
    similarity = 1 - distance(first, second) / longer
    return similarity if similarity >= THRESHOLD else 0.0


def distance(first: str, second: str) -> int:
    """Levenshtein distance: fewest insertions, deletions and substitutions of one character."""
    letters = np.array([ord(character) for character in second], dtype=np.int64)
    steps = np.arange(len(second) + 1)
    row = steps.copy()
    for number, character in enumerate(first, start=1):
        best_so_far = np.minimum(row[1:] + 1, row[:-1] + (letters != ord(character)))
        costs = np.concatenate([[number], best_so_far])
        # Insertions run along the row: the least of cost - place, carried on.
        row = np.minimum.accumulate(costs - steps) + steps
    return int(row[-1])

"""Whether correct answers stand at some letters more often than chance allows.

Items with k options are one multinomial each k; Pearson's statistics and degrees of freedom add up.
Items count alone, so rotated copies, which even out the letters by design, can only hide a skew.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from string import ascii_uppercase

LEVEL = 0.001
"""Skew is reported where its p-value is below this: datasets are many, and large ones show any trifle."""
LEAST = 5
"""Least expected number in a cell for the statistic to follow its distribution."""


@dataclass(frozen=True)
class Positions:
    """letter, share: the answer furthest above chance and its share of n items. even: the share by chance.

    statistic, freedom, p_value: of the test; p_value None where items are too few.
    """

    n: int
    letter: str
    share: float
    even: float
    statistic: float
    freedom: int
    p_value: float | None

    @property
    def skewed(self) -> bool:
        """Whether chance is ruled out."""
        return self.p_value is not None and self.p_value < LEVEL

    @property
    def beyond(self) -> int:
        """How many items more than expected have the letter."""
        return max(0, round(self.n * (self.share - self.even)))


def positions(pairs: Iterable[tuple[int, int]]) -> Positions | None:
    """The test for (number of options, answer's index) of every item with one answer; None of none."""
    tables: dict[int, Counter[int]] = {}
    for options, answer in pairs:
        tables.setdefault(options, Counter())[answer] += 1
    seen, expected = Counter[int](), defaultdict[int, float](float)
    statistic, freedom, n = 0.0, 0, 0
    for options, counts in sorted(tables.items()):
        total = sum(counts.values())
        n += total
        for place in range(options):
            seen[place] += counts[place]
            expected[place] += total / options
        if total >= LEAST * options and options > 1:
            even = total / options
            statistic += sum((counts[place] - even) ** 2 / even for place in range(options))
            freedom += options - 1
    if not n:
        return None
    top = max(sorted(seen), key=lambda place: seen[place] - expected[place])
    p_value = _chance(freedom, statistic) if freedom else None
    return Positions(n, ascii_uppercase[top], seen[top] / n, expected[top] / n, statistic, freedom, p_value)


def _chance(freedom: int, statistic: float) -> float:
    """Of so large a statistic, or a larger one, where chi-square holds."""
    from scipy.special import chdtrc  # loading it takes as long as a small dataset

    return float(chdtrc(freedom, statistic))

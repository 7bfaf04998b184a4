"""anls: average normalised Levenshtein similarity, 0 below one half (Biten et al. 2019; DocVQA).

1 - distance / length of the longer text, in lower case with single spaces.
"""

from collections.abc import Sequence

from vouch.metrics.text.answers import References, best

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
    """Levenshtein distance: fewest insertions, deletions and substitutions of one character.

    A column of the table at a time, as bits that tell by how much each cell differs from its neighbour (Myers
    1999, in the form of Hyyro 2003): texts of 100,000 characters take seconds.
    """
    if not first:
        return len(second)
    places: dict[str, int] = {}
    for place, character in enumerate(first):
        places[character] = places.get(character, 0) | 1 << place
    last = len(first) - 1
    every = (1 << len(first)) - 1
    more, less, found = every, 0, len(first)  # where a cell is one more, one less than the one above it
    for character in second:
        equal = places.get(character, 0)
        across = (((equal & more) + more) ^ more) | equal
        rising, falling = less | (every & ~(across | more)), more & across
        found += (rising >> last & 1) - (falling >> last & 1)
        rising, down = rising << 1 | 1, equal | less
        more, less = every & (falling << 1 | ~(down | rising)), every & rising & down
    return found

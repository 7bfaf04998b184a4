"""cider_d: CIDEr-D of captions against all their references (Vedantam, Zitnick and Parikh 2015).

Cosine of clipped TF-IDF vectors of 1- to 4-grams, times a Gaussian of the difference in length (sigma 6),
mean over the references and the sizes, times 10: between 0 and 10. A gram's rarity is counted over the
references of all the rows that are scored together; NaN where none is rarer than another, as of one
picture. Words: lower case, without punctuation. Length: the
number of pairs of words, as in the code of pycocoevalcap.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from unicodedata import normalize

import numpy as np

from vouch.metrics.text.answers.matching import References

LONGEST_GRAM = 4
SIGMA = 6.0
SCALE = 10.0
Grams = Counter[tuple[str, ...]]


def scores(texts: Sequence[str], references: References) -> list[float]:
    """[n] in 0 ... 10; NaN for all where no gram of the references is missing from those of some row."""
    known = [[_grams(words(one)) for one in each] for each in references]
    seen: Grams = Counter()
    for each in known:
        seen.update(gram for gram in set().union(*each))
    if all(rows == len(known) for rows in seen.values()):
        return [math.nan] * len(known)
    total = math.log(max(len(known), 1))
    pairs = zip(texts, known, strict=True)
    return [_score(_grams(words(text)), each, seen, total) for text, each in pairs]


def words(text: str) -> list[str]:
    """Words of a caption."""
    return re.findall(r"\w+(?:['’]\w+)?", normalize("NFC", text.lower()))


def _grams(tokens: list[str]) -> Grams:
    return Counter(
        tuple(tokens[start : start + size])
        for size in range(1, LONGEST_GRAM + 1)
        for start in range(len(tokens) - size + 1)
    )


def _score(said: Grams, known: Sequence[Grams], seen: Grams, total: float) -> float:
    ours = _vectors(said, seen, total)
    return SCALE * float(np.mean([_similarity(ours, _vectors(one, seen, total)) for one in known]))


Vectors = tuple[list[dict[tuple[str, ...], float]], np.ndarray, int]


def _vectors(grams: Grams, seen: Grams, total: float) -> Vectors:
    """TF-IDF by gram for each size, the norms [sizes], and the length: the number of pairs of words."""
    parts: list[dict[tuple[str, ...], float]] = [{} for _ in range(LONGEST_GRAM)]
    for gram, times in grams.items():
        parts[len(gram) - 1][gram] = times * (total - math.log(max(1, seen[gram])))
    norms = np.array([math.sqrt(sum(value**2 for value in part.values())) for part in parts])
    return parts, norms, sum(times for gram, times in grams.items() if len(gram) == 2)


def _similarity(ours: Vectors, theirs: Vectors) -> float:
    """Mean over the sizes of grams."""
    (said, norms, length), (known, known_norms, known_length) = ours, theirs
    dots = np.array(
        [
            sum(min(value, other[gram]) * other[gram] for gram, value in part.items() if gram in other)
            for part, other in zip(said, known, strict=True)
        ]
    )
    product = norms * known_norms
    cosines = np.divide(dots, product, out=dots.astype(float), where=product > 0)
    return float(cosines.mean()) * math.exp(-((length - known_length) ** 2) / (2 * SIGMA**2))

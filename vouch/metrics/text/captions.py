"""Metrics of captions, `CAPTIONS`: the n-grams and subsequences that a text shares with its references.

cider_d (Vedantam, Zitnick and Parikh 2015) is the cosine of clipped TF-IDF vectors of 1- to 4-grams, times a
Gaussian of the difference in length (sigma 6), averaged over references and sizes, times 10. A gram's rarity
is counted over the references of all rows that are scored together; a row is NaN if its references hold only
grams that those of all rows hold, as with a single image. Length is the number of word pairs, as in
pycocoevalcap.

A formula takes n generated texts and the references of each, at least one, and returns [n] scores.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from unicodedata import normalize

import numpy as np
from rapidfuzz.distance import LCSseq

from vouch.metrics.metric import SHARE, Formulas

References = Sequence[Sequence[str]]
Scores = Callable[[Sequence[str], References], list[float]]
CAPTIONS = Formulas[Scores](better="higher", ranked=True)

LONGEST_GRAM = 4
SIGMA = 6.0
SCALE = 10.0
Grams = Counter[tuple[str, ...]]


@CAPTIONS(
    "cider_d",
    "CIDEr-D",
    "cosine of TF-IDF vectors of n-grams with all references, 0 to 10",
    source="Vedantam, Zitnick and Parikh 2015",
)
def cider_d(texts: Sequence[str], references: References) -> list[float]:
    """[n] in 0 ... 10; NaN if every gram of a row's references is among those of all rows."""
    return _cider(texts, references, caption_words)


@CAPTIONS(
    "cider",
    "CIDEr, untokenized",
    "CIDEr-D of words as they stand between blanks, with their case and punctuation, 0 to 10",
    source="captions of ReForm-Eval's code, Li et al. 2023",
)
def cider(texts: Sequence[str], references: References) -> list[float]:
    """[n] in 0 ... 10: pycocoevalcap's scorer without its tokenizer. NaN as for cider_d."""
    return _cider(texts, references, str.split)


def caption_words(text: str) -> list[str]:
    """Words of a caption."""
    return re.findall(r"\w+(?:['’]\w+)?", normalize("NFC", text.lower()))


def _cider(texts: Sequence[str], references: References, words: Callable[[str], list[str]]) -> list[float]:
    known = [[grams(words(one)) for one in each] for each in references]
    rows_with: Grams = Counter()
    for each in known:
        rows_with.update(gram for gram in set().union(*each))
    log_rows = math.log(max(len(known), 1))
    scores = []
    for text, each in zip(texts, known, strict=True):
        ours = _vectors(grams(words(text)), rows_with, log_rows)
        theirs = [_vectors(one, rows_with, log_rows) for one in each]
        rare = any(norms.any() for _, norms, _ in theirs)
        scores.append(
            SCALE * float(np.mean([_similarity(ours, one) for one in theirs])) if rare else math.nan
        )
    return scores


def grams(tokens: list[str], longest: int = LONGEST_GRAM) -> Grams:
    """How often each sequence of 1 to `longest` tokens occurs."""
    return Counter(
        tuple(tokens[start : start + size])
        for size in range(1, longest + 1)
        for start in range(len(tokens) - size + 1)
    )


Vectors = tuple[list[dict[tuple[str, ...], float]], np.ndarray, int]


def _vectors(counts: Grams, rows_with: Grams, log_rows: float) -> Vectors:
    """TF-IDF by gram for each size, the norms [sizes], and the length: the number of pairs of words."""
    parts: list[dict[tuple[str, ...], float]] = [{} for _ in range(LONGEST_GRAM)]
    for gram, times in counts.items():
        parts[len(gram) - 1][gram] = times * (log_rows - math.log(max(1, rows_with[gram])))
    norms = np.array([math.sqrt(sum(value**2 for value in part.values())) for part in parts])
    return parts, norms, sum(times for gram, times in counts.items() if len(gram) == 2)


def _similarity(ours: Vectors, theirs: Vectors) -> float:
    """The mean similarity over the sizes of grams."""
    (weights, norms, length), (known, known_norms, known_length) = ours, theirs
    dots = np.array(
        [
            sum(min(value, other[gram]) * other[gram] for gram, value in part.items() if gram in other)
            for part, other in zip(weights, known, strict=True)
        ]
    )
    product = norms * known_norms
    cosines = np.divide(dots, product, out=dots.astype(float), where=product > 0)
    return float(cosines.mean()) * math.exp(-((length - known_length) ** 2) / (2 * SIGMA**2))


BETA = 1.2


@CAPTIONS(
    "rouge_l",
    "ROUGE-L",
    "F of the longest common subsequence of words between blanks, recall counting 1.44 times",
    unit=SHARE,
    source="Lin 2004, as in ReForm-Eval's code",
)
def rouge_l(texts: Sequence[str], references: References) -> list[float]:
    """[n] in 0 ... 1, as pycocoevalcap without its tokenizer: the best precision with the best recall."""
    scores = []
    for text, known in zip(texts, references, strict=True):
        ours, theirs = text.split(" "), [one.split(" ") for one in known]
        common = [LCSseq.similarity(ours, one) for one in theirs]
        precision = max(common) / len(ours)
        recall = max(count / len(one) for count, one in zip(common, theirs, strict=True))
        total = recall + BETA**2 * precision
        scores.append(min(1.0, (1 + BETA**2) * precision * recall / total) if total else 0.0)
    return scores

"""sample_bleu: mean BLEU-1 of the samples against the greedy text (Sample_BLEU of Tu et al. 2024).

Clipped precision of words, in lower case and split at spaces, times the brevity penalty (Papineni et al.
2002); no smoothing, as there are single words only.
"""

import math
from collections import Counter
from collections.abc import Sequence


def per_sample(text: str, samples: Sequence[str]) -> float:
    """0 ... 1; two texts without words are alike."""
    original = text.lower().split()
    return sum(_bleu(sample.lower().split(), original) for sample in samples) / len(samples)


def _bleu(words: list[str], original: list[str]) -> float:
    if not words:
        return float(not original)
    matches = (Counter(words) & Counter(original)).total()
    brevity = min(1.0, math.exp(1 - len(original) / len(words)))
    return brevity * matches / len(words)

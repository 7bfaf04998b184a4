"""Metrics of all texts of a dataset together, `OF_CORPUS`. A mean over texts would be another number.

`score.answers` names them behind metrics of single texts (answers.py). To add one, declare it under
`OF_CORPUS(name, label, ...)` as an `OfCorpus`: what each row adds to sums, and the metric of these sums. A
category, a protocol and a bootstrap draw differ only in the rows that they sum.

bleu_1 ... bleu_4 (Papineni et al. 2002), as pycocoevalcap computes them. Of the texts' n-grams of each size
up to N, a share stands in a reference; each counts as often as in the reference that has most of it. Their
geometric mean is multiplied by exp(1 - r / c) if the texts' c words are fewer than the r of the references,
of which the closest in length counts, and of two as close the shorter. Words stand between blanks, as
ReForm-Eval's code has them.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from vouch.metrics.intervals import centred, group_sums, resampled
from vouch.metrics.metric import CLEAN, SHARE, Figure, Formulas
from vouch.metrics.responses import Array, Bools, Floats, Ints
from vouch.metrics.text.captions import Grams, References, grams
from vouch.tables.thoughts import apart

SIZES = (1, 2, 3, 4)
TINY, SMALL = 1e-15, 1e-9
"""Added above and below a fraction line, so that 0 / 0 is almost 0."""


class OfCorpus(NamedTuple):
    """sums: of texts and their references, at least one each, [n, s]. value: of totals [..., s] the metric
    [...], in 0 ... 1."""

    sums: Callable[[Sequence[str], References], Floats]
    value: Callable[[Array], Array]


OF_CORPUS = Formulas[OfCorpus]()


def bleu_sums(size: int, texts: Sequence[str], references: References) -> Floats:
    """[n, 2 + 2 size] words of the text and of the closest reference; matches by size; n-grams by size."""
    return np.array(
        [_of_text(size, text.split(), known) for text, known in zip(texts, references, strict=True)]
    )


def _of_text(size: int, words: list[str], references: Sequence[str]) -> list[int]:
    known = [one.split() for one in references]
    closest = min((abs(len(one) - len(words)), len(one)) for one in known)[1]
    most: Grams = Counter()
    for one in known:
        most |= grams(one, size)
    shared = Counter(map(len, (grams(words, size) & most).elements()))
    lengths = range(1, size + 1)
    return [
        *(len(words), closest),
        *(shared[length] for length in lengths),
        *(max(0, len(words) - length + 1) for length in lengths),
    ]


def bleu(totals: Array) -> Array:
    """[...] BLEU-N of the totals [..., 2 + 2 N] of `bleu_sums`."""
    size = (totals.shape[-1] - 2) // 2
    length, wanted = totals[..., 0], totals[..., 1]
    shares = (totals[..., 2 : 2 + size] + TINY) / (totals[..., 2 + size :] + SMALL)
    ratio = (length + TINY) / (wanted + SMALL)
    brevity = np.exp(np.minimum(0.0, 1 - 1 / ratio))
    return np.asarray(shares.prod(axis=-1) ** (1 / size) * brevity)


for _size in SIZES:
    OF_CORPUS(
        f"bleu_{_size}",
        f"Corpus BLEU-{_size}",
        f"share of the n-grams that stand in a reference, geometric mean over n up to {_size}",
        better="higher",
        unit=SHARE,
        ranked=True,
        source="Papineni et al. 2002, as in ReForm-Eval's code",
        detail="of all texts together, shortness punished; words are what stands between blanks",
    )(OfCorpus(partial(bleu_sums, _size), bleu))


def corpus_sums(names: Sequence[str], texts: Sequence[str], references: References) -> dict[str, Floats]:
    """[n, s] by metric of OF_CORPUS among the names: what each text, without its thoughts, adds to the sums;
    NaN without references."""
    wanted = [name for name in names if name in OF_CORPUS]
    rows = [row for row, known in enumerate(references) if known] if wanted else []
    answers, known = [apart(texts[row]).answer for row in rows], [references[row] for row in rows]
    summed = {}
    for name in wanted if rows else ():
        sums = OF_CORPUS[name].sums(answers, known)
        summed[name] = np.full((len(texts), sums.shape[1]), np.nan)
        summed[name][rows] = sums
    return summed


def corpus_figures(
    sums: Mapping[str, Floats], counted: Bools, groups: Ints, protocol: str, seed: int
) -> Iterator[Figure]:
    """The metrics of the counted rows [n]; in the clean protocol with bootstrap intervals over groups [n]."""
    for name, of_rows in sums.items():
        kept = counted & ~np.isnan(of_rows[:, 0])
        if not kept.any():
            continue
        totals = group_sums(groups[kept], [(0, column, 1) for column in of_rows[kept].T])
        value = OF_CORPUS[name].value
        whole = float(value(np.asarray(totals.sum(axis=0))))
        ends = centred(whole, value(resampled(totals, seed))) if protocol == CLEAN else (None, None)
        yield Figure("", name, whole, int(kept.sum()), *ends)

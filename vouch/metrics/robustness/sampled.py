"""Instability by sampling alone: entropy of the answers that one and the same prompt gets (Li et al. 2023).

Their instability by instruction, order or mark is of sampled texts, so it holds this much that has nothing to
do with the prompt.
"""

from collections.abc import Sequence

import numpy as np

from vouch.metrics.config import Config
from vouch.metrics.robustness.metrics import instability
from vouch.metrics.text.judging import judge
from vouch.metrics.text.texts import Question
from vouch.metrics.text.tokens import Numbers
from vouch.tables.outcomes import REFUSAL, UNPARSED


def sampled_instability(
    questions: Sequence[Question], samples: Sequence[Sequence[str]], config: Config, names: Sequence[str]
) -> Numbers:
    """[n] nats, from the samples of each row; NaN with fewer than two.

    names: of answer metrics, as for `judge`.
    """
    rows = [row for row, texts in enumerate(samples) if len(texts) > 1 for _ in texts]
    texts = [text for said in samples if len(said) > 1 for text in said]
    values = np.full(len(samples), np.nan)
    if not texts:
        return values
    judged, _ = judge([questions[row] for row in rows], texts, config, names)
    answers = [
        f"?{text}" if one.parser in (UNPARSED, REFUSAL) else f"={one.answer}"
        for one, text in zip(judged, texts, strict=True)
    ]
    present, number = np.unique(rows, return_inverse=True)
    values[present] = instability(number, np.array(answers, dtype=object))
    return values

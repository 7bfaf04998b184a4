"""Metrics of answers to open questions, ANSWERS; `score.answers` says which a dataset has.

To add one, add an entry. A formula takes n generated texts and the references of each, at least one, and
returns [n] scores. Several references are alternatives, but for cider_d and vqa_score.
"""

from collections.abc import Callable, Sequence

from vouch.metrics.text.answers import cider_d, matching, vqa_score
from vouch.metrics.text.answers.matching import References
from vouch.tables.thoughts import apart

Pair = Callable[[str, str], float]
Scores = Callable[[Sequence[str], References], list[float]]


def _best(pair: Pair) -> Scores:
    """Scores from the largest value of `pair(text, reference)` over a text's references."""
    return lambda texts, references: [
        max(pair(text, one) for one in known) for text, known in zip(texts, references, strict=True)
    ]


def _spoken(formula: Scores) -> Scores:
    """Scores of the texts without their thoughts."""
    return lambda texts, references: formula([apart(text).answer for text in texts], references)


_FORMULAS: dict[str, Scores] = {
    "anls": _best(matching.anls),
    "cider_d": cider_d.scores,
    "exact_match": _best(matching.exact_match),
    "lower_match": _best(matching.lower_match),
    "ocr_contains": _best(matching.ocr_contains),
    "relaxed_accuracy": _best(matching.relaxed_accuracy),
    "vqa_score": vqa_score.scores,
    "word_accuracy": _best(matching.word_accuracy),
}
ANSWERS = {name: _spoken(formula) for name, formula in _FORMULAS.items()}

"""Metrics of answers to open questions, ANSWERS; `score.answers` says which a dataset has.

To add one, add an entry. A formula takes n generated texts and the references of each, at least one, and
returns [n] scores. Several references are alternatives, but for cider_d and vqa_score.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from vouch.metrics.registry import SHARE, Metric
from vouch.metrics.text.answers import cider_d, matching, vqa_score
from vouch.metrics.text.answers.matching import References

Pair = Callable[[str, str], float]


class Answer(NamedTuple):
    """scores(texts, references) -> [n]."""

    metric: Metric
    scores: Callable[[Sequence[str], References], list[float]]

    @property
    def bounded(self) -> bool:
        """Whether scores lie in 0 ... 1, so that a mean is an accuracy."""
        return self.metric.unit == SHARE


def _best(pair: Pair) -> Callable[[Sequence[str], References], list[float]]:
    """Scores from the largest value of `pair(text, reference)` over a text's references."""
    return lambda texts, references: [
        max(pair(text, one) for one in known) for text, known in zip(texts, references, strict=True)
    ]


def _metric(label: str, help: str, source: str = "", unit: str = SHARE) -> Metric:
    return Metric(label, help, "higher", unit, source, ranked=True)


ANSWERS: dict[str, Answer] = {
    "anls": Answer(
        _metric(
            "ANLS",
            "average normalised Levenshtein similarity, 0 below one half",
            "Biten et al. 2019; DocVQA",
        ),
        _best(matching.anls),
    ),
    "cider_d": Answer(
        _metric(
            "CIDEr-D",
            "cosine of TF-IDF vectors of n-grams with all references, 0 to 10",
            "Vedantam, Zitnick and Parikh 2015",
            unit="",
        ),
        cider_d.scores,
    ),
    "exact_match": Answer(
        _metric(
            "Exact match",
            "the text is a reference, but for case, spaces, outer punctuation and a leading article",
        ),
        _best(matching.exact_match),
    ),
    "lower_match": Answer(
        _metric(
            "Lower-case match",
            "the text is a reference, but for case and spaces at its ends",
            "OCR-VQA in VLMEvalKit",
        ),
        _best(matching.lower_match),
    ),
    "ocr_contains": Answer(
        _metric(
            "OCR, contained",
            "the whole reference stands in the text, as words",
            "OCR of ReForm-Eval's code, Li et al. 2023",
        ),
        _best(matching.ocr_contains),
    ),
    "relaxed_accuracy": Answer(
        _metric(
            "Relaxed accuracy",
            "a number within 5 % of the reference, else the same text",
            "ChartQA, Masry et al. 2022",
        ),
        _best(matching.relaxed_accuracy),
    ),
    "vqa_score": Answer(
        _metric("VQA score", "min(1, matches / 3), each reference left out once", "Antol et al. 2015"),
        vqa_score.scores,
    ),
    "word_accuracy": Answer(
        _metric(
            "Word accuracy",
            "share of the reference's words that stand in the text",
            "OCR of ReForm-Eval's paper, Li et al. 2023",
        ),
        _best(matching.word_accuracy),
    ),
}
DECLARED: dict[str, Metric] = {name: answer.metric for name, answer in ANSWERS.items()}

"""What generated texts came to: read by the parsers, graded by the answer metrics."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vouch.metrics.config import Config
from vouch.metrics.registry import is_share
from vouch.metrics.text.answers import ANSWERS
from vouch.metrics.text.parsers import read
from vouch.metrics.text.parsers.words import declines
from vouch.metrics.text.texts import Question
from vouch.metrics.text.tokens import Numbers
from vouch.metrics.text.wording import LONGEST, plain, short
from vouch.tables.outcomes import REFUSAL, SEVERAL, UNPARSED

SAID = ("parser", "answer", "predicted", "chosen")
"""Fields of Judged that the outcomes keep as they are."""
TOGETHER = ("contains",)
"""Parsers for which several options are one answer (PARC); for any other they contradict each other."""


@dataclass(frozen=True)
class Judged:
    """What one text came to: columns of OUTCOMES. grade: how right it is, 0 ... 1; NaN where unknown."""

    parser: str
    answer: str
    predicted: int | None
    chosen: int | None
    grade: float


def judge(
    questions: Sequence[Question], texts: Sequence[str], config: Config, metrics: Sequence[str]
) -> tuple[list[Judged], dict[str, Numbers]]:
    """Every text judged, and [n] values of each answer metric, NaN where it does not apply.

    metrics: names of answer metrics; the first grades open questions, if its values are at most 1.
    """
    graded = {name: np.full(len(texts), np.nan) for name in metrics}
    rows = [row for row, question in enumerate(questions) if question.references]
    for name, values in graded.items():
        values[rows] = ANSWERS[name](
            [texts[row] for row in rows], [questions[row].references for row in rows]
        )
    first = metrics[0]
    scaled = is_share(first)
    judged = [
        _choice(question, text, config.parsers)
        if question.choices is not None
        else _open(text, first, float(graded[first][row]) if scaled else np.nan, config.parsers)
        for row, (question, text) in enumerate(zip(questions, texts, strict=True))
    ]
    return judged, {name: values for name, values in graded.items() if not np.isnan(values).all()}


def _choice(question: Question, text: str, parsers: Sequence[str]) -> Judged:
    """Right with a correct option, unless the text also names what a variation flipped into a wrong one, or
    several of which it chooses none."""
    assert question.choices is not None
    parser, named = read(text, question.choices, parsers)
    if not named:
        return Judged(UNPARSED if parser is None else REFUSAL, short(text), None, None, 0.0)
    flipped = question.native - question.answers
    right = bool(question.answers & set(named)) and not flipped & set(named)
    shown = [place for place in named if place < len(question.order)]
    if not shown:
        return Judged(str(parser), short(text), None, None, 0.0)
    # In the order of the item, so that the order shown cannot matter; added options last.
    shown.sort(key=lambda place: question.order[place] % 2**32)
    texts, marks = question.choices.texts, question.choices.marks
    answer = " | ".join(plain(texts[place]) or plain(marks[place]) for place in shown)[:LONGEST]
    if len(shown) > 1 and parser not in TOGETHER:
        return Judged(SEVERAL, answer, None, None, 0.0)
    if len(shown) > 1:
        return Judged(str(parser), answer, None, None, float(right))
    (place,) = shown
    return Judged(str(parser), answer, place, question.order[place], float(right))


def _open(text: str, metric: str, grade: float, parsers: Sequence[str]) -> Judged:
    said = short(text)
    # A question may well be answered by `Sorry`.
    if REFUSAL in parsers and not grade > 0 and declines(text):
        return Judged(REFUSAL, said, None, None, grade)
    return Judged(metric if said else UNPARSED, said, None, None, grade)

"""Generated texts read and graded, each by itself.

`grade_texts` reads every text with the parsers and answer metrics. `read_samples` does the same for sampled
texts, and `sampled_agreement` compares them with the greedy one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vouch.metrics.config import ScoreConfig
from vouch.metrics.metric import is_share
from vouch.metrics.responses import Ints
from vouch.metrics.text.answers import ANSWERS, numeric
from vouch.metrics.text.captions import Scores
from vouch.metrics.text.judge import Places, decided
from vouch.metrics.text.parsers import READER
from vouch.metrics.text.reader.open import declined, value
from vouch.metrics.text.reader.options import DECLINED, NONE, Reading
from vouch.metrics.text.reader.options import SEVERAL as CONTRADICTORY
from vouch.metrics.text.texts import Numbers, TextQuestion
from vouch.metrics.text.wording import LONGEST, plain, short
from vouch.tables.results import REFUSAL, SEVERAL, UNPARSED, UNREAD
from vouch.tables.thoughts import apart

GRADED_COLUMNS = ("parser", "reason", "answer", "predicted", "chosen")
"""Fields of Graded that the outcomes keep as they are."""
FEW_WORDS = 3
_LONGEST_REASON = 120
_UNDECIDED = {DECLINED: REFUSAL, CONTRADICTORY: SEVERAL, NONE: UNPARSED}


@dataclass(frozen=True)
class Graded:
    """The result for one text: columns of OUTCOMES. grade: how correct it is, 0 ... 1; NaN if unknown."""

    parser: str
    reason: str | None
    answer: str
    predicted: int | None
    chosen: int | None
    grade: float


def grade_texts(
    questions: Sequence[TextQuestion],
    texts: Sequence[str],
    config: ScoreConfig,
    metrics: Sequence[str],
    verdicts: Places | None = None,
) -> tuple[list[Graded], dict[str, Numbers]]:
    """Every text graded, and [n] values of each answer metric, NaN if it does not apply.

    metrics: names of answer metrics; the first grades open questions, if its values are at most 1. Those of
    a whole corpus are left to `corpus_figures`.
    verdicts: of a model as judge, if there is one.
    """
    measured = answer_metrics({name: ANSWERS[name] for name in metrics if name in ANSWERS}, questions, texts)
    first = metrics[0]
    scaled = is_share(first)
    graded = [
        _choice(question, text, config.parsers, verdicts or {})
        if question.choices is not None
        else _open(question, text, first, float(measured[first][row]) if scaled else np.nan, config.parsers)
        for row, (question, text) in enumerate(zip(questions, texts, strict=True))
    ]
    return graded, {name: values for name, values in measured.items() if not np.isnan(values).all()}


def answer_metrics(
    formulas: Mapping[str, Scores], questions: Sequence[TextQuestion], texts: Sequence[str]
) -> dict[str, Numbers]:
    """[n] values of each metric, NaN without references."""
    measured = {name: np.full(len(texts), np.nan) for name in formulas}
    rows = [row for row, question in enumerate(questions) if question.references]
    for name, values in measured.items():
        values[rows] = formulas[name](
            [texts[row] for row in rows], [questions[row].references for row in rows]
        )
    return measured


def _choice(question: TextQuestion, text: str, parsers: Sequence[str], verdicts: Places) -> Graded:
    """Right if the text names a correct option, unless it also names one that a variation made wrong, or
    names several and chooses none."""
    assert question.choices is not None
    parser, reading = decided(text, question.choices, parsers, verdicts)
    reason, named = _reason(reading), reading.places
    shown = [index for index in named if index < len(question.order)]
    # In the order of the item, so that the order shown cannot matter; added options last.
    shown.sort(key=lambda one: question.order[one] % 2**32)
    texts, letters = question.choices.texts, question.choices.labels
    answer = " | ".join(plain(texts[index]) or plain(letters[index]) for index in shown)[:LONGEST]
    if reading.verdict in _UNDECIDED:
        return Graded(_UNDECIDED[reading.verdict], reason, answer or short(text), None, None, 0.0)
    flipped = question.native - question.answers
    right = float(bool(question.answers & set(named)) and not flipped & set(named))
    if len(shown) != 1:
        return Graded(parser, reason, answer or short(text), None, None, right if shown else 0.0)
    (index,) = shown
    return Graded(parser, reason, answer, index, question.order[index], right)


def _open(question: TextQuestion, text: str, metric: str, grade: float, parsers: Sequence[str]) -> Graded:
    """A correct answer is never scored as a refusal, even `Sorry`. If a number is asked for, a few words
    that do not decline are a wrong answer."""
    answer = short(apart(text).answer)
    if READER not in parsers or grade > 0 or not answer:
        return Graded(metric if answer else UNPARSED, None, answer, None, None, grade)
    long = len(answer.split()) > FEW_WORDS
    reading = value(text) if long and numeric(question.references) else declined(text)
    return Graded(_UNDECIDED.get(reading.verdict, metric), _reason(reading), answer, None, None, grade)


def _reason(reading: Reading) -> str | None:
    return f"{reading.kind}: {reading.span}"[:_LONGEST_REASON] if reading.kind else None


def sampled_agreement(
    questions: Sequence[TextQuestion],
    texts: Sequence[str],
    samples: Sequence[Sequence[str]],
    config: ScoreConfig,
    names: Sequence[str],
) -> Numbers:
    """[n] share of the samples that give the answer of the greedy text; NaN without samples, or if that
    text was not read.

    Self-consistency as confidence (Wang et al. 2023; Xiong et al. 2024). names: as for `grade_texts`.
    """
    _, greedy, _ = read_samples(questions, [[text] for text in texts], config, names)
    rows, answers, _ = read_samples(questions, samples, config, names)
    same = answers == greedy[rows]
    counts = np.bincount(rows, minlength=len(samples))
    agreed = np.bincount(rows, same, minlength=len(samples))
    read = np.array([answer.startswith("=") for answer in greedy])
    return np.where((counts > 0) & read, agreed / np.maximum(counts, 1), np.nan)


def read_samples(
    questions: Sequence[TextQuestion],
    samples: Sequence[Sequence[str]],
    config: ScoreConfig,
    names: Sequence[str],
) -> tuple[Ints, np.ndarray, Numbers]:
    """For every sample: its row; its answer, after `=`, or its whole text, after `?`, if none was read; its
    grade."""
    rows = [row for row, texts in enumerate(samples) for _ in texts]
    texts = [text for sampled in samples for text in sampled]
    graded = grade_texts([questions[row] for row in rows], texts, config, names)[0] if texts else []
    answers = [
        f"?{text}" if one.parser in UNREAD else f"={one.answer}"
        for one, text in zip(graded, texts, strict=True)
    ]
    grades = np.array([one.grade for one in graded])
    return np.array(rows, dtype=np.int64), np.array(answers, dtype=object), grades

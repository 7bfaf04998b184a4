"""P(true): the probability that a model gives to its own answer being true (Kadavath et al. 2022).

p(True) / (p(True) + p(False)) by the logits of their letters, mean over the orders in which they were shown.

What generated texts came to: read by the parsers, measured by the answer metrics.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.calibration.calibration import softmax
from vouch.metrics.config import Config
from vouch.metrics.registry import is_share
from vouch.metrics.text.answers import ANSWERS, numeric
from vouch.metrics.text.judge import Places, decided
from vouch.metrics.text.parsers import READER
from vouch.metrics.text.reader import spans
from vouch.metrics.text.reader.open import declined, value
from vouch.metrics.text.reader.spans import Reading
from vouch.metrics.text.texts import Numbers, Question
from vouch.metrics.text.wording import LONGEST, plain, short
from vouch.tables.asked import OWN
from vouch.tables.results import REFUSAL, SEVERAL, UNPARSED
from vouch.tables.thoughts import apart

TRUE = 0
"""Place of True among the options of variation p_true, as `order` of the prompts table counts."""


def split_p_true(letters: pa.Table, prompts: pa.Table) -> tuple[pa.Table, pa.Table, dict[str, float]]:
    """Letters and prompts without those that ask about the model's own answers, and P(true) by item.

    An item has one where each of its prompts has an answer.
    """
    own = prompts.filter(pc.equal(prompts["effect"], OWN))
    if not own.num_rows:
        return letters, prompts, {}
    said = pc.is_in(letters["prompt"], own["id"].combine_chunks())
    answers = {row["prompt"]: row["logits"] for row in letters.filter(said).to_pylist()}
    others = prompts.filter(pc.not_equal(prompts["effect"], OWN))
    return letters.filter(pc.invert(said)), others, _by_item(own, answers)


def _by_item(own: pa.Table, answers: Mapping[str, list[float] | None]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for row in own.select(["id", "item", "order"]).to_pylist():
        share, logits = np.nan, (answers.get(row["id"]) or ())[:2]
        if max(logits, default=-np.inf) > -np.inf:
            share = float(softmax(np.array([logits]))[0, row["order"].index(TRUE)])
        found.setdefault(row["item"], []).append(share)
    means = {item: float(np.mean(shares)) for item, shares in found.items()}
    return {item: mean for item, mean in means.items() if not np.isnan(mean)}


SAID = ("parser", "reason", "answer", "predicted", "chosen")
"""Fields of Graded that the outcomes keep as they are."""
FEW_WORDS = 3
_LONGEST_REASON = 120
_UNDECIDED = {spans.DECLINED: REFUSAL, spans.SEVERAL: SEVERAL, spans.NONE: UNPARSED}


@dataclass(frozen=True)
class Graded:
    """What one text came to: columns of OUTCOMES. grade: how right it is, 0 ... 1; NaN where unknown."""

    parser: str
    reason: str | None
    answer: str
    predicted: int | None
    chosen: int | None
    grade: float


def grade_texts(
    questions: Sequence[Question],
    texts: Sequence[str],
    config: Config,
    metrics: Sequence[str],
    verdicts: Places | None = None,
) -> tuple[list[Graded], dict[str, Numbers]]:
    """Every text graded, and [n] values of each answer metric, NaN where it does not apply.

    metrics: names of answer metrics; the first grades open questions, if its values are at most 1.
    verdicts: of a model as judge, where one is named.
    """
    measured = {name: np.full(len(texts), np.nan) for name in metrics}
    rows = [row for row, question in enumerate(questions) if question.references]
    for name, values in measured.items():
        values[rows] = ANSWERS[name](
            [texts[row] for row in rows], [questions[row].references for row in rows]
        )
    first = metrics[0]
    scaled = is_share(first)
    graded = [
        _choice(question, text, config.parsers, verdicts or {})
        if question.choices is not None
        else _open(question, text, first, float(measured[first][row]) if scaled else np.nan, config.parsers)
        for row, (question, text) in enumerate(zip(questions, texts, strict=True))
    ]
    return graded, {name: values for name, values in measured.items() if not np.isnan(values).all()}


def _choice(question: Question, text: str, parsers: Sequence[str], verdicts: Places) -> Graded:
    """Right with a correct option, unless the text also names what a variation flipped into a wrong one, or
    several of which it chooses none."""
    assert question.choices is not None
    parser, reading = decided(text, question.choices, parsers, verdicts)
    reason, named = _reason(reading), reading.places
    shown = [place for place in named if place < len(question.order)]
    # In the order of the item, so that the order shown cannot matter; added options last.
    shown.sort(key=lambda place: question.order[place] % 2**32)
    texts, letters = question.choices.texts, question.choices.marks
    answer = " | ".join(plain(texts[place]) or plain(letters[place]) for place in shown)[:LONGEST]
    if reading.verdict in _UNDECIDED:
        return Graded(_UNDECIDED[reading.verdict], reason, answer or short(text), None, None, 0.0)
    flipped = question.native - question.answers
    right = float(bool(question.answers & set(named)) and not flipped & set(named))
    if len(shown) != 1:
        return Graded(parser, reason, answer or short(text), None, None, right if shown else 0.0)
    (place,) = shown
    return Graded(parser, reason, answer, place, question.order[place], right)


def _open(question: Question, text: str, metric: str, grade: float, parsers: Sequence[str]) -> Graded:
    """A question may well be answered by `Sorry`: what is right declines nothing. Few words where a number is
    asked for are an answer, and a wrong one."""
    said = short(apart(text).answer)
    if READER not in parsers or grade > 0 or not said:
        return Graded(metric if said else UNPARSED, None, said, None, None, grade)
    long = len(said.split()) > FEW_WORDS
    reading = value(text) if long and numeric(question.references) else declined(text)
    return Graded(_UNDECIDED.get(reading.verdict, metric), _reason(reading), said, None, None, grade)


def _reason(reading: Reading) -> str | None:
    return f"{reading.kind}: {reading.span}"[:_LONGEST_REASON] if reading.kind else None

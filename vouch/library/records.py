"""Records of a harness's log, as the reader of each harness makes them, and what each says of its answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any, NamedTuple

import numpy as np

from vouch.metrics.text.reader.options import OPTION, Choices
from vouch.metrics.text.reader.reader import read

SCORE_COLUMNS = ("item", "model", "score")
"""The columns of a table of scores, which no log has."""
_TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class Record:
    """One answer that a harness scored.

    question     the name of the question: several answers to one have the same
    group        what must not be split: the question, the document or the image
    logits       a number for each option; empty if the log has none
    options      texts of the options in the order of the logits, as far as they are known
    correct      indices of the correct options; empty if unknown, or if the question is open
    texts        the generated texts, the one that is scored first
    target       the correct answer as the log writes it
    asked        the text of the question
    filtered     what the harness read, by its filter or scorer
    scores       its scores, the one that counts first; NaN where it gave none
    problem      why the record has no logits, or no text
    """

    question: str
    group: str
    logits: tuple[float, ...] = ()
    options: tuple[str, ...] = ()
    correct: frozenset[int] = frozenset()
    texts: tuple[str, ...] = ()
    target: str = ""
    asked: str = ""
    filtered: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)
    problem: str = ""


class Records(NamedTuple):
    """All records of a file. no_logits: what to do to get probabilities from this harness.

    reported: the harness's own mean, where it wrote no score for each answer. circular: whether a score is
    that of all copies of a question together. remark: what limits the log as a whole.
    """

    harness: str
    task: str
    model: str
    records: Sequence[Record]
    no_logits: str
    reported: float | None = None
    circular: bool = False
    remark: str = ""


def verdict(record: Record) -> float | None:
    """1 if it is correct, 0 if not: by ours or, of open questions, the harness's score. None: unknown."""
    if is_judged(record) and (record.logits or record.texts):
        return float(chosen(record) in record.correct)
    own = own_score(record)
    return own if 0 <= own <= 1 else None


def is_judged(record: Record) -> bool:
    """Whether our own logits or reading say if it is correct."""
    return bool(record.correct and (record.logits or record.options))


def own_score(record: Record) -> float:
    """The harness's score; NaN if it gave none."""
    return next(iter(record.scores.values()), np.nan)


def chosen(record: Record) -> int | None:
    """The option that is chosen: of the largest logit, the first of equal ones, or the one that is read."""
    if record.logits:
        return record.logits.index(max(record.logits))
    return reading(record, record.texts[0]) if record.options else None


def reading(record: Record, text: str) -> int | None:
    """The index of the option that a text names, by the reader of `read_answer`."""
    labels = tuple(ascii_uppercase[: len(record.options)])
    if {option.lower() for option in record.options} == {"yes", "no"}:
        labels = ("",) * len(record.options)
    answer = read(text, Choices(labels, record.options, record.asked))
    return answer.places[0] if answer.verdict == OPTION else None


def score_in(cell: Any) -> float:
    """The score in a cell: a number, a text of one, or true or false; NaN if it is none of these."""
    text = cell.strip().lower() if isinstance(cell, str) else cell
    try:
        return _TRUTH[text] if text in _TRUTH else float(text)
    except (TypeError, ValueError, OverflowError):
        return float("nan")

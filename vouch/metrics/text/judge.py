"""The statistics of a model as judge (`score.judge`): how its verdicts enter the scores.

The judge reads what the rules leave undecided, and, with `score.judge.open`, the answers to open questions
(vouch/judge). People decide on a random sample of these. Their decisions give its agreement with
people, and an accuracy of open answers that is corrected for the judge's errors."""

import hashlib
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vouch.metrics.comparison.statistics import agreement, prediction_powered
from vouch.metrics.intervals import Interval
from vouch.metrics.metric import CLEAN, Figure, mean_figure
from vouch.metrics.responses import Bools, Floats, Ints
from vouch.metrics.text.parsers import read
from vouch.metrics.text.reader.options import NONE, OPTION, SEVERAL, Choices, Reading
from vouch.metrics.text.reader.reader import shortened
from vouch.metrics.text.texts import TextBlock, TextQuestion
from vouch.metrics.unranked import OPTIONS, SENSITIVITY, SPECIFICITY
from vouch.pipeline.files import canonical_json
from vouch.tables.asked import ORIGINAL
from vouch.tables.results import JUDGE

UNDECIDED = (NONE, SEVERAL)

Places = Mapping[str, int | None]
"""By `key`, the index of the option that an answer chooses, as the judge sees it; None if it names none or
several."""


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of a judge.

    places: for answers to questions with options. correct: whether an open answer is correct, by `key`; None
    if the reply says neither. decided: what people decided about it, by `decision`. open: whether open
    questions were judged. sample: on how many questions of a model people decide."""

    places: Places
    correct: Mapping[str, bool | None]
    decided: Mapping[str, bool]
    open: bool
    sample: int


class OpenAnswer(NamedTuple):
    """The part of an open question that the judge sees."""

    question: str
    references: tuple[str, ...]
    text: str

    @property
    def key(self) -> str:
        """The digest that identifies its verdict; empty if there is nothing to read."""
        return _digest([self.question, self.references, self.text]) if shortened(self.text) else ""

    @property
    def decision(self) -> str:
        """The digest that identifies a person's decision."""
        return self.key

    @property
    def reference(self) -> str:
        """What is correct, as a person sees it."""
        return " | ".join(self.references)


class ChoiceAnswer(NamedTuple):
    """The part of an answer to a question with options that a person sees.

    correct: indices of the correct options, which the judge does not see.
    """

    text: str
    choices: Choices
    correct: frozenset[int]

    @property
    def question(self) -> str:
        """The question with its options."""
        return "\n".join([self.choices.question, *map(self._shown, range(len(self.choices.texts)))])

    @property
    def key(self) -> str:
        """The digest that identifies its verdict."""
        return key(self.text, self.choices)

    @property
    def decision(self) -> str:
        """The digest that identifies a person's decision: another item may have another correct
        option."""
        return _digest([self.key, sorted(self.correct)])

    @property
    def reference(self) -> str:
        """What is correct, as a person sees it."""
        return " | ".join(map(self._shown, sorted(self.correct)))

    def _shown(self, index: int) -> str:
        label, text = self.choices.labels[index] if self.choices.labels else "", self.choices.texts[index]
        return f"{label}. {text}" if label else text


Answer = OpenAnswer | ChoiceAnswer


def key(text: str, choices: Choices) -> str:
    """The digest that identifies the verdict on an answer."""
    return _digest([choices.question, choices.labels, choices.texts, text])


def _digest(asked: object) -> str:
    return hashlib.sha256(canonical_json(asked).encode()).hexdigest()


def drawn(
    items: Sequence[str], answers: Sequence[Answer | None], judged: Container[str], count: int
) -> tuple[list[bool], list[bool]]:
    """Of n answers of one kind with their items: which ones the judge read, or would have read if they had
    words; and which of these are sampled for people, all answers to `count` questions. judged: keys of the
    verdicts."""
    which = [one is not None and (not one.key or one.key in judged) for one in answers]
    sample = sampled([item for item, read in zip(items, which, strict=True) if read], count)
    return which, [read and item in sample for item, read in zip(items, which, strict=True)]


def counted_rows(
    items: Sequence[str], answers: Sequence[Answer | None], sample: Sequence[bool], decided: Container[str]
) -> list[bool]:
    """[n] rows of the sample that count as decided: those of items drawn before the first item that people
    left undecided. So they stay a random sample. If later ones counted too, hard answers could be left out,
    and empty ones (wrong without a decision) would be too many."""
    draws = [drawn_order(item) if taken else b"" for item, taken in zip(items, sample, strict=True)]
    rows = list(zip(draws, answers, sample, strict=True))
    left_out = [
        draw for draw, one, taken in rows if taken and one and one.decision and one.decision not in decided
    ]
    first = min(left_out, default=None)
    return [taken and (first is None or draw < first) for draw, _, taken in rows]


def sampled(items: Sequence[str], count: int) -> set[str]:
    """The items that people decide on: the first by a digest, so that nobody chooses them."""
    return set(sorted(set(items), key=drawn_order)[:count])


def drawn_order(item: str) -> bytes:
    """The key by which items are ordered before they are drawn."""
    return hashlib.sha256(f"judgement\0{item}".encode()).digest()


def decided(text: str, choices: Choices, parsers: Sequence[str], verdicts: Places) -> tuple[str, Reading]:
    """The reader of an answer and its reading: a parser, or the judge if the parsers cannot decide."""
    name, reading = read(text, choices, parsers)
    if verdicts and reading.verdict in UNDECIDED:
        index = verdicts.get(key(text, choices))
        if index is not None:
            return JUDGE, Reading(OPTION, (index,), JUDGE, choices.texts[index])
    return name, reading


class JudgedRows:
    """The judged answers of one kind in a block. Arrays [n]:

    which: whether the answer was judged. judged: whether the judge calls it correct. sample: whether people
    decide on it. people: what they decided, NaN without a decision. names: digests of the decisions, empty
    for an answer without words. unread: whether the judge's reply says neither; the answer then counts as
    wrong."""

    def __init__(
        self, answers: Sequence[Answer | None], judged: Bools, block: TextBlock, verdicts: Verdicts
    ) -> None:
        self.judged, self.block = judged, block
        which, sample = drawn(block.items, answers, verdicts.places, verdicts.sample)
        self.which, self.sample = np.array(which, dtype=bool), np.array(sample, dtype=bool)
        self.names = np.array([one.decision if one is not None else "" for one in answers])
        counted = np.array(counted_rows(block.items, answers, sample, verdicts.decided), dtype=bool)
        # An empty text is wrong without a decision.
        self.people = np.array([float(verdicts.decided.get(name, False)) for name in self.names])
        self.people[~counted] = np.nan
        self.unread = np.array(
            [one is not None and verdicts.correct.get(one.key, False) is None for one in answers]
        )

    def figures(self, kept: Bools, score: str) -> Iterator[Figure]:
        """Figures of the rows that are kept [n]. Only decisions on the sample count."""
        rows = self.which & kept & ~self.block.defective
        groups, judged = self.block.numbers, self.judged.astype(float)
        if score == "" and rows.any():
            yield mean_figure("accuracy_judge", judged[rows], groups[rows], CLEAN)
            yield mean_figure("judge_unread_rate", self.unread[rows], groups[rows], CLEAN)
        known = rows & ~np.isnan(self.people)
        # Equal answers are decided together, so they count once.
        shown, both = self._different(rows & self.sample), self._different(known)
        if len(shown):
            annotated = np.isin(self.names[shown], self.names[both])
            yield mean_figure("annotated_rate", annotated, groups[shown], CLEAN, score)
        if score == "" and len(both):
            yield mean_figure("accuracy_people", self.people[known], groups[known], CLEAN)
            value, low, high, weight = prediction_powered(self.people[rows], judged[rows], groups[rows])
            yield Figure("", "accuracy_ppi", value, int(rows.sum()), low, high)
            yield Figure("", "judge_weight", weight, int(known.sum()))
        if len(both):
            yield from _agreement(self.people[both] >= 0.5, self.judged[both], groups[both], score)

    def _different(self, rows: Bools) -> Ints:
        """Indices of the distinct answers with words among these rows [n]."""
        indices = np.flatnonzero(rows & (self.names != ""))
        return indices[np.unique(self.names[indices], return_index=True)[1]]


def judged_rows(block: TextBlock, grades: Floats, verdicts: Verdicts) -> dict[str, JudgedRows]:
    """Judged rows by the score of their figures; empty except for the original prompts."""
    if block.variation != ORIGINAL:
        return {}
    answers = [_answer(question, text) for question, text in zip(block.questions, block.texts, strict=True)]
    kinds: dict[str, tuple[Sequence[Answer | None], Bools]] = {
        OPTIONS: (
            [one if isinstance(one, ChoiceAnswer) else None for one in answers],
            np.nan_to_num(grades) >= 0.5,
        )
    }
    if verdicts.open:
        opened = [one if isinstance(one, OpenAnswer) else None for one in answers]
        correct = [one is not None and verdicts.correct.get(one.key) is True for one in opened]
        kinds[""] = opened, np.array(correct, dtype=bool)
    rows = {score: JudgedRows(of, judged, block, verdicts) for score, (of, judged) in kinds.items()}
    return {score: one for score, one in rows.items() if one.which.any()}


def _answer(question: TextQuestion, text: str) -> Answer | None:
    if question.choices is not None:
        return ChoiceAnswer(text, question.choices, question.answers)
    return OpenAnswer(question.asked, question.references, text) if question.references else None


def _agreement(people: Bools, judged: Bools, groups: np.ndarray, score: str) -> Iterator[Figure]:
    measured = agreement(people, judged, groups)
    if measured.kappa is not None:
        ends: Interval = measured.kappa_interval
        yield Figure(score, "judge_kappa", measured.kappa, measured.rows, *ends)
    for name, share, rows in (
        (SENSITIVITY, measured.sensitivity, people),
        (SPECIFICITY, measured.specificity, ~people),
    ):
        if share is not None:
            yield Figure(score, name, share[0], int(rows.sum()), *share[1:])

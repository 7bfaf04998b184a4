"""A model as judge: which answers it reads, and what its verdicts are to the scores. `score.judge` names it.

The judge reads what the rules leave undecided, so no explicit answer ever gets to it. What is decided here is
made of columns that do not know the right answer. Open questions are judged whole, where `open` is set, by
their references, with the original prompts alone.

A judge's verdicts as figures: open answers corrected by people's decisions, its agreement with them.
"""

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
from vouch.metrics.text.texts import Question, TextBlock
from vouch.metrics.unranked import OPTIONS, SENSITIVITY, SPECIFICITY
from vouch.pipeline.files import canonical_json
from vouch.tables.asked import ORIGINAL
from vouch.tables.results import JUDGE

UNDECIDED = (NONE, SEVERAL)

Places = Mapping[str, int | None]
"""By `key`, the place of the one option that an answer chooses, as the judge says; None where it says none or
several."""


@dataclass(frozen=True)
class Verdicts:
    """What a judge found, by key. correct: of open answers, whether they are; None where its reply says
    neither. decided: the same by people, by `decision`.

    open: whether open questions were judged. sample: how many questions of a model people decide on.
    """

    places: Places
    correct: Mapping[str, bool | None]
    decided: Mapping[str, bool]
    open: bool
    sample: int


class OpenAnswer(NamedTuple):
    """What the judge sees of an open question."""

    question: str
    references: tuple[str, ...]
    text: str

    @property
    def key(self) -> str:
        """The digest under which the verdict is found; empty where there is nothing to read."""
        return _digest([self.question, self.references, self.text]) if shortened(self.text) else ""

    @property
    def decision(self) -> str:
        """The digest under which a person's decision is found."""
        return self.key

    @property
    def reference(self) -> str:
        """What is correct, as a person sees it."""
        return " | ".join(self.references)


class ChoiceAnswer(NamedTuple):
    """What a person sees of an answer to a question with options.

    right: places of the correct ones, which the judge does not see.
    """

    text: str
    choices: Choices
    right: frozenset[int]

    @property
    def question(self) -> str:
        """The question with its options."""
        return "\n".join([self.choices.question, *map(self._shown, range(len(self.choices.texts)))])

    @property
    def key(self) -> str:
        """The digest under which the verdict is found."""
        return key(self.text, self.choices)

    @property
    def decision(self) -> str:
        """The digest under which a person's decision is found: the same words may be right elsewhere."""
        return _digest([self.key, sorted(self.right)])

    @property
    def reference(self) -> str:
        """What is correct, as a person sees it."""
        return " | ".join(map(self._shown, sorted(self.right)))

    def _shown(self, place: int) -> str:
        mark = self.choices.marks[place] if self.choices.marks else ""
        return f"{mark}. {self.choices.texts[place]}" if mark else self.choices.texts[place]


Answer = OpenAnswer | ChoiceAnswer


def key(text: str, choices: Choices) -> str:
    """The digest under which the verdict on an answer is found."""
    return _digest([choices.question, choices.marks, choices.texts, text])


def _digest(asked: object) -> str:
    return hashlib.sha256(canonical_json(asked).encode()).hexdigest()


def drawn(
    items: Sequence[str], answers: Sequence[Answer | None], judged: Container[str], count: int
) -> tuple[list[bool], list[bool]]:
    """Of n answers of one kind with their items: which the judge read, or would have if they said anything;
    and which of these are drawn for people: those to `count` questions. judged: keys of the verdicts."""
    which = [one is not None and (not one.key or one.key in judged) for one in answers]
    sample = sampled([item for item, read in zip(items, which, strict=True) if read], count)
    return which, [read and item in sample for item, read in zip(items, which, strict=True)]


def counted_rows(
    items: Sequence[str], answers: Sequence[Answer | None], sample: Sequence[bool], decided: Container[str]
) -> list[bool]:
    """[n] rows of the sample that count as decided: those of the items drawn before the first one of which
    people left an answer undecided. So they stay a random sample: were later ones taken as well, hard answers
    could be left out, and empty ones (wrong, as nobody needs to say) would be too many.
    """
    places = [drawn_order(item) if taken else b"" for item, taken in zip(items, sample, strict=True)]
    rows = list(zip(places, answers, sample, strict=True))
    left = [at for at, one, taken in rows if taken and one and one.decision and one.decision not in decided]
    first = min(left, default=None)
    return [taken and (first is None or at < first) for at, _, taken in rows]


def sampled(items: Sequence[str], count: int) -> set[str]:
    """Of these items, so many for people to decide on: the first by a digest, so that nobody chooses them."""
    return set(sorted(set(items), key=drawn_order)[:count])


def drawn_order(item: str) -> bytes:
    """By what items are ordered to be drawn."""
    return hashlib.sha256(f"judgement\0{item}".encode()).digest()


def decided(text: str, choices: Choices, parsers: Sequence[str], verdicts: Places) -> tuple[str, Reading]:
    """What the parsers find, or the judge where they cannot decide; and the name of who found it."""
    name, reading = read(text, choices, parsers)
    if verdicts and reading.verdict in UNDECIDED:
        place = verdicts.get(key(text, choices))
        if place is not None:
            return JUDGE, Reading(OPTION, (place,), JUDGE, choices.texts[place])
    return name, reading


class Rows:
    """The judged answers of one kind in a block, [n] each: which they are, whether the judge calls them
    right, whether they are drawn for people, what these decided (NaN: nothing), the digests of the decisions
    (empty where an answer says nothing).

    unread: whether the judge's reply says neither; then it counts as wrong.
    """

    def __init__(
        self, answers: Sequence[Answer | None], judged: Bools, block: TextBlock, verdicts: Verdicts
    ) -> None:
        self.judged, self.block = judged, block
        which, sample = drawn(block.items, answers, verdicts.places, verdicts.sample)
        self.which, self.sample = np.array(which, dtype=bool), np.array(sample, dtype=bool)
        self.names = np.array([one.decision if one is not None else "" for one in answers])
        counted = np.array(counted_rows(block.items, answers, sample, verdicts.decided), dtype=bool)
        # A text with nothing in it is wrong: nobody decides that.
        self.people = np.array([float(verdicts.decided.get(name, False)) for name in self.names])
        self.people[~counted] = np.nan
        self.unread = np.array(
            [one is not None and verdicts.correct.get(one.key, False) is None for one in answers]
        )

    def figures(self, kept: Bools, score: str) -> Iterator[Figure]:
        """Of the rows that are kept [n]; only decisions on the sample count."""
        rows = self.which & kept & ~self.block.defective
        groups, judged = self.block.numbers, self.judged.astype(float)
        if score == "" and rows.any():
            yield mean_figure("accuracy_judge", judged[rows], groups[rows], CLEAN)
            yield mean_figure("judge_unread_rate", self.unread[rows], groups[rows], CLEAN)
        known = rows & ~np.isnan(self.people)
        # Of equal answers one: they were decided at once.
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
        """Places of the different answers among these rows [n] that say anything."""
        places = np.flatnonzero(rows & (self.names != ""))
        return places[np.unique(self.names[places], return_index=True)[1]]


def judged_rows(block: TextBlock, grades: Floats, verdicts: Verdicts) -> dict[str, Rows]:
    """By the score of their figures; of the original prompts alone."""
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
    found = {score: Rows(of, judged, block, verdicts) for score, (of, judged) in kinds.items()}
    return {score: rows for score, rows in found.items() if rows.which.any()}


def _answer(question: Question, text: str) -> Answer | None:
    if question.choices is not None:
        return ChoiceAnswer(text, question.choices, question.answers)
    return OpenAnswer(question.asked, question.references, text) if question.references else None


def _agreement(people: Bools, judged: Bools, groups: np.ndarray, score: str) -> Iterator[Figure]:
    found = agreement(people, judged, groups)
    if found.kappa is not None:
        ends: Interval = found.kappa_interval
        yield Figure(score, "judge_kappa", found.kappa, found.rows, *ends)
    for name, share, rows in (
        (SENSITIVITY, found.sensitivity, people),
        (SPECIFICITY, found.specificity, ~people),
    ):
        if share is not None:
            yield Figure(score, name, share[0], int(rows.sum()), *share[1:])

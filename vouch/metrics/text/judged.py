"""A judge's verdicts as figures: open answers corrected by people's decisions, its agreement with them."""

from collections.abc import Iterator, Sequence

import numpy as np

from vouch.metrics.intervals import Interval
from vouch.metrics.protocols import CLEAN, Figure, mean_figure
from vouch.metrics.responses import Bools, Floats, Ints
from vouch.metrics.text.agreement import agreement, prediction_powered
from vouch.metrics.text.judge import Answer, ChoiceAnswer, OpenAnswer, Verdicts, counted_rows, drawn
from vouch.metrics.text.texts import Question, TextBlock
from vouch.metrics.unranked import OPTIONS, SENSITIVITY, SPECIFICITY
from vouch.tables.prompts import ORIGINAL


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

"""A judge's verdicts as figures: open answers corrected by people's decisions, its agreement with them."""

from collections.abc import Iterator, Sequence

import numpy as np

from vouch.metrics.intervals import Interval
from vouch.metrics.protocols import CLEAN, Figure, mean_figure
from vouch.metrics.responses import Bools, Floats
from vouch.metrics.text.agreement import agreement, prediction_powered
from vouch.metrics.text.grading import Graded
from vouch.metrics.text.judge import OpenAnswer, Verdicts, key, sampled
from vouch.metrics.text.texts import TextBlock
from vouch.metrics.unranked import OPTIONS, SENSITIVITY, SPECIFICITY
from vouch.tables.prompts import ORIGINAL

POWERED, DECIDED_RATE = "accuracy_powered", "decided_rate"


class Rows:
    """The judged answers of one kind in a block, [n] each: which they are, whether the judge calls them
    right, whether they are drawn for people, what these decided (NaN: nothing), whether they say anything."""

    def __init__(
        self, keys: Sequence[str | None], judged: Bools, block: TextBlock, verdicts: Verdicts
    ) -> None:
        self.judged, self.block = judged, block
        self.which = np.array([one is not None for one in keys])
        of_kind = [item for item, one in zip(block.items, keys, strict=True) if one is not None]
        self.sample = self.which & np.isin(block.items, list(sampled(of_kind, verdicts.sample)))
        # A text with nothing in it is wrong: nobody decides that.
        self.people = np.array(
            [0.0 if one == "" else float(verdicts.decided.get(one or "", np.nan)) for one in keys]
        )
        self.people[~self.sample] = np.nan
        self.read = np.array([bool(one) for one in keys])

    def figures(self, kept: Bools, score: str) -> Iterator[Figure]:
        """Of the rows that are kept [n]; only decisions on the sample count."""
        rows = self.which & kept & ~self.block.defective
        groups, judged = self.block.numbers, self.judged.astype(float)
        if score == "" and rows.any():
            yield mean_figure("judge_accuracy", judged[rows], groups[rows], CLEAN)
        drawn = rows & self.sample
        known = drawn & ~np.isnan(self.people)
        if drawn.any():
            yield mean_figure(DECIDED_RATE, known[drawn], groups[drawn], CLEAN, score)
        if score == "" and (known & self.read).any():
            yield mean_figure("people_accuracy", self.people[known], groups[known], CLEAN)
            value, low, high, weight = prediction_powered(self.people[rows], judged[rows], groups[rows])
            yield Figure("", POWERED, value, int(rows.sum()), low, high)
            yield Figure("", "judge_weight", weight, int(known.sum()))
        known &= self.read
        if known.any():
            yield from _agreement(self.people[known] >= 0.5, self.judged[known], groups[known], score)


def judged_rows(
    block: TextBlock, graded: Sequence[Graded], grades: Floats, verdicts: Verdicts
) -> dict[str, Rows]:
    """By the score of their figures; of the original prompts alone."""
    if block.variation != ORIGINAL:
        return {}
    asked = list(zip(block.questions, block.texts, strict=True))
    places = [key(text, one.choices) if one.choices is not None else None for one, text in asked]
    choices = [one if one in verdicts.places else None for one in places]
    found = {}
    if any(one is not None for one in choices):
        found[OPTIONS] = Rows(choices, np.nan_to_num(grades) >= 0.5, block, verdicts)
    opened = [
        OpenAnswer(one.asked, one.references, text).key if one.choices is None and one.references else None
        for one, text in asked
    ]
    if verdicts.open and any(one is not None for one in opened):
        correct = np.array([verdicts.correct.get(one or "", False) for one in opened])
        found[""] = Rows(opened, correct, block, verdicts)
    return found


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

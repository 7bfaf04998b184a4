"""Bad news about the preferred model: overconfidence, unlikely letters, variations that cost accuracy.

News about the original prompts comes before news about variations; within each, the largest loss comes first,
measured at the favourable end of its interval.
"""

from collections.abc import Iterator
from typing import NamedTuple

from vouch.prompts.variations import named
from vouch.report import formatting
from vouch.report.claims import NEGLIGIBLE, effects, low_letter_mass, once, overconfident
from vouch.report.costs import ACCURACY, costs
from vouch.report.evidence import Evidence
from vouch.report.leaders import preferred


class News(NamedTuple):
    """points: the loss that is shown, 0 to 1. variation: empty if the news is about the original prompts.
    answer, why: without the name of the dataset."""

    points: float
    dataset: str
    variation: str
    answer: str
    why: str


@once
def news(evidence: Evidence) -> tuple[News, ...]:
    """All bad news about the preferred model, the worst first; empty if no model is preferred."""
    model = preferred(evidence)
    if model is None:
        return ()
    every = [*_overconfidence(evidence, model), *_letters(evidence, model), *_variations(evidence, model)]
    large = [one for one in every if one.points >= NEGLIGIBLE]
    return tuple(sorted(large, key=lambda one: (one.variation != "", -one.points, one.dataset)))


def _overconfidence(evidence: Evidence, model: str) -> Iterator[News]:
    for dataset, (claim, answers) in overconfident(evidence, model).items():
        every = int((evidence.plain_outcomes(dataset)["model"] == model).sum())
        which = f"all {formatting.count(every)}"
        if answers < every:
            which = f"the {formatting.count(answers)} most confident of its {formatting.count(every)}"
        stated, correct = formatting.percent(claim.null, 0), formatting.percent(claim.estimate, 0)
        yield News(
            claim.at_least,
            dataset,
            "",
            f"Overconfident: {stated} confident, {correct} correct",
            f"In {which} answers, the mean confidence of {model} is {stated}, but "
            f"{formatting.percent(claim.estimate)}{formatting.bracketed(claim.low, claim.high, 1, 100)} "
            "are correct.",
        )


def _letters(evidence: Evidence, model: str) -> Iterator[News]:
    for dataset, claim in low_letter_mass(evidence, model).items():
        share = formatting.percent(claim.estimate, 0)
        yield News(
            claim.low,
            dataset,
            "",
            f"Would not begin {share} of its answers with a letter",
            f"In {share} of its prompts{formatting.bracketed(claim.low, claim.high, 0, 100)}, most of the "
            f"first token's probability is not on option letters: what is scored there is not what {model} "
            "would answer.",
        )


def _variations(evidence: Evidence, model: str) -> Iterator[News]:
    for (dataset, who, change), claim in effects(evidence).items():
        if who != model or claim.above:
            continue
        cost = costs(evidence, dataset)[model, change, *ACCURACY]
        asked = formatting.plural(cost.items, "question")
        share, before = formatting.percent(cost.value), formatting.percent(cost.original)
        if cost.guess is not None:  # guessing became easier or harder, so points would mislead
            lost = "no better than guessing" if cost.value <= cost.guess else "closer to guessing"
            why = (
                f"{model} then answers {share} of {asked} correctly, where guessing gives "
                f"{formatting.percent(cost.guess, 0)}; on the original prompts of the same questions "
                f"{before}, where guessing gives {formatting.percent(1 - cost.guess, 0)}."
            )
        else:
            lost = f"{formatting.number(-100 * cost.difference, 1)} points lost"
            why = (
                f"{model} then answers {share} of {asked} correctly, on the original prompts of the same "
                f"questions {before}: a loss of {formatting.span(-claim.high, -claim.low, 1, 100)} points."
            )
        name = named(change)
        yield News(claim.at_least, dataset, change, f"{name[:1].upper()}{name[1:]}: {lost}", why)

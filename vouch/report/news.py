"""Bad news about the preferred model, the worst first: the first tile of the report, and what opens first.

What holds for the questions as they were asked comes before what another way to ask them does. Of either the
worst is what is shown to lose most points: by the kinder end of its interval.
"""

from collections.abc import Iterator
from typing import NamedTuple

from vouch.report import formatting
from vouch.report.claims import NEGLIGIBLE, effects, low_letter_mass, once, overconfident
from vouch.report.costs import ACCURACY, costs, named
from vouch.report.evidence import Evidence
from vouch.report.leaders import preferred


class News(NamedTuple):
    """points: what is shown to be lost, 0 ... 1. variation: empty where it is about the original prompts."""

    points: float
    dataset: str
    variation: str
    answer: str
    why: str


@once
def news(evidence: Evidence) -> tuple[News, ...]:
    """All of it, the worst first; empty where no model is preferred."""
    model = preferred(evidence)
    if model is None:
        return ()
    every = [*_overconfidence(evidence, model), *_letters(evidence, model), *_variations(evidence, model)]
    found = [one for one in every if one.points >= NEGLIGIBLE]
    return tuple(sorted(found, key=lambda one: (one.variation != "", -one.points, one.dataset)))


def worst_first(evidence: Evidence) -> tuple[str, ...]:
    """The datasets, that of the worst news first."""
    first = [one.dataset for one in news(evidence)[:1]]
    return (*first, *(name for name in evidence.datasets if name not in first))


def _overconfidence(evidence: Evidence, model: str) -> Iterator[News]:
    for dataset, (claim, answers) in overconfident(evidence, model).items():
        every = int((evidence.plain_outcomes(dataset)["model"] == model).sum())
        which = "all" if answers == every else f"the {formatting.count(answers)} surest of"
        said, right = formatting.percent(claim.null, 0), formatting.percent(claim.estimate, 0)
        yield News(
            claim.at_least,
            dataset,
            "",
            f"Overconfident: {said} sure, {right} right ({dataset})",
            f"The mean confidence of {model} in {which} {formatting.count(every)} answers on {dataset} is "
            f"{said}; {formatting.percent(claim.estimate)} of them are right"
            f"{formatting.bracketed(claim.low, claim.high, 1, 100)}.",
        )


def _letters(evidence: Evidence, model: str) -> Iterator[News]:
    for dataset, claim in low_letter_mass(evidence, model).items():
        share = formatting.percent(claim.estimate, 0)
        yield News(
            claim.low,
            dataset,
            "",
            f"Would begin {share} of its answers with no letter ({dataset})",
            f"In {share} of its prompts{formatting.bracketed(claim.low, claim.high, 0, 100)} most of the "
            f"first token's probability is on no option letter: what is scored there is not what {model} "
            "would say.",
        )


def _variations(evidence: Evidence, model: str) -> Iterator[News]:
    for (dataset, who, change), claim in effects(evidence).items():
        if who != model or claim.above:
            continue
        cost = costs(evidence, dataset)[model, change, *ACCURACY]
        if cost.guess is not None:  # it is easier or harder: points would say nothing
            lost = "no better than a guess" if cost.value <= cost.guess else "closer to a guess"
            why = (
                f"With it {model} answers {formatting.percent(cost.value)} of "
                f"{formatting.plural(cost.items, 'question')} on {dataset} right, and a guess "
                f"{formatting.percent(cost.guess, 0)}; without it {formatting.percent(cost.original)}, and a "
                f"guess {formatting.percent(1 - cost.guess, 0)}."
            )
        else:
            lost = f"{formatting.number(-100 * cost.difference, 1)} points lost"
            why = (
                f"With it {model} answers {formatting.percent(cost.value)} of "
                f"{formatting.plural(cost.items, 'question')} on {dataset} right, without it "
                f"{formatting.percent(cost.original)}: {formatting.span(-claim.high, -claim.low, 1, 100)} "
                f"points lost."
            )
        name = named(change)
        yield News(claim.at_least, dataset, change, f"{name[:1].upper()}{name[1:]}: {lost}", why)

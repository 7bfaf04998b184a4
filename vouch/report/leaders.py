"""Which models are best on a dataset, alone or tied, and what its questions could show of any model."""

from collections import Counter
from functools import lru_cache

from vouch.metrics.comparison.resampling import questions_for
from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.gates import Claim, detectable_difference, effect_in_words, share_claim, significant

RELEVANT = 0.1
"""A difference that is worth asking more questions for."""


@lru_cache(maxsize=2)
def _above_chance(evidence: Evidence) -> dict[tuple[str, str], Claim]:
    """By dataset and model; found all together, since they are corrected for each other."""
    tried = {
        (name, model): share_claim(n.value, n.low, n.high, evidence.groups(name), evidence.chance(name))
        for name in evidence.datasets
        for model, n in evidence.numbers(name, "accuracy").items()
        if model in evidence.candidates(name)
    }
    return {place: claim for place, claim in significant(tried).items() if claim.above}


def above_chance(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    """The models that are better than a guess, best accuracy first."""
    found = _above_chance(evidence)
    return tuple(model for model in evidence.candidates(dataset) if (dataset, model) in found)


def significantly_worse(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    """The models that are worse than the best of those above chance."""
    best = next(iter(above_chance(evidence, dataset)), "")
    pairs = {model: evidence.comparisons.pair(dataset, best, model) for model in evidence.candidates(dataset)}
    return tuple(m for m, pair in pairs.items() if pair and pair.significant and pair.difference > 0)


def leaders(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    """The best model, and those above chance that are not significantly worse."""
    worse = significantly_worse(evidence, dataset)
    return tuple(model for model in above_chance(evidence, dataset) if model not in worse)


def is_sole_leader(evidence: Evidence, model: str, dataset: str) -> bool:
    """Whether a model leads and all others are significantly worse."""
    worse = significantly_worse(evidence, dataset)
    return leaders(evidence, dataset) == (model,) and len(worse) == len(evidence.candidates(dataset)) - 1


def representative(evidence: Evidence, dataset: str) -> str:
    """The model that stands for all where one is shown: the first of the leaders, else of the models."""
    return (leaders(evidence, dataset) or evidence.models(dataset))[0]


def preferred(evidence: Evidence) -> str | None:
    """The model that leads on most datasets, on the larger ones where several do; None where none leads."""
    wins = Counter(model for name in evidence.datasets for model in leaders(evidence, name))
    return max(wins, key=lambda model: wins[model]) if wins else None


def why_no_leader(evidence: Evidence, dataset: str) -> str:
    """Why no model leads on a dataset; empty where one does."""
    if not evidence.candidates(dataset):
        return "no model answers in a form that can be scored"
    if evidence.is_small(dataset):
        return f"too small to tell: {detectable_effect(evidence, dataset)}"
    return "" if leaders(evidence, dataset) else "none is shown to be better than a guess"


def detectable_effect(evidence: Evidence, dataset: str) -> str:
    """`24 questions find 28 points`: what a dataset would show of one of its models, over a guess."""
    room = 1 - _chance(evidence, dataset)
    return effect_in_words(
        evidence.questions(dataset), evidence.groups(dataset), _least(evidence, dataset), room
    )


def questions_needed(evidence: Evidence, dataset: str) -> str:
    """How many questions like those of a dataset would find what is RELEVANT over a guess."""
    effect = _least(evidence, dataset)
    needed = questions_for(RELEVANT, evidence.questions(dataset), effect)
    which = "These" if effect <= RELEVANT else f"{formatting.roughly(needed)} would"
    return f"{which} show {100 * RELEVANT:g} points over a guess"


def _chance(evidence: Evidence, dataset: str) -> float:
    return evidence.chance(dataset) or 0.5


def _least(evidence: Evidence, dataset: str) -> float:
    tried = {dataset, *evidence.large}
    claims = sum(len(evidence.candidates(name)) for name in tried)
    return detectable_difference(_chance(evidence, dataset), evidence.groups(dataset), claims)

"""Which models lead a dataset, which one is preferred, and which dataset the first page is about.

All follow from claims (claims.py): leaders are above chance, not significantly worse than the best, and not
shown to answer as well without the image.
"""

from collections import Counter
from math import ceil

from vouch.metrics.comparison.statistics import questions_for
from vouch.report import formatting
from vouch.report.claims import above_chance, uses_image
from vouch.report.evidence import Evidence
from vouch.report.gates import MINIMUM, detectable_lead, effect_in_words
from vouch.tables.asked import LETTERS

RELEVANT = 0.1
"""A difference that is worth asking more questions for."""


def significantly_worse(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    """The models that are significantly worse than the best of those above chance."""
    best = next(iter(above_chance(evidence, dataset)), "")
    pairs = {model: evidence.comparisons.pair(dataset, best, model) for model in evidence.candidates(dataset)}
    return tuple(m for m, pair in pairs.items() if pair and pair.significant and pair.difference > 0)


def leaders(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    """The best model, and those above chance that are not significantly worse.

    Without those that were tested and are not shown to need the image: text alone may answer as well.
    """
    worse = significantly_worse(evidence, dataset)
    return tuple(
        model
        for model in above_chance(evidence, dataset)
        if model not in worse and uses_image(evidence, dataset, model) is not False
    )


def is_sole_leader(evidence: Evidence, model: str, dataset: str) -> bool:
    """Whether a model leads and all others are significantly worse."""
    worse = significantly_worse(evidence, dataset)
    return leaders(evidence, dataset) == (model,) and len(worse) == len(evidence.candidates(dataset)) - 1


def representative(evidence: Evidence, dataset: str) -> str:
    """The model to show if only one can be shown: the first of the leaders, else of all models; by name if
    the dataset is too small to rank them."""
    if evidence.is_small(dataset):
        return min(evidence.candidates(dataset) or evidence.models(dataset))
    return (leaders(evidence, dataset) or evidence.models(dataset))[0]


def preferred(evidence: Evidence) -> str | None:
    """The model that leads on most datasets; ties go to the larger datasets. None if no model leads."""
    wins = Counter(model for name in evidence.datasets for model in leaders(evidence, name))
    return max(wins, key=lambda model: wins[model]) if wins else None


def lead_dataset(evidence: Evidence) -> str:
    """The dataset that the first page is about, and with which every page begins: the largest one on which
    the preferred model leads; if no model is preferred, the largest of all."""
    model = preferred(evidence)
    return next(
        (name for name in evidence.datasets if model in leaders(evidence, name)), evidence.datasets[0]
    )


def lead_first(evidence: Evidence) -> tuple[str, ...]:
    """All datasets, with the one of the first page at the head."""
    lead = lead_dataset(evidence)
    return (lead, *(name for name in evidence.datasets if name != lead))


def why_no_leader(evidence: Evidence, dataset: str) -> str:
    """Why no model leads on a dataset; empty if one does."""
    if only_blind(evidence, dataset):
        return "only language models were asked"
    if not evidence.candidates(dataset):
        by_letters = evidence.outputs(dataset)[0] == LETTERS
        return f"no model {'answers with letters' if by_letters else 'gives readable answers'}"
    if evidence.is_small(dataset):
        return f"too small to tell: {lead_in_words(evidence, dataset)}"
    if leaders(evidence, dataset):
        return ""
    needed = "use the image" if above_chance(evidence, dataset) else "beat guessing"
    return f"no model is shown to {needed}"


def only_blind(evidence: Evidence, dataset: str) -> bool:
    """Whether all models of a dataset are blind baselines."""
    return evidence.blind(dataset) == evidence.models(dataset)


def lead_in_words(evidence: Evidence, dataset: str) -> str:
    """`with 40 questions only a lead of 28 points over guessing would show`, for a dataset; if it is small,
    that no lead is claimed."""
    groups = evidence.groups(dataset)
    effect, room = _least(evidence, dataset, groups), 1 - _chance(evidence, dataset)
    return effect_in_words(evidence.questions(dataset), groups, effect, room)


def lead_with_enough(evidence: Evidence, dataset: str) -> str:
    """The same; if a dataset is small, for the fewest independent questions on which a lead is claimed."""
    if not evidence.is_small(dataset):
        return lead_in_words(evidence, dataset)
    effect, room = _least(evidence, dataset, MINIMUM), 1 - _chance(evidence, dataset)
    return effect_in_words(MINIMUM, MINIMUM, effect, room)


def questions_needed(evidence: Evidence, dataset: str) -> str:
    """How many questions like those of a dataset would show a RELEVANT lead over guessing."""
    groups, questions = evidence.groups(dataset), evidence.questions(dataset)
    effect = _least(evidence, dataset, groups)
    needed = questions_for(RELEVANT, questions, effect)
    if groups < MINIMUM:
        needed = max(needed, ceil(MINIMUM * questions / max(groups, 1)))
    enough = effect <= RELEVANT and groups >= MINIMUM
    which = "These" if enough else f"{formatting.roughly(needed)} would"
    return f"{which} show a lead of {100 * RELEVANT:g} points over guessing"


def _chance(evidence: Evidence, dataset: str) -> float:
    return evidence.chance(dataset) or 0.5


def _least(evidence: Evidence, dataset: str, groups: int) -> float:
    """The smallest lead over guessing that this many groups of questions would show."""
    tried = {dataset, *evidence.large}
    claims = sum(len(evidence.candidates(name)) for name in tried)
    return detectable_lead(_chance(evidence, dataset), groups, claims)

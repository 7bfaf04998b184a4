"""Which claims the report makes: those of each kind that pass the gates (gates.py).

Kinds are: better than a guess, worse than another model, what a variation costs, overconfidence, low letter
mass, whether the image matters, and the blind baseline; coverage has its own file (coverage.py). All claims
of a kind are found together, because they are corrected for each other. Which models lead follows from them
(leaders.py).
"""

from functools import lru_cache
from math import hypot

import numpy as np
import pandas as pd

from vouch.metrics.blind import WITH_IMAGE
from vouch.metrics.conformal.selective import SURE, TOLERATED, AnswerThreshold, answer_threshold
from vouch.metrics.intervals import mean_interval
from vouch.metrics.unranked import LOW_MASS_RATE
from vouch.report import blind
from vouch.report.blind import Baseline
from vouch.report.costs import ACCURACY, Cost, costs, real_changes
from vouch.report.evidence import Evidence
from vouch.report.gates import (
    MINIMUM,
    TESTED,
    Claim,
    difference_claim,
    paired_claim,
    share_claim,
    significant,
)
from vouch.report.numbers import Number
from vouch.tables import DONT_KNOW, NONE_OF_ABOVE, WITHOUT_IMAGE
from vouch.tables.asked import TEXT

NEGLIGIBLE = 0.01
"""A smaller loss is not news."""
CHOSEN, RIGHT = "chosen_share_", "correct_share_"
ANSWERED_ALONE = "answered_alone_"
once = lru_cache(maxsize=2)
"""Claims of a kind are made all together, because they are corrected for each other; those of the last two
reports are kept."""


def claim_of_share(evidence: Evidence, dataset: str, number: Number, null: float) -> Claim:
    """The claim that a share of the leaderboard differs from `null`."""
    groups = min(evidence.groups(dataset), number.items)
    return share_claim(number.value, number.low, number.high, groups, null)


def _of_cost(groups: int, cost: Cost, null: float = 0.0) -> Claim:
    groups = min(groups, cost.items)
    return paired_claim(cost.difference, cost.low, cost.high, groups, null)


@once
def effects(evidence: Evidence) -> dict[tuple[str, str, str], Claim]:
    """Losses and gains of accuracy by dataset, model and variation, for models that beat guessing."""
    tried = {}
    for name in evidence.datasets:
        found = costs(evidence, name)
        for model in above_chance(evidence, name):
            for change in real_changes(found):
                if cost := found.get((model, change, *ACCURACY)):
                    tried[name, model, change] = _of_cost(evidence.groups(name), cost, cost.eased)
    return significant(tried)


def losses(evidence: Evidence, dataset: str, model: str) -> tuple[str, ...]:
    """The variations that cost a model more accuracy than they cost guessing, the costliest first."""
    found = {
        change: claim.estimate - claim.null
        for (where, who, change), claim in effects(evidence).items()
        if (where, who) == (dataset, model) and not claim.above
    }
    return tuple(sorted(found, key=lambda change: (found[change], change)))


@once
def answers_alone(evidence: Evidence) -> dict[tuple[str, str], AnswerThreshold]:
    """By dataset and model, the threshold for answering alone with at most the share TOLERATED wrong.

    With probability SURE, all of them keep this promise (Bonferroni).
    """
    places = [(name, model) for name in evidence.large for model in evidence.candidates(name)]
    sure = 1 - (1 - SURE) / max(len(places), 1)
    found = {
        place: answer_threshold(*evidence.confidences(*place), TOLERATED, sure, evidence.scoring.seed)
        for place in places
    }
    return {place: shown for place, shown in found.items() if shown.answered}


def wrong_at(evidence: Evidence, dataset: str, model: str, threshold: float) -> tuple[Claim, int] | None:
    """The share of wrong answers among those with at least this confidence, against TOLERATED, and the number
    of these answers; None if they are of too few groups."""
    own = evidence.graded(dataset, model)
    given = own[own["confidence"] >= threshold]
    groups = pd.factorize(given["group"])[0]
    if given["group"].nunique() < MINIMUM:
        return None
    wrong = 1 - given["clean_correct"].to_numpy(np.float64)
    low, high = mean_interval(wrong, groups)
    return share_claim(float(wrong.mean()), low, high, int(groups.max()) + 1, TOLERATED), len(given)


def errors_elsewhere(
    evidence: Evidence, dataset: str, model: str, threshold: float
) -> dict[str, tuple[Claim, int]]:
    """By other large dataset with the same main request type: `wrong_at` of a model's threshold for answering
    alone, where it lets more than TOLERATED through."""
    asked = evidence.outputs(dataset)[0]
    alike = (name for name in evidence.large if name != dataset and evidence.outputs(name)[0] == asked)
    measured = {name: wrong_at(evidence, name, model, threshold) for name in alike}
    return {name: wrong for name, wrong in measured.items() if wrong and wrong[0].above}


@once
def overconfident(evidence: Evidence, model: str) -> dict[str, tuple[Claim, int]]:
    """By dataset: the claim that a model's surest answers are overconfident, and the number of these answers.

    These are the answers in the last bin of the reliability diagram, or all answers if that bin has too few.
    """
    tried, answers = {}, {}
    for name in evidence.datasets:
        if model not in evidence.candidates(name) or evidence.outputs(name)[0] == TEXT:
            continue  # the confidence of a text is that of its tokens
        own = evidence.graded(name, model)
        sure = own[own["confidence"] >= 1 - 1 / evidence.scoring.bins]
        for chosen in (sure, own):
            claim = _of_answers(chosen)
            if claim and claim.groups >= MINIMUM:
                tried[name], answers[name] = claim, len(chosen)
                break
    return {name: (claim, answers[name]) for name, claim in significant(tried).items() if not claim.above}


def _of_answers(frame: pd.DataFrame) -> Claim | None:
    """Accuracy of some answers against their mean confidence; None if there are no answers."""
    if frame.empty:
        return None
    groups = pd.factorize(frame["group"])[0]
    right = frame["clean_correct"].to_numpy(np.float64)
    low, high = mean_interval(right, groups)
    stated = float(frame["confidence"].mean())
    return share_claim(float(right.mean()), low, high, int(groups.max()) + 1, stated)


@once
def low_letter_mass(evidence: Evidence, model: str) -> dict[str, Claim]:
    """By dataset: share of a model's answers that would not begin with a letter, unless it is NEGLIGIBLE."""
    tried = {
        name: claim_of_share(evidence, name, rate, NEGLIGIBLE)
        for name in evidence.large
        if model in evidence.candidates(name) and (rate := evidence.number(name, model, LOW_MASS_RATE))
    }
    return {name: claim for name, claim in significant(tried).items() if claim.above}


def _tests_without_image(evidence: Evidence) -> dict[tuple[str, str, str], Claim]:
    """By dataset, model and kind, see `image_claims`."""
    tried = {}
    for name in evidence.datasets:
        change, found = without_image(evidence, name), costs(evidence, name)
        groups, chance = evidence.groups_with_image(name), evidence.chance_with_image(name)
        for model in evidence.candidates(name):
            if cost := found.get((model, change, *ACCURACY)):
                tried[name, model, "loss"] = _of_cost(groups, cost)
                without = evidence.number(name, model, "accuracy", variation=change)
                if without is not None and chance:
                    tried[name, model, "blind"] = share_claim(
                        without.value, without.low, without.high, min(groups, cost.items), chance
                    )
    return tried


@once
def image_claims(evidence: Evidence) -> dict[tuple[str, str, str], Claim]:
    """By dataset, model and kind: `loss`, the change of accuracy without the image, on the same questions;
    `blind`, the accuracy without it against guessing."""
    return significant(_tests_without_image(evidence))


@once
def _losses_without_image(evidence: Evidence) -> dict[tuple[str, str], bool]:
    """By dataset and model that was asked without the image, whether it is shown to lose accuracy."""
    tests = _tests_without_image(evidence)
    tried = {(name, model): claim for (name, model, kind), claim in tests.items() if kind == "loss"}
    passed = significant(tried, TESTED)
    return {place: place in passed and not passed[place].above for place in tried}


@once
def baselines(evidence: Evidence) -> dict[str, Baseline]:
    """By dataset with a blind baseline, what the best one says (blind.py)."""
    metrics = evidence.headlines["metric"].isin(blind.OF_BASELINE)
    return blind.baselines(
        evidence.headlines[metrics].to_dict("records"),
        evidence.differences.to_dict("records"),
        {name: evidence.groups_with_image(name) for name in evidence.datasets},
        {name: evidence.outputs(name)[0] for name in evidence.datasets},
        evidence.away,
    )


def accuracy_with_image(evidence: Evidence, dataset: str, model: str) -> Number | None:
    """The accuracy beside the blind baseline: on the questions with an image."""
    known = evidence.number(dataset, model, WITH_IMAGE)
    return known or evidence.number(dataset, model, "accuracy")


def uses_image(evidence: Evidence, dataset: str, model: str) -> bool | None:
    """Whether a model is shown to need the image; None if nothing tested that.

    Two tests: its answers to the same questions without the image, and the blind baseline. It must pass those
    that were made. The first says what this model does, the second what the questions ask for.
    """
    loses = _losses_without_image(evidence).get((dataset, model))
    passed = [] if loses is None else [loses]
    baseline = baselines(evidence).get(dataset)
    if baseline is not None:
        passed.append(model in baseline.beaten_by)
    return all(passed) if passed else None


def doubts(evidence: Evidence, dataset: str, model: str) -> str:
    """Why a model is not shown to need the image, as part of a sentence; empty if it is, or nothing tested
    it."""
    reasons = []
    if _losses_without_image(evidence).get((dataset, model)) is False:
        cost = costs(evidence, dataset)[model, without_image(evidence, dataset), *ACCURACY]
        difference = blind.change(cost.difference, cost._asdict())
        reasons.append(f"is not shown to lose accuracy without the image ({difference})")
    baseline = baselines(evidence).get(dataset)
    if baseline is not None and model not in baseline.beaten_by:
        text = f"is not shown to beat {baseline.model}, a language model"
        if evidence.is_mixed(dataset):
            text += f", on the {baseline.questions}"
        if pair := baseline.pairs.get(model):
            text += f" ({blind.change(pair['difference'], pair)})"
        reasons.append(text)
    return " and ".join(reasons)


ADDED = {"dont_know_rate": (DONT_KNOW, "“I don’t know”"), "none_rate": (NONE_OF_ABOVE, "“None of the above”")}
"""Metric -> the option, added by a prompt template, whose choices it counts: its role and its text."""


def added_options(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    """The texts of the options that the prompt template added to those of a dataset."""
    known, outcomes = evidence.metrics(dataset), evidence.outcomes
    chosen = set(outcomes["chosen"][outcomes["dataset"] == dataset].dropna())
    return tuple(words for metric, (role, words) in ADDED.items() if metric in known or role in chosen)


def added_shares(evidence: Evidence, dataset: str, variation: str) -> dict[str, tuple[float, ...]]:
    """By model, the shares of its answers to a variation that choose each of the added options."""
    frame = evidence.of_first_output(evidence.outcomes)
    frame = frame[(frame["dataset"] == dataset) & (frame["variation"] == variation)]
    return {
        str(model): tuple(float((own["chosen"] == role).mean()) for role, _ in ADDED.values())
        for model, own in frame.groupby("model")
    }


def without_image(evidence: Evidence, dataset: str) -> str:
    """The variation of a dataset that takes the image away; if none was asked, the first of WITHOUT_IMAGE."""
    return next((name for name in WITHOUT_IMAGE if name in evidence.variations(dataset)), WITHOUT_IMAGE[0])


@once
def miscalibrated(evidence: Evidence) -> dict[tuple[str, str], Claim]:
    """Fitted temperatures that differ from 1, by dataset and model."""
    tried = {
        (name, model): difference_claim(n.value, n.low, n.high, evidence.groups(name), 1.0)
        for name in evidence.datasets
        for model, n in evidence.numbers(name, "temperature").items()
    }
    return significant(tried)


@once
def overused_letters(evidence: Evidence) -> dict[tuple[str, str, str], Claim]:
    """Letters that are chosen more often than they are correct, by dataset, model and letter."""
    tried = {}
    for name in evidence.datasets:
        for metric in evidence.metrics(name):
            letter = metric.removeprefix(CHOSEN)
            right = evidence.numbers(name, RIGHT + letter) if letter != metric else {}
            for model, share in right.items():
                if share.value and (chosen := evidence.number(name, model, metric)):
                    tried[name, model, letter] = _apart(chosen, share, evidence.groups(name))
    return {place: claim for place, claim in significant(tried).items() if claim.above}


@once
def differing_outputs(evidence: Evidence) -> dict[tuple[str, str], Claim]:
    """Significant differences between the best and the worst request type, by dataset and model."""
    tried = {}
    for name in evidence.datasets:
        for model in evidence.models(name):
            every = [evidence.number(name, model, "accuracy", output=each) for each in evidence.outputs(name)]
            found = sorted((n for n in every if n), key=lambda number: number.value)
            if len(found) > 1:
                tried[name, model] = _apart(found[-1], found[0], evidence.groups(name))
    return significant(tried)


def _apart(first: Number, second: Number, groups: int) -> Claim:
    """A difference, with the interval for answers to different questions; for the same questions it is
    shorter."""
    gap = first.value - second.value
    if None in (first.low, first.high, second.low, second.high):
        return difference_claim(gap, None, None, groups)
    down = hypot(first.value - first.ends[0], second.ends[1] - second.value)
    up = hypot(first.ends[1] - first.value, second.value - second.ends[0])
    return difference_claim(gap, gap - down, gap + up, groups)


@once
def _above_chance(evidence: Evidence) -> dict[tuple[str, str], Claim]:
    """By dataset and model, the claim that accuracy is above chance."""
    tried = {
        (name, model): share_claim(n.value, n.low, n.high, evidence.groups(name), evidence.chance(name))
        for name in evidence.datasets
        for model, n in evidence.numbers(name, "accuracy").items()
        if model in evidence.candidates(name)
    }
    return {place: claim for place, claim in significant(tried).items() if claim.above}


def above_chance(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    """The models that beat guessing, best accuracy first."""
    found = _above_chance(evidence)
    return tuple(model for model in evidence.candidates(dataset) if (dataset, model) in found)


MOST_CHOSEN = 4
"""Most models that get a panel, a line or a sentence of their own."""


def chosen(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    """All models if they are few; else the best and the worst by accuracy and by calibration, of those that
    see if there are any."""
    models = evidence.models(dataset)
    if len(models) <= MOST_CHOSEN:
        return models
    models = tuple(model for model in models if not evidence.is_blind(dataset, model)) or models
    errors = {m: number.value for m in models if (number := evidence.number(dataset, m, "ece"))}
    extremes = [models[0], models[-1]]
    if errors:
        extremes += [min(errors, key=lambda m: (errors[m], m)), max(errors, key=lambda m: (errors[m], m))]
    return tuple(m for m in models if m in extremes)

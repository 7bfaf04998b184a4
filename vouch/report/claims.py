"""What the report may say: the claims of each kind that pass the gates (vouch/report/gates.py)."""

from collections import Counter
from functools import lru_cache
from math import hypot
from typing import Literal

import numpy as np
import pandas as pd

from vouch.metrics.comparison.resampling import questions_for
from vouch.metrics.conformal.selective import SURE, Alone, alone
from vouch.metrics.intervals import mean_interval
from vouch.metrics.letter_mass import LOW_MASS_RATE
from vouch.metrics.robustness.image_information import WITHOUT
from vouch.report import formatting
from vouch.report.costs import ACCURACY, costs, real_changes
from vouch.report.evidence import Evidence
from vouch.report.gates import MINIMUM, Claim, found_by, held, least_over, of_gap, of_paired, of_share
from vouch.report.numbers import Number
from vouch.tables.prompts import TEXT

LEAST = 0.01
"""A loss that may be smaller is no news."""
USEFUL = 0.1
"""A difference that is worth asking more questions for."""
FEW = 0.05
"""Share of the answers that may be wrong where a model answers alone."""
Guarantee = Literal["kept", "broken", "cannot tell"]
TRANSFER = ("output", "from_model", "from_dataset", "model", "dataset", "weighting")
CHOSEN, RIGHT = "chosen_share_", "right_share_"
once = lru_cache(maxsize=2)
"""Claims of a kind are found all together: they are corrected for each other."""


@once
def better_than_a_guess(evidence: Evidence) -> dict[tuple[str, str], Claim]:
    """By dataset and model."""
    tried = {
        (name, model): of_share(n.value, n.low, n.high, evidence.groups(name), evidence.chance(name))
        for name in evidence.datasets
        for model, n in evidence.numbers(name, "accuracy").items()
        if model in evidence.candidates(name)
    }
    return {place: claim for place, claim in held(tried).items() if claim.above}


def able(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    """The models that are better than a guess, best accuracy first."""
    found = better_than_a_guess(evidence)
    return tuple(model for model in evidence.candidates(dataset) if (dataset, model) in found)


def behind(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    """The models that are worse than the best of those that are able."""
    best = next(iter(able(evidence, dataset)), "")
    pairs = {model: evidence.pair(dataset, best, model) for model in evidence.candidates(dataset)}
    return tuple(m for m, pair in pairs.items() if pair and pair.significant and pair.difference > 0)


def leaders(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    """The best model, and those with it that are better than a guess and not worse."""
    worse = behind(evidence, dataset)
    return tuple(model for model in able(evidence, dataset) if model not in worse)


def is_alone(evidence: Evidence, dataset: str) -> bool:
    """Whether all other models are worse than the best."""
    return len(behind(evidence, dataset)) == len(evidence.candidates(dataset)) - 1


def shown(evidence: Evidence, dataset: str) -> str:
    """The model that stands for all where one is shown: the first of the leaders, else of the models."""
    return (leaders(evidence, dataset) or evidence.models(dataset))[0]


def preferred(evidence: Evidence) -> str | None:
    """The model that leads on most datasets, on the larger ones where several do; None where none leads."""
    wins = Counter(model for name in evidence.datasets for model in leaders(evidence, name))
    return max(wins, key=lambda model: wins[model]) if wins else None


def untold(evidence: Evidence, dataset: str) -> str:
    """Why nothing is said of a dataset; empty where a model leads."""
    if not evidence.candidates(dataset):
        return "no model answers in a form that can be scored"
    if evidence.is_small(dataset):
        return f"too small to tell: {over_a_guess(evidence, dataset)}"
    return "" if leaders(evidence, dataset) else "none is shown to be better than a guess"


def worth(evidence: Evidence, dataset: str) -> tuple[str, str]:
    """What the questions of a dataset find over a guess, and how many would find what is USEFUL."""
    effect, points = _least(evidence, dataset), f"{100 * USEFUL:g} points over a guess"
    needed = questions_for(USEFUL, evidence.asked(dataset), effect)
    step = 10 ** max(int(np.log10(max(needed, 1))) - 1, 0)
    enough = f"About {formatting.count(int(np.ceil(needed / step) * step))} would"
    return over_a_guess(evidence, dataset), f"{'These' if effect <= USEFUL else enough} show {points}"


def over_a_guess(evidence: Evidence, dataset: str) -> str:
    """`24 questions find 28 points`: what a dataset would show of one of its models."""
    room = 1 - _chance(evidence, dataset)
    return found_by(evidence.asked(dataset), evidence.groups(dataset), _least(evidence, dataset), room)


def _chance(evidence: Evidence, dataset: str) -> float:
    return evidence.chance(dataset) or 0.5


def _least(evidence: Evidence, dataset: str) -> float:
    tried = {dataset, *evidence.large}
    claims = sum(len(evidence.candidates(name)) for name in tried)
    return least_over(_chance(evidence, dataset), evidence.groups(dataset), claims)


@once
def effects(evidence: Evidence) -> dict[tuple[str, str, str], Claim]:
    """Losses and gains of accuracy by dataset, model and variation, of models that beat a guess."""
    tried = {}
    for name in evidence.datasets:
        found = costs(evidence, name)
        for model in able(evidence, name):
            for change in real_changes(found):
                if cost := found.get((model, change, *ACCURACY)):
                    groups = min(evidence.groups(name), cost.items)
                    tried[name, model, change] = of_paired(
                        cost.difference, cost.low, cost.high, groups, cost.eased
                    )
    return held(tried)


def losses(evidence: Evidence, dataset: str, model: str) -> tuple[str, ...]:
    """The variations that cost a model accuracy beyond what they cost a guess, the costliest first."""
    found = {
        change: claim.estimate - claim.null
        for (where, who, change), claim in effects(evidence).items()
        if (where, who) == (dataset, model) and not claim.above
    }
    return tuple(sorted(found, key=lambda change: (found[change], change)))


@once
def _coverages(evidence: Evidence) -> dict[tuple[str, str, str], Claim]:
    """Coverage of LAC sets against its target by dataset, model and variation."""
    tried = {}
    for name in evidence.datasets:
        for change in evidence.variations(name):
            metric = "coverage" if change == evidence.variations(name)[0] else "shift_coverage"
            for model, n in evidence.numbers(name, metric, "lac", variation=change).items():
                if evidence.calibrated(name, model):
                    groups = min(evidence.groups(name), n.items)
                    tried[name, model, change] = of_share(n.value, n.low, n.high, groups, evidence.target)
    return held(tried)


@once
def transferred(evidence: Evidence) -> dict[tuple[str, ...], Claim]:
    """Coverage by thresholds of another dataset or model against its target, by the columns TRANSFER."""
    tried = {}
    for row in evidence.transfer.dropna(subset=["coverage"]).to_dict("records"):
        home = row["from_model"] == row["model"] and row["from_dataset"] == row["dataset"]
        if not home and {row["dataset"], row["from_dataset"]} <= set(evidence.large):
            groups = min(evidence.groups(row["dataset"]), row["items"])
            claim = of_share(row["coverage"], row["low"], row["high"], groups, evidence.target)
            tried[tuple(str(row[name]) for name in TRANSFER)] = claim
    return held(tried)


def guarantee(evidence: Evidence, dataset: str, model: str, variation: str = "") -> Guarantee:
    """What becomes of the coverage guarantee: in a variation, with the thresholds of the original."""
    claim = _coverages(evidence).get((dataset, model, variation or evidence.variations(dataset)[0]))
    return "cannot tell" if claim is None else "kept" if claim.above else "broken"


@once
def answers_alone(evidence: Evidence) -> dict[tuple[str, str], Alone]:
    """By dataset and model, what may be answered alone with at most a share FEW wrong.

    All hold together with probability SURE: each is shown at the level that Bonferroni leaves of it.
    """
    places = [(name, model) for name in evidence.large for model in evidence.candidates(name)]
    sure, found = 1 - (1 - SURE) / max(len(places), 1), {}
    for name, model in places:
        frame = evidence.plain_outcomes(name).dropna(subset=["clean_correct", "confidence"])
        own = frame[frame["model"] == model]
        groups = np.unique(own["group"].to_numpy(str), return_inverse=True)[1]
        rows = own["confidence"].to_numpy(float), own["clean_correct"].to_numpy(float), groups
        shown = alone(*rows, FEW, sure, evidence.scoring.seed)
        if shown.answered:
            found[name, model] = shown
    return found


@once
def overconfident(evidence: Evidence, model: str) -> dict[str, tuple[Claim, int]]:
    """By dataset: accuracy of a model's surest answers that is below the confidence in them; their number.

    These are in the last bin of the reliability diagram; where they are too few all answers stand for them.
    """
    tried, answers = {}, {}
    for name in evidence.datasets:
        if model not in evidence.candidates(name) or evidence.outputs(name)[0] == TEXT:
            continue  # of a text it is the confidence in a token
        frame = evidence.plain_outcomes(name)
        own = frame[frame["model"] == model].dropna(subset=["confidence", "clean_correct"])
        sure = own[own["confidence"] >= 1 - 1 / evidence.scoring.bins]
        for chosen in (sure, own):
            claim = _of_answers(chosen)
            if claim and claim.groups >= MINIMUM:
                tried[name], answers[name] = claim, len(chosen)
                break
    return {name: (claim, answers[name]) for name, claim in held(tried).items() if not claim.above}


@once
def unsaid(evidence: Evidence, model: str) -> dict[str, Claim]:
    """By dataset: the share of a model's answers that would begin with no letter, where it is over LEAST."""
    tried = {}
    for name in evidence.large:
        rate = evidence.number(name, model, LOW_MASS_RATE)
        if rate is not None and model in evidence.candidates(name):
            groups = min(evidence.groups(name), rate.items)
            tried[name] = of_share(rate.value, rate.low, rate.high, groups, LEAST)
    return {name: claim for name, claim in held(tried).items() if claim.above}


def _of_answers(frame: pd.DataFrame) -> Claim | None:
    """Accuracy of some answers against their mean confidence; None without any."""
    if frame.empty:
        return None
    groups = pd.factorize(frame["group"])[0]
    right = frame["clean_correct"].to_numpy(np.float64)
    low, high = mean_interval(right, groups)
    stated = float(frame["confidence"].mean())
    return of_share(float(right.mean()), low, high, int(groups.max()) + 1, stated)


@once
def picture_claims(evidence: Evidence) -> dict[tuple[str, str, str], Claim]:
    """By dataset, model and kind: `loss`, the change of accuracy without the picture, on the same questions;
    `blind`, right answers without it beside a guess."""
    tried = {}
    for name in evidence.datasets:
        change, found = without_picture(evidence, name), costs(evidence, name)
        for model in evidence.candidates(name):
            if cost := found.get((model, change, *ACCURACY)):
                groups = min(evidence.groups(name), cost.items)
                tried[name, model, "loss"] = of_paired(cost.difference, cost.low, cost.high, groups)
                blind = evidence.number(name, model, "accuracy", variation=change)
                if blind is not None and (chance := evidence.chance(name)):
                    tried[name, model, "blind"] = of_share(blind.value, blind.low, blind.high, groups, chance)
    return held(tried)


def without_picture(evidence: Evidence, dataset: str) -> str:
    """The variation of a dataset that takes the picture away; one of WITHOUT that was not asked else."""
    return next((name for name in WITHOUT if name in evidence.variations(dataset)), WITHOUT[0])


@once
def misjudged(evidence: Evidence) -> dict[tuple[str, str], Claim]:
    """Temperatures that are not 1, by dataset and model."""
    tried = {
        (name, model): of_gap(n.value, n.low, n.high, evidence.groups(name), 1.0)
        for name in evidence.datasets
        for model, n in evidence.numbers(name, "temperature").items()
    }
    return held(tried)


@once
def overused(evidence: Evidence) -> dict[tuple[str, str, str], Claim]:
    """Letters that are chosen more often than they are right, by dataset, model and letter."""
    tried = {}
    for name in evidence.datasets:
        for letter in (
            each.removeprefix(CHOSEN) for each in evidence.metrics(name) if each.startswith(CHOSEN)
        ):
            right = evidence.numbers(name, RIGHT + letter)
            for model, chosen in evidence.numbers(name, CHOSEN + letter).items():
                if model in right and right[model].value:
                    tried[name, model, letter] = _apart(chosen, right[model], evidence.groups(name))
    return {place: claim for place, claim in held(tried).items() if claim.above}


@once
def outputs_apart(evidence: Evidence) -> dict[tuple[str, str], Claim]:
    """Accuracies by the best output that differ from those by the worst one, by dataset and model."""
    tried = {}
    for name in evidence.datasets:
        for model in evidence.models(name):
            every = [evidence.number(name, model, "accuracy", output=each) for each in evidence.outputs(name)]
            found = sorted((n for n in every if n), key=lambda number: number.value)
            if len(found) > 1:
                tried[name, model] = _apart(found[-1], found[0], evidence.groups(name))
    return held(tried)


def _apart(first: Number, second: Number, groups: int) -> Claim:
    """A difference, as if the two were of different questions: of the same ones its interval is shorter."""
    gap = first.value - second.value
    if None in (first.low, first.high, second.low, second.high):
        return of_gap(gap, None, None, groups)
    down = hypot(first.value - first.ends[0], second.ends[1] - second.value)
    up = hypot(first.ends[1] - first.value, second.value - second.ends[0])
    return of_gap(gap, gap - down, gap + up, groups)

"""The tiles of the first page: a question, its answer in a few words, and why.

The first tile is the worst news about the preferred model. News about the original prompts comes before news
about variations; within each, the largest loss comes first, measured at the favourable end of its interval.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from vouch.metrics.conformal.selective import SURE, TOLERATED
from vouch.metrics.unranked import LOW_MASS_RATE
from vouch.report import blind, formatting
from vouch.report.claims import (
    NEGLIGIBLE,
    Guarantee,
    above_chance,
    accuracy_with_image,
    added_options,
    added_shares,
    answers_alone,
    baselines,
    detectable_effect,
    doubts,
    effects,
    guarantee,
    image_claims,
    leaders,
    low_letter_mass,
    once,
    overconfident,
    preferred,
    questions_needed,
    without_image,
)
from vouch.report.costs import ACCURACY, costs, named, real_changes
from vouch.report.evidence import Evidence
from vouch.report.gates import MINIMUM, SIGNIFICANCE
from vouch.tables.asked import TEXT


class News(NamedTuple):
    """points: the loss that is shown, 0 to 1. variation: empty if the news is about the original prompts."""

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


def worst_first(evidence: Evidence) -> tuple[str, ...]:
    """The datasets, the one with the worst news first."""
    first = [one.dataset for one in news(evidence)[:1]]
    return (*first, *(name for name in evidence.datasets if name not in first))


def _overconfidence(evidence: Evidence, model: str) -> Iterator[News]:
    for dataset, (claim, answers) in overconfident(evidence, model).items():
        every = int((evidence.plain_outcomes(dataset)["model"] == model).sum())
        which = "all" if answers == every else f"the {formatting.count(answers)} most confident of"
        stated, correct = formatting.percent(claim.null, 0), formatting.percent(claim.estimate, 0)
        yield News(
            claim.at_least,
            dataset,
            "",
            f"Overconfident: {stated} confident, {correct} correct ({dataset})",
            f"In {which} {formatting.count(every)} answers on {dataset}, the mean confidence of {model} is "
            f"{stated}, but {formatting.percent(claim.estimate)} of them are correct"
            f"{formatting.bracketed(claim.low, claim.high, 1, 100)}.",
        )


def _letters(evidence: Evidence, model: str) -> Iterator[News]:
    for dataset, claim in low_letter_mass(evidence, model).items():
        share = formatting.percent(claim.estimate, 0)
        yield News(
            claim.low,
            dataset,
            "",
            f"Would not begin {share} of its answers with a letter ({dataset})",
            f"In {share} of its prompts{formatting.bracketed(claim.low, claim.high, 0, 100)}, most of the "
            f"first token's probability is not on option letters: what is scored there is not what {model} "
            "would answer.",
        )


def _variations(evidence: Evidence, model: str) -> Iterator[News]:
    for (dataset, who, change), claim in effects(evidence).items():
        if who != model or claim.above:
            continue
        cost = costs(evidence, dataset)[model, change, *ACCURACY]
        if cost.guess is not None:  # guessing became easier or harder, so points would mislead
            lost = "no better than guessing" if cost.value <= cost.guess else "closer to guessing"
            why = (
                f"With this variation {model} answers {formatting.percent(cost.value)} of "
                f"{formatting.plural(cost.items, 'question')} on {dataset} correctly, where guessing gives "
                f"{formatting.percent(cost.guess, 0)}; on the original prompts "
                f"{formatting.percent(cost.original)}, where guessing gives "
                f"{formatting.percent(1 - cost.guess, 0)}."
            )
        else:
            lost = f"{formatting.number(-100 * cost.difference, 1)} points lost"
            why = (
                f"With this variation {model} answers {formatting.percent(cost.value)} of "
                f"{formatting.plural(cost.items, 'question')} on {dataset} correctly, on the original "
                f"prompts {formatting.percent(cost.original)}: a loss of "
                f"{formatting.span(-claim.high, -claim.low, 1, 100)} points."
            )
        name = named(change)
        yield News(claim.at_least, dataset, change, f"{name[:1].upper()}{name[1:]}: {lost}", why)


FIRST = "What should you know first?"
ENOUGH = "How many questions would be enough?"
CERTAIN = "How certain is it?"
BREAKS = "Which variation hurts?"
VERDICTS: dict[Guarantee, str] = {"kept": "Yes", "broken": "No, it is broken", "unclear": "Unclear"}
ALONE = "How much can it answer alone?"
DIFFERENCES = "Which models differ?"
LOOKS = "Does it use the image?"


@dataclass(frozen=True)
class Card:
    """question: the heading. answer: a few words. why: one or two sentences. page: the one with details."""

    question: str
    answer: str
    why: str
    page: str = "models"


def summary_cards(evidence: Evidence, model: str | None, dataset: str) -> tuple[Card, ...]:
    """All tiles, about the preferred model on one dataset; the last four only if they say something."""
    if model is None:
        return _nothing(evidence, dataset)
    worst = next(iter(news(evidence)), None)
    return (
        _worst(evidence, model, worst),
        _certainty(evidence, model, dataset),
        *_looks(evidence, model, dataset),
        *(() if worst and worst.variation else _breaks(evidence, model)),
        *_alone(evidence, model, dataset),
        *_differences(evidence, model),
    )


def _nothing(evidence: Evidence, dataset: str) -> tuple[Card, ...]:
    """Why no model is recommended, and how many questions would be enough, if none is better than a guess."""
    if not evidence.candidates(dataset):
        return ()
    if not evidence.is_small(dataset) and (accurate := above_chance(evidence, dataset)):
        return _unseeing(evidence, accurate[0], dataset)
    now = detectable_effect(evidence, dataset)
    if evidence.is_small(dataset):
        groups = evidence.groups(dataset)
        counting = " (copies of a question, and questions about the same image, count once)"
        why = (
            f"No model is recommended on fewer than {MINIMUM} independent questions, however well it does; "
            f"{dataset} has {groups}{counting if groups < evidence.questions(dataset) else ''}."
        )
    else:
        why = (
            f"Models that are not shown to beat guessing are not compared (p < {SIGNIFICANCE:g}, "
            "corrected for all models and datasets)."
        )
    first = Card(FIRST, "No model is recommended", why)
    why = f"On {dataset}, {now}"
    why += " over guessing; a smaller lead is often missed." if now.endswith("points") else "."
    return (first, Card(ENOUGH, questions_needed(evidence, dataset), why, "datasets"))


def _unseeing(evidence: Evidence, model: str, dataset: str) -> tuple[Card, ...]:
    """That the most accurate model is better than a guess, but not shown to need the image."""
    why = (
        "A model is recommended only if it is shown to use the image: its accuracy drops without the image, "
        "and it beats language models, as far as these were tested."
    )
    first = Card(FIRST, "No model is recommended", why, "variations")
    loss = image_claims(evidence).get((dataset, model, "loss"))
    if loss is not None and loss.above:
        return (first, *_looks(evidence, model, dataset))
    reason = f"On {dataset}, {model} {doubts(evidence, dataset, model)}."
    baseline = baselines(evidence).get(dataset)
    text = f" {blind.answered(dataset, baseline)}" if baseline else ""
    return (first, Card(LOOKS, "Not shown", reason + text, "variations"))


def _worst(evidence: Evidence, model: str, worst: News | None) -> Card:
    if worst:
        page = "variations" if worst.variation else "calibration"
        return Card(FIRST, worst.answer, worst.why + _shift(evidence, model, worst), page)
    measured = {
        "overconfidence": any(evidence.outputs(name)[0] != TEXT for name in evidence.large),
        "answers that do not begin with a letter": any(
            evidence.number(name, model, LOW_MASS_RATE) for name in evidence.large
        ),
        "a variation that costs accuracy": bool(_tried(evidence, model)),
    }
    tested, missing = ([what for what, done in measured.items() if done == which] for which in (True, False))
    why = (
        f"Tested but not significant: {formatting.listed(tested)} (p < {SIGNIFICANCE:g} after correction, on "
        f"at least {MINIMUM} questions)."
    )
    if missing:
        why += f" Not measured: {formatting.listed(missing)}."
    return Card(FIRST, "No bad news", why)


def _certainty(evidence: Evidence, model: str, dataset: str) -> Card:
    """The size of a model's prediction sets, and whether they keep their target."""
    size = evidence.number(dataset, model, "set_size", "lac")
    coverage = evidence.number(dataset, model, "coverage", "lac")
    if size is None or coverage is None:
        return Card(CERTAIN, "Not measured", f"{model} has no prediction sets on {dataset}.")
    if not evidence.calibrated(dataset, model):
        why = (
            f"{dataset} has too few questions to calibrate: in some splits, every set contains every option."
        )
        return Card(CERTAIN, "Too small to tell", why)
    why = (
        f"A set contains the options that {model} cannot rule out. Is the coverage target of "
        f"{formatting.percent(evidence.target, 0)} kept? {VERDICTS[guarantee(evidence, dataset, model)]}"
        f"{formatting.bracketed(coverage.low, coverage.high, 1, 100)}"
    )
    verdicts = Counter(
        guarantee(evidence, name, each)
        for name in evidence.large
        for each in evidence.numbers(name, "coverage", "lac")
        if each in evidence.candidates(name) and evidence.calibrated(name, each)
    )
    if verdicts.total() > 1:
        why += (
            f"; over {verdicts.total()} combinations of model and dataset, it is shown to be kept in "
            f"{verdicts['kept']} and broken in {verdicts['broken']}"
        )
    outcomes = evidence.plain_outcomes(dataset)
    sizes = outcomes.loc[outcomes["model"] == model, "clean_size_lac"].dropna()
    why += "."
    if len(sizes):
        # Sizes are means over splits; above 1.5, two options are the more common size.
        share = formatting.percent(float((sizes > 1.5).mean()), 0)
        why += f" For {share} of the questions, the set has more than one option."
    answer = (
        f"{formatting.number(size.value, 2)} options in a set, {formatting.percent(coverage.value)} coverage "
        f"({dataset})"
    )
    return Card(CERTAIN, answer, why)


def _looks(evidence: Evidence, model: str, dataset: str) -> tuple[Card, ...]:
    """The accuracy with and without the image, and beside the blind baseline; nothing if neither differs."""
    claims, change = image_claims(evidence), without_image(evidence, dataset)
    loss, guessed = (claims.get((dataset, model, kind)) for kind in ("loss", "blind"))
    baseline = baselines(evidence).get(dataset)
    if baseline is not None and model not in baseline.beaten_by:
        baseline = None
    beside = f"{blind.answered(dataset, baseline)} {_lead(model, baseline)}" if baseline else ""
    if loss is None:
        return (_beside_the_blind(evidence, model, dataset, beside),) if baseline else ()
    cost = costs(evidence, dataset)[model, change, *ACCURACY]
    with_it, without = (formatting.percent(share, 0) for share in (cost.original, cost.value))
    low, high = sorted(abs(end) for end in (cost.low, cost.high) if end is not None)
    points = f"{formatting.number(100 * abs(cost.difference), 1)}{formatting.bracketed(low, high, 1, 100)}"
    moves = "gains" if loss.above else "loses"
    where = dataset
    if evidence.is_mixed(dataset):
        where = f"the {formatting.plural(cost.items, 'question')} with an image of {dataset}"
    why = f"Without the image it {moves} {points} points of accuracy on {where}"
    guess = evidence.chance_with_image(dataset)
    why += f"; guessing gives {formatting.percent(guess, 0)}." if guess else "."
    given_up = sum(added_shares(evidence, dataset, change).get(model, (0.0,)))
    if given_up >= NEGLIGIBLE:
        why += (
            f" {formatting.percent(given_up, 0)} of its answers without the image are "
            f"{' or '.join(added_options(evidence, dataset))}, which the prompt template adds."
        )
    if guessed is not None and guessed.above:
        why += " It is shown to beat guessing with the text alone."
    why += f" {beside}" if beside else ""
    answer = f"{'It misleads' if loss.above else 'Yes'}: {with_it} correct with it, {without} without"
    return (Card(LOOKS, answer, why, "variations"),)


def _lead(model: str, baseline: blind.Baseline) -> str:
    pair = baseline.pairs[model]
    return f"{model} beats it by {blind.points(pair['difference'], pair)}."


def _beside_the_blind(evidence: Evidence, model: str, dataset: str, why: str) -> Card:
    """If the image was not taken away: what the baseline alone says, which is not that the model looks."""
    accuracy, baseline = accuracy_with_image(evidence, dataset, model), baselines(evidence)[dataset]
    own = formatting.percent(accuracy.value, 0) if accuracy else ""
    text = formatting.percent(baseline.accuracy["value"], 0)
    return Card(LOOKS, f"Beats the language model: {own} correct, the other {text}", why, "variations")


def _breaks(evidence: Evidence, model: str) -> tuple[Card, ...]:
    """The variation that significantly costs the most accuracy on any dataset; nothing if none was asked."""
    tried = _tried(evidence, model)
    if not tried:
        return ()
    bad = [one for one in news(evidence) if one.variation]
    every = formatting.plural(len(tried), "variation")
    if not bad:
        why = f"None of {every} of the prompt is shown to lower the accuracy of {model}."
        return (Card(BREAKS, "None shown", why, "variations"),)
    why = bad[0].why + _shift(evidence, model, bad[0])
    several = len({one.variation for one in bad})
    if several > 1:
        why += f" {several} of {every} are shown to cost accuracy."
    return (Card(BREAKS, bad[0].answer, why, "variations"),)


def _tried(evidence: Evidence, model: str) -> set[str]:
    """The variations in which a model was asked, on the datasets on which it leads."""
    return {
        change
        for name in evidence.large
        for found in [costs(evidence, name)]
        for change in real_changes(found)
        if model in leaders(evidence, name) and (model, change, *ACCURACY) in found
    }


def _shift(evidence: Evidence, model: str, one: News) -> str:
    """The coverage of sets calibrated on the original prompts, if a variation breaks it."""
    if not one.variation or guarantee(evidence, one.dataset, model, one.variation) != "broken":
        return ""
    held = evidence.number(one.dataset, model, "shift_coverage", "lac", variation=one.variation)
    return (
        f" Sets calibrated on the original prompts then cover only {formatting.percent(held.value, 0)}."
        if held
        else ""
    )


def _alone(evidence: Evidence, model: str, dataset: str) -> tuple[Card, ...]:
    """The share of questions that a model can answer without a person; nothing if there is none."""
    share = answers_alone(evidence).get((dataset, model))
    if share is None:
        return ()
    answer = f"{formatting.percent(share.answered, 0)} of the questions ({dataset})"
    why = (
        f"{model} can answer these alone with at most {formatting.percent(TOLERATED, 0)} errors. The "
        f"statement holds with {formatting.percent(SURE, 0)} confidence for all models and datasets "
        f"together. Questions with a confidence below {formatting.percent(share.threshold)} go to a person."
    )
    return (Card(ALONE, answer, why, "calibration"),)


def _differences(evidence: Evidence, model: str) -> tuple[Card, ...]:
    """How many pairs of models differ significantly, and which models are tied with this one."""
    every = evidence.comparisons.frame["p_holm"].dropna()
    if every.empty:
        return ()
    apart = int((every < SIGNIFICANCE).sum())
    answer = (
        f"All {formatting.count(apart)} comparisons"
        if apart == len(every) > 1
        else f"{formatting.count(apart)} of {formatting.plural(len(every), 'comparison')}"
    )
    tied = {
        name: [other for other in leaders(evidence, name) if other != model]
        for name in evidence.large
        if model in leaders(evidence, name)
    }
    ties = [f"{formatting.listed(others)} on {name}" for name, others in tied.items() if others]
    why = (
        f"Significant by accuracy on the same questions, p < {SIGNIFICANCE:g} after correction for all pairs."
    )
    if ties:
        more = f"; it is also tied on {len(ties) - 2} more" if len(ties) > 2 else ""
        why += f" {model} is tied with {' and with '.join(ties[:2])}{more}."
    return (Card(DIFFERENCES, answer, why, "ranking"),)

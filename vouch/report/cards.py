"""The tiles of the first page: a question, its answer in a few words, and why.

All are about one dataset (leaders.lead_dataset), which the headline names; a tile that speaks of another one
names it. The first tile is the worst news about the preferred model there, the second the worst news
elsewhere (news.py).
"""

from dataclasses import dataclass

from vouch.metrics.conformal.selective import SURE, TOLERATED, WRONG
from vouch.metrics.unranked import LOW_MASS_RATE
from vouch.report import blind, formatting
from vouch.report.claims import (
    ANSWERED_ALONE,
    NEGLIGIBLE,
    above_chance,
    accuracy_with_image,
    added_options,
    added_shares,
    answers_alone,
    baselines,
    doubts,
    errors_elsewhere,
    image_claims,
    without_image,
)
from vouch.report.costs import ACCURACY, costs, real_changes
from vouch.report.coverage import counted, coverage_verdict, in_words
from vouch.report.evidence import Evidence
from vouch.report.gates import MINIMUM, SIGNIFICANCE
from vouch.report.leaders import lead_with_enough, leaders, questions_needed
from vouch.report.news import News, news
from vouch.tables.asked import TEXT

FIRST = "What should you know first?"
ELSEWHERE = "And on the other datasets?"
ENOUGH = "How many questions would be enough?"
CERTAIN = "How certain is it?"
BREAKS = "Which variation hurts?"
ALONE = "How much can it answer alone?"
DIFFERENCES = "Which models differ?"
LOOKS = "Does it use the image?"
TO_A_PERSON = "every question goes to a person"


@dataclass(frozen=True)
class Card:
    """question: the heading. answer: a few words. why: one or two sentences. page: the one with details."""

    question: str
    answer: str
    why: str
    page: str = "models"


def summary_cards(evidence: Evidence, model: str | None, dataset: str) -> tuple[Card, ...]:
    """All tiles, about the preferred model on one dataset. Left out are those on what was not measured."""
    if model is None:
        return _nothing(evidence, dataset)
    here = [one for one in news(evidence) if one.dataset == dataset]
    return (
        _worst(evidence, model, dataset, here),
        *_elsewhere(evidence, model, dataset),
        _certainty(evidence, model, dataset),
        *_looks(evidence, model, dataset),
        *(() if here and here[0].variation else _breaks(evidence, model, dataset, here)),
        *_alone(evidence, model, dataset),
        *_differences(evidence, model),
    )


def _nothing(evidence: Evidence, dataset: str) -> tuple[Card, ...]:
    """Why no model is recommended, and how many questions would be enough, if none is better than a guess."""
    why = f"No model is recommended, so {TO_A_PERSON}.{_one_by_one(evidence)}"
    alone = Card(ALONE, "None", why, "calibration")
    if not evidence.candidates(dataset):
        return (alone,)
    if not evidence.is_small(dataset) and (accurate := above_chance(evidence, dataset)):
        return (*_unseeing(evidence, accurate[0], dataset), alone)
    if evidence.is_small(dataset):
        groups = evidence.groups(dataset)
        counting = " (copies of a question, and questions about the same image, count once)"
        why = (
            f"No model is recommended on fewer than {MINIMUM} independent questions, however well it does. "
            f"Here there are {groups}{counting if groups < evidence.questions(dataset) else ''}."
        )
    else:
        why = (
            f"Models that are not shown to beat guessing are not compared (p < {SIGNIFICANCE:g}, "
            "corrected for all models and datasets)."
        )
    first = Card(FIRST, "No model is recommended", why)
    now = lead_with_enough(evidence, dataset)
    why = f"{now[:1].upper()}{now[1:]}{'; a smaller lead is often missed' if now.endswith('show') else ''}."
    if evidence.is_small(dataset):
        why = f"No lead is claimed with fewer than {MINIMUM} independent questions. {why}"
    return (first, Card(ENOUGH, questions_needed(evidence, dataset), why, "datasets"), alone)


def _one_by_one(evidence: Evidence) -> str:
    """Why the page Calibration may have shares where the tile has none; nothing if it has none either."""
    shares = (
        number.value
        for name in evidence.large
        for percent in WRONG
        for number in evidence.numbers(name, f"{ANSWERED_ALONE}{percent}").values()
    )
    if not any(shares):
        return ""
    return (
        " The shares on the page Calibration hold one by one, each for a model, a dataset and a level that "
        "were chosen beforehand."
    )


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
    reason = f"{model} {doubts(evidence, dataset, model)}."
    baseline = baselines(evidence).get(dataset)
    text = f" {blind.answered(baseline)}" if baseline else ""
    return (first, Card(LOOKS, "Not shown", reason + text, "variations"))


def _worst(evidence: Evidence, model: str, dataset: str, here: list[News]) -> Card:
    """The worst news on a dataset. here: all news there."""
    if here:
        return Card(FIRST, here[0].answer, here[0].why + _shift(evidence, model, here[0]), _page(here[0]))
    measured = {
        "overconfidence": evidence.outputs(dataset)[0] != TEXT,
        "answers that do not begin with a letter": bool(evidence.number(dataset, model, LOW_MASS_RATE)),
        "a variation that costs accuracy": bool(_tried(evidence, model, dataset)),
    }
    tested, missing = ([what for what, done in measured.items() if done == which] for which in (True, False))
    why = ""
    if tested:
        why = f"Tested and not shown: {formatting.listed(tested)} (p < {SIGNIFICANCE:g} after correction)."
    if missing:
        why += f" Not measured: {formatting.listed(missing)}."
    return Card(FIRST, f"No bad news{' here' if len(evidence.datasets) > 1 else ''}", why.strip())


def _page(one: News) -> str:
    """The page that has the details."""
    return "variations" if one.variation else "calibration"


def _elsewhere(evidence: Evidence, model: str, dataset: str) -> tuple[Card, ...]:
    """The worst news about the model on the other datasets; nothing if there is none."""
    away = [one for one in news(evidence) if one.dataset != dataset]
    if not away:
        return ()
    worst = away[0]
    places = list(dict.fromkeys(one.dataset for one in away))
    why = f"On {worst.dataset}: {worst.why}{_shift(evidence, model, worst)}".replace(": In ", ", in ", 1)
    if len(places) > 1:
        why += f" There is bad news on {formatting.listed(places[1:])} as well."
    return (Card(ELSEWHERE, f"{worst.answer} ({worst.dataset})", why, _page(worst)),)


def _certainty(evidence: Evidence, model: str, dataset: str) -> Card:
    """The size of a model's prediction sets, and whether they keep their target."""
    size = evidence.number(dataset, model, "set_size", "lac")
    coverage = evidence.number(dataset, model, "coverage", "lac")
    if size is None or coverage is None:
        return Card(CERTAIN, "Not measured", f"{model} has no prediction sets here.")
    if not evidence.calibrated(dataset, model):
        why = "There are too few questions to calibrate: in some splits, every set contains every option."
        return Card(CERTAIN, "Too small to tell", why)
    verdict = coverage_verdict(evidence, dataset, model)
    why = (
        f"A set contains the options that {model} cannot rule out. Its coverage is "
        f"{in_words(evidence, verdict, coverage.low, coverage.high)}."
    )
    verdicts = [
        coverage_verdict(evidence, name, each)
        for name in evidence.large
        for each in evidence.numbers(name, "coverage", "lac")
        if each in evidence.candidates(name) and evidence.calibrated(name, each)
    ]
    if len(verdicts) > 1:
        why += (
            f" Over the {len(verdicts)} combinations of model and dataset, coverage is "
            f"{counted(evidence, verdicts)}."
        )
    outcomes = evidence.plain_outcomes(dataset)
    sizes = outcomes.loc[outcomes["model"] == model, "clean_size_lac"].dropna()
    if len(sizes):
        # Sizes are means over splits; above 1.5, two options are the more common size.
        share = formatting.percent(float((sizes > 1.5).mean()), 0)
        why += f" For {share} of the questions, the set has more than one option."
    answer = (
        f"{formatting.number(size.value, 2)} options in a set, {formatting.percent(coverage.value)} coverage"
    )
    return Card(CERTAIN, answer, why)


def _looks(evidence: Evidence, model: str, dataset: str) -> tuple[Card, ...]:
    """The accuracy with and without the image, and beside the blind baseline; nothing if neither differs."""
    claims, change = image_claims(evidence), without_image(evidence, dataset)
    loss, guessed = (claims.get((dataset, model, kind)) for kind in ("loss", "blind"))
    baseline = baselines(evidence).get(dataset)
    if baseline is not None and model not in baseline.beaten_by:
        baseline = None
    beside = f"{blind.answered(baseline)} {_lead(model, baseline)}" if baseline else ""
    if loss is None:
        return (_beside_the_blind(evidence, model, dataset, beside),) if baseline else ()
    cost = costs(evidence, dataset)[model, change, *ACCURACY]
    with_it, without = (formatting.percent(share, 0) for share in (cost.original, cost.value))
    low, high = sorted(abs(end) for end in (cost.low, cost.high) if end is not None)
    points = f"{formatting.number(100 * abs(cost.difference), 1)}{formatting.bracketed(low, high, 1, 100)}"
    moves = "gains" if loss.above else "loses"
    where = ""
    if evidence.is_mixed(dataset):
        where = f" on the {formatting.plural(cost.items, 'question')} with an image"
    why = f"Without the image it {moves} {points} points of accuracy{where}"
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


def _breaks(evidence: Evidence, model: str, dataset: str, here: list[News]) -> tuple[Card, ...]:
    """The variation that is shown to cost the most accuracy; nothing if none was asked. here: all news on
    the dataset."""
    tried = _tried(evidence, model, dataset)
    if not tried:
        return ()
    bad = [one for one in here if one.variation]
    every = formatting.plural(len(tried), "variation")
    if not bad:
        none = f"None of {every}" if len(tried) > 1 else "The only variation"
        why = f"{none} of the prompt is {'not ' * (len(tried) == 1)}shown to lower the accuracy of {model}."
        return (Card(BREAKS, "None shown", why, "variations"),)
    why = bad[0].why + _shift(evidence, model, bad[0])
    if len(bad) > 1:
        why += f" {len(bad)} of {every} are shown to cost accuracy."
    return (Card(BREAKS, bad[0].answer, why, "variations"),)


def _tried(evidence: Evidence, model: str, dataset: str) -> tuple[str, ...]:
    """The variations in which a model was asked the questions of a dataset."""
    known = costs(evidence, dataset)
    return tuple(change for change in real_changes(known) if (model, change, *ACCURACY) in known)


def _shift(evidence: Evidence, model: str, one: News) -> str:
    """The coverage of sets calibrated on the original prompts, if a variation lowers it below the target."""
    if not one.variation or coverage_verdict(evidence, one.dataset, model, one.variation) != "below":
        return ""
    held = evidence.number(one.dataset, model, "shift_coverage", "lac", variation=one.variation)
    return (
        f" Sets calibrated on the original prompts then cover only {formatting.percent(held.value, 0)}."
        if held
        else ""
    )


def _alone(evidence: Evidence, model: str, dataset: str) -> tuple[Card, ...]:
    """The share of the questions that a model can answer without a person, on this dataset and on the others;
    nothing if no confidence is known."""
    tested = [
        name
        for name in evidence.large
        if model in evidence.candidates(name) and len(evidence.graded(name, model))
    ]
    if not tested:
        return ()
    shares = {name: of for (name, who), of in answers_alone(evidence).items() if who == model}
    errors, sure = formatting.percent(TOLERATED, 0), formatting.percent(SURE, 0)
    if not shares:
        where = "Here" if len(tested) == 1 else f"On none of {len(tested)} datasets"
        verb = f"is {model} shown" if len(tested) > 1 else f"{model} is not shown"
        why = f"{where} {verb} to keep its errors to {errors}, however confident it is: {TO_A_PERSON}."
        why += _one_by_one(evidence)
        return (Card(ALONE, "None", why, "calibration"),)
    here, others = shares.get(dataset), {name: of for name, of in shares.items() if name != dataset}
    sentences = []
    if here:
        sentences.append(
            f"{model} can answer these alone with at most {errors} errors: those with a confidence of at "
            f"least {formatting.percent(here.threshold)}. All others go to a person."
        )
    if others:
        parts = [f"{formatting.percent(of.answered, 0)} on {name}" for name, of in others.items()]
        sentences.append(f"With a threshold of its own, it is {formatting.listed(parts)}.")
    sentences.append(f"This holds with {sure} confidence for all models and datasets together.")
    none = [name for name in tested if name not in shares and name != dataset]
    if none:
        sentences.append(
            f"On {formatting.listed(none)} it is shown for no question: none may be answered alone."
        )
    if here:
        sentences += _threshold_elsewhere(evidence, model, dataset, here.threshold)
    answer = f"{formatting.percent(here.answered, 0)} of the questions" if here else "None here"
    return (Card(ALONE, answer, " ".join(sentences), "calibration"),)


def _threshold_elsewhere(evidence: Evidence, model: str, dataset: str, threshold: float) -> list[str]:
    """What the threshold of a dataset costs on the others; nothing if it keeps its promise there."""
    parts = [
        f"{formatting.percent(claim.estimate, 0)}{formatting.bracketed(claim.low, claim.high, 0, 100)} of "
        f"{formatting.plural(answers, 'answer')} are wrong on {name}"
        for name, (claim, answers) in errors_elsewhere(evidence, dataset, model, threshold).items()
    ]
    return [f"Elsewhere the same threshold lets more errors through: {formatting.listed(parts)}."] * bool(
        parts
    )


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
    where = "" if len(evidence.datasets) == 1 else " over all datasets"
    why = (
        f"Pairs of models that differ significantly in accuracy on the same questions{where} "
        f"(p < {SIGNIFICANCE:g} after correction for all pairs)."
    )
    if ties:
        more = f", and on {formatting.plural(len(ties) - 2, 'more dataset')}" if len(ties) > 2 else ""
        why += f" {model} is tied with {' and with '.join(ties[:2])}{more}."
    return (Card(DIFFERENCES, answer, why, "ranking"),)

"""The summary cards beside the verdict: a question, its answer in a few words, and why."""

from dataclasses import dataclass

from vouch.report import formatting
from vouch.report.costs import ACCURACY, beside_a_guess, costs, dearest, named, real_changes
from vouch.report.evidence import Evidence
from vouch.report.numbers import SIGNIFICANCE, Number

CERTAIN = "How certain is it?"
WEAK_SPOT = "Where is it least certain?"
BREAKS = "Which variation hurts most?"
DIFFERENCES = "Which differences are significant?"


@dataclass(frozen=True)
class Card:
    """question: what it answers. answer: a few words. why: one or two sentences. page: where to read on."""

    question: str
    answer: str
    why: str
    page: str = "models"


def summary_cards(evidence: Evidence, model: str, dataset: str) -> tuple[Card, ...]:
    """All of them, about one model on one dataset; the last two only where there is what they speak of."""
    return (
        _certainty(evidence, model, dataset),
        _weak_spot(evidence, model, dataset),
        *_breaks(evidence, model),
        *_differences(evidence, model),
    )


def _judged(evidence: Evidence, model: str) -> list[str]:
    """The datasets on which a model may be judged."""
    return [name for name in evidence.judged if model in evidence.candidates(name)]


def _met(evidence: Evidence, coverage: Number) -> bool:
    """Whether the interval of a coverage reaches the target."""
    return coverage.ends[1] >= evidence.target


def _certainty(evidence: Evidence, model: str, dataset: str) -> Card:
    """How large its sets are, and whether their coverage reaches the target."""
    size = evidence.number(dataset, model, "set_size", "lac")
    coverage = evidence.number(dataset, model, "coverage", "lac")
    if size is None or coverage is None:
        return Card(CERTAIN, "Not measured", f"There are no prediction sets of {model} on {dataset}.")
    why = (
        f"A set holds the options it cannot rule out on {dataset}. Target coverage "
        f"{formatting.percent(evidence.target, 0)}: {'met' if _met(evidence, coverage) else 'missed'}"
        f"{formatting.bracketed(coverage.low, coverage.high, 1, 100)}"
    )
    # Sets that hold every option prove nothing.
    judged = [
        number
        for name in evidence.judged
        for model, number in evidence.numbers(name, "coverage", "lac").items()
        if model in evidence.candidates(name)
    ]
    every = len(judged)
    below = sum(not _met(evidence, number) for number in judged)
    if every > 1:
        lie = {0: "no interval lies", 1: "1 interval lies"}.get(below, f"{below} intervals lie")
        why += (
            f"; of {every} pairs of model and dataset, {lie} below {formatting.percent(evidence.target, 0)}"
        )
    outcomes = evidence.plain_outcomes(dataset)
    sizes = outcomes.loc[outcomes["model"] == model, "clean_size_lac"].dropna()
    why += "."
    if len(sizes):
        # Sizes are means over splits: nearer to two than to one.
        share = formatting.percent(float((sizes > 1.5).mean()), 0)
        why += f" For {share} of the questions the set has more than one option."
    answer = (
        f"{formatting.number(size.value, 2)} options in a set; {formatting.percent(coverage.value)} coverage"
    )
    return Card(CERTAIN, answer, why)


def _weak_spot(evidence: Evidence, model: str, dataset: str) -> Card:
    """The category, or the dataset where it has none, with the largest sets."""
    sizes = {
        (name, category): number.value
        for name in _judged(evidence, model)
        for category in (evidence.categories(name) if len(evidence.categories(name)) > 1 else ("all",))
        if (number := evidence.number(name, model, "set_size", "lac", category=category))
    }
    if len(sizes) < 2:
        return _doubt(evidence, model, dataset)
    ordered = sorted(sizes, key=lambda place: (sizes[place], place))
    best, worst = ordered[0], ordered[-1]
    several = len(evidence.judged) > 1
    accuracy = evidence.number(worst[0], model, "accuracy", category=worst[1])
    right = f", at {formatting.percent(accuracy.value, 0)} accuracy" if accuracy else ""
    return Card(
        WEAK_SPOT,
        _place(worst, several),
        f"Largest mean set: {formatting.number(sizes[worst], 2)} options{right}. Smallest: "
        f"{formatting.number(sizes[best], 2)}, {_place(best, several)}.",
    )


def _place(place: tuple[str, str], several: bool) -> str:
    dataset, category = place
    if category == "all":
        return dataset
    return f"“{category}” on {dataset}" if several else f"“{category}”"


def _doubt(evidence: Evidence, model: str, dataset: str) -> Card:
    """Without categories or other datasets: how the least confident tenth of the answers does."""
    outcomes = evidence.plain_outcomes(dataset)
    own = outcomes[outcomes["model"] == model].dropna(subset=["confidence", "clean_correct"])
    if len(own) < 10:
        return Card(WEAK_SPOT, "Too few answers", "There are fewer than ten answers to look at.")
    doubtful = own.sort_values(["confidence", "prompt"]).head(len(own) // 10)
    edge, right = float(doubtful["confidence"].max()), float(doubtful["clean_correct"].mean())
    return Card(
        WEAK_SPOT,
        f"Confidence below {formatting.percent(edge, 0)}",
        f"In the least confident tenth of its answers on {dataset}, {model} is right "
        f"{formatting.percent(right, 0)} of the time.",
    )


def _breaks(evidence: Evidence, model: str) -> tuple[Card, ...]:
    """The variation that costs most accuracy on any dataset, if any does significantly."""
    found = {name: costs(evidence, name) for name in _judged(evidence, model)}
    tried = {
        change for of in found.values() for change in real_changes(of) if (model, change, *ACCURACY) in of
    }
    if not tried:
        return ()
    worst = {name: change for name in found if (change := dearest(found[name], model))}
    if not worst:
        every = formatting.plural(len(tried), "variation")
        where = f"on {next(iter(found))}" if len(found) == 1 else "over the datasets"
        why = f"Of {every} of the prompt {where}, none lowers the accuracy of {model} significantly."
        return (Card(BREAKS, "None significantly", why, "variations"),)
    losses = {name: found[name][model, change, *ACCURACY] for name, change in worst.items()}
    where = min(losses, key=lambda name: losses[name].beyond)
    cost, change = losses[where], worst[where]
    assert cost.low is not None and cost.high is not None
    if cost.eased:  # a guess is right more or less often: points would say nothing
        answer = "no better than guessing" if cost.value <= cost.guess else "closer to guessing"
        why = f"With it on {where}: {beside_a_guess(cost)}."
    else:
        answer = f"{formatting.number(-100 * cost.difference, 1)} points lost"
        why = (
            f"With it {formatting.percent(cost.value)} of the answers on {where} are right, without it "
            f"{formatting.percent(cost.original)} on the same {formatting.plural(cost.items, 'question')}: "
            f"{formatting.span(-cost.high, -cost.low, 1, 100)} points lost."
        )
    name = named(change)
    why += _shift(evidence, model, where, change)
    return (Card(BREAKS, f"{name[:1].upper()}{name[1:]}: {answer}", why, "variations"),)


def _shift(evidence: Evidence, model: str, dataset: str, variation: str) -> str:
    """The coverage of sets calibrated on the originals, where it falls below the target."""
    held = evidence.number(dataset, model, "shift_coverage", "lac", variation=variation)
    if held is None or _met(evidence, held):
        return ""
    return f" Sets calibrated on the originals then cover {formatting.percent(held.value, 0)}."


def _differences(evidence: Evidence, model: str) -> tuple[Card, ...]:
    """How many pairs of models differ significantly, and which models do not differ from this one."""
    every = [p for name in evidence.judged for p in evidence.leading_differences(name)["p_holm"]]
    if not every:
        return ()
    apart = sum(p < SIGNIFICANCE for p in every)
    several = len(evidence.judged) > 1
    answer = (
        f"All {formatting.count(apart)}"
        if apart == len(every) > 1
        else f"{formatting.count(apart)} of {formatting.plural(len(every), 'pair')} of models"
    )
    alike = {
        name: [other for other in evidence.leaders(name) if other != model]
        for name in evidence.judged
        if model in evidence.leaders(name)
    }
    told = [
        f"{formatting.listed(others)} on {name}" if several else formatting.listed(others)
        for name, others in alike.items()
        if others
    ]
    why = "Pairs of models, by accuracy on the same questions, corrected for the number of pairs."
    if told:
        why += f" {model} does not differ significantly from {formatting.listed(told, 2)}."
    elif alike:
        why += f" {model} differs from every other model where it is best."
    return (Card(DIFFERENCES, answer, why, "ranking"),)

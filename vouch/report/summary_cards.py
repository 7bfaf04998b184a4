"""The summary cards beside the verdict: a question, its answer in a few words, and why."""

from dataclasses import dataclass, replace

from vouch.report import formatting
from vouch.report.costs import ACCURACY, Cost, beside_a_guess, costs, dearest, named, real_changes
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
        *(replace(card, page="variations") for card in _breaks(evidence, model, dataset)),
        *(replace(card, page="ranking") for card in _differences(evidence, model)),
    )


def _met(evidence: Evidence, coverage: Number) -> bool:
    """Whether the interval of a coverage reaches the target."""
    return (coverage.value if coverage.high is None else coverage.high) >= evidence.target


def _certainty(evidence: Evidence, model: str, dataset: str) -> Card:
    """How large its sets are, and whether their coverage reaches the target."""
    size = evidence.number(dataset, model, "set_size", "lac")
    coverage = evidence.number(dataset, model, "coverage", "lac")
    if size is None or coverage is None:
        return Card(CERTAIN, "Not measured", f"There are no prediction sets of {model} on {dataset}.")
    met = "met" if _met(evidence, coverage) else "missed"
    span = formatting.bracketed(coverage.low, coverage.high, 1, 100)
    return Card(
        CERTAIN,
        f"{formatting.number(size.value, 2)} options in a set; {formatting.percent(coverage.value)} coverage",
        f"A set holds the options it cannot rule out on {dataset}. Target coverage "
        f"{formatting.percent(evidence.target, 0)}: {met}{span}{_everyone(evidence)}."
        f"{_undecided(evidence, model, dataset)}",
    )


def _everyone(evidence: Evidence) -> str:
    """How many pairs of model and dataset meet the target. Sets that hold every option prove nothing."""
    everyone = [
        _met(evidence, other)
        for name in evidence.judged
        for asked in evidence.models(name)
        if (other := evidence.number(name, asked, "coverage", "lac"))
    ]
    if len(everyone) < 2:
        return ""
    every = "both" if len(everyone) == 2 else f"all {len(everyone)}"
    met = every if all(everyone) else f"{sum(everyone)} of {len(everyone)}"
    return f"; {met} pairs of model and dataset meet it"


def _undecided(evidence: Evidence, model: str, dataset: str) -> str:
    outcomes = evidence.plain_outcomes(dataset)
    sizes = outcomes.loc[outcomes["model"] == model, "clean_size_lac"].dropna()
    if not len(sizes):
        return ""
    # Sizes are means over splits: nearer to two than to one.
    share = float((sizes > 1.5).mean())
    return f" For {formatting.percent(share, 0)} of the questions the set has more than one option."


def _weak_spot(evidence: Evidence, model: str, dataset: str) -> Card:
    """The category, or the dataset where it has none, with the largest sets."""
    sizes = {
        place: number.value
        for place in _places(evidence)
        if (number := evidence.number(place[0], model, "set_size", "lac", category=place[1]))
    }
    if len(sizes) < 2:
        return _doubt(evidence, model, dataset)
    ordered = sorted(sizes, key=lambda place: (sizes[place], place))
    best, worst = ordered[0], ordered[-1]
    several = len(evidence.judged) > 1
    accuracy = evidence.number(worst[0], model, "accuracy", category=worst[1])
    right = f", {formatting.percent(accuracy.value, 0)} of the answers right" if accuracy else ""
    return Card(
        WEAK_SPOT,
        _place(worst, several),
        f"Its largest sets: {formatting.number(sizes[worst], 2)} options{right}. The smallest: "
        f"{formatting.number(sizes[best], 2)}, {_place(best, several)}.",
    )


def _places(evidence: Evidence) -> list[tuple[str, str]]:
    """Datasets that can be judged by, each with its categories, or as a whole where it has none."""
    found = []
    for name in evidence.judged:
        categories = evidence.categories(name)
        found += [(name, category) for category in (categories if len(categories) > 1 else ("all",))]
    return found


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


def _breaks(evidence: Evidence, model: str, dataset: str) -> tuple[Card, ...]:
    """The variation that costs most accuracy on any dataset, if any does significantly."""
    found = {name: costs(evidence, name) for name in evidence.judged}
    tried = {
        change
        for name in found
        for change in real_changes(found[name])
        if (model, change, *ACCURACY) in found[name]
    }
    if not tried:
        return ()
    worst = {name: change for name in found if (change := dearest(found[name], model))}
    if not worst:
        every = formatting.plural(len(tried), "variation")
        where = f"on {dataset}" if len(found) == 1 else "over the datasets"
        why = f"Of {every} of the prompt {where}, none lowers the accuracy of {model} significantly."
        return (Card(BREAKS, "None significantly", why),)
    losses = {name: found[name][model, change, *ACCURACY] for name, change in worst.items()}
    where = min(losses, key=lambda name: losses[name].beyond)
    cost = losses[where]
    assert cost.low is not None and cost.high is not None
    if cost.eased:
        return (_flipped(evidence, model, where, worst[where], cost),)
    answer = f"{_capital(named(worst[where]))}: {formatting.number(-100 * cost.difference, 1)} points lost"
    why = (
        f"With it {formatting.percent(cost.value)} of the answers on {where} are right, without it "
        f"{formatting.percent(cost.original)} on the same {formatting.plural(cost.items, 'question')}: "
        f"{formatting.span(-cost.high, -cost.low, 1, 100)} points lost."
        f"{_shift(evidence, model, where, worst[where])}"
    )
    return (Card(BREAKS, answer, why),)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _flipped(evidence: Evidence, model: str, dataset: str, variation: str, cost: Cost) -> Card:
    """Of a variation after which a guess is right more or less often: points would say nothing."""
    share = formatting.percent(cost.value)
    why = f"With it {share} of the answers on {dataset} {beside_a_guess(cost)}."
    side = "no better than guessing" if cost.value <= cost.guess else "closer to guessing"
    answer = f"{_capital(named(variation))}: {side}"
    return Card(BREAKS, answer, why + _shift(evidence, model, dataset, variation))


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
    return (Card(DIFFERENCES, answer, why),)

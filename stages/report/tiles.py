"""The questions beside the verdict: each answered in a few words, and why."""

from dataclasses import dataclass, replace

from stages.report import words
from stages.report.costs import ACCURACY, costs, dearest, meaning, real_changes
from stages.report.evidence import Evidence
from stages.report.numbers import SIGNIFICANCE, Number

PROMISE = "Does it keep its promise?"
EFFORT = "How sure is it?"
WEAK_SPOT = "Where to be careful?"
BREAKS = "Which change breaks it?"
DIFFERENCES = "Which differences are real?"


@dataclass(frozen=True)
class Tile:
    """question: what it answers. answer: a few words. why: one or two sentences. page: where to read on."""

    question: str
    answer: str
    why: str
    page: str = "models"


def tiles(evidence: Evidence, model: str, dataset: str) -> tuple[Tile, ...]:
    """All of them, about one model on one dataset; the last two only where there is what they speak of."""
    return (
        _promise(evidence, model, dataset),
        _effort(evidence, model, dataset),
        _weak_spot(evidence, model, dataset),
        *(replace(tile, page="variations") for tile in _breaks(evidence, model, dataset)),
        *(replace(tile, page="ranking") for tile in _differences(evidence, model)),
    )


def _unmeasured(question: str, model: str, dataset: str) -> Tile:
    return Tile(question, "Not measured", f"There are no prediction sets of {model} on {dataset}.")


def _kept(evidence: Evidence, coverage: Number) -> bool:
    """Whether the interval of a coverage reaches the target."""
    return (coverage.value if coverage.high is None else coverage.high) >= evidence.target


def _promise(evidence: Evidence, model: str, dataset: str) -> Tile:
    number = evidence.number(dataset, model, "coverage", "lac")
    if number is None:
        return _unmeasured(PROMISE, model, dataset)
    everyone = [
        _kept(evidence, other)
        for name in evidence.datasets
        for asked in evidence.models(name)
        if (other := evidence.number(name, asked, "coverage", "lac"))
    ]
    why = f"A prediction set, the options it cannot rule out, promises {words.percent(evidence.target, 0)}"
    if number.low is not None and number.high is not None:
        reach = words.span(number.low, number.high, 1, 100)
        why += f"; on {dataset} the choice of the split alone moves that share over {reach}"
    why += "."
    if len(everyone) > 1:
        every = "Both" if len(everyone) == 2 else f"All {len(everyone)}"
        kept = every if all(everyone) else f"{sum(everyone)} of {len(everyone)}"
        why += f" {kept} pairs of model and dataset keep it."
    verdict = "Yes" if _kept(evidence, number) else "No"
    return Tile(PROMISE, f"{verdict}: {words.percent(number.value)} of its sets hold the answer", why)


def _effort(evidence: Evidence, model: str, dataset: str) -> Tile:
    number = evidence.number(dataset, model, "set_size", "lac")
    if number is None:
        return _unmeasured(EFFORT, model, dataset)
    outcomes = evidence.plain_outcomes(dataset)
    sizes = outcomes.loc[outcomes["model"] == model, "clean_size_lac"].dropna()
    why = f"So many options {model} has to name on {dataset} to be right that often."
    if len(sizes):
        # Sizes are means over splits: nearer to two than to one.
        share = float((sizes > 1.5).mean())
        why += f" For {words.percent(share, 0)} of the questions one option is not enough."
    return Tile(EFFORT, f"{words.number(number.value, 2)} options in a set", why)


def _weak_spot(evidence: Evidence, model: str, dataset: str) -> Tile:
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
    within = "over the categories of all datasets" if several else f"on {dataset}"
    accuracy = evidence.number(worst[0], model, "accuracy", category=worst[1])
    right = f", {words.percent(accuracy.value, 0)} of the answers right" if accuracy else ""
    return Tile(
        WEAK_SPOT,
        _place(worst, several),
        f"The largest sets of {model} {within}: {words.number(sizes[worst], 2)} options{right}. "
        f"The smallest: {_place(best, several)}, {words.number(sizes[best], 2)}.",
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


def _doubt(evidence: Evidence, model: str, dataset: str) -> Tile:
    """Without categories or other datasets: how the least confident tenth of the answers does."""
    outcomes = evidence.plain_outcomes(dataset)
    own = outcomes[outcomes["model"] == model].dropna(subset=["confidence", "clean_correct"])
    if len(own) < 10:
        return Tile(WEAK_SPOT, "Too few answers", "There are fewer than ten answers to look at.")
    doubtful = own.sort_values(["confidence", "prompt"]).head(len(own) // 10)
    edge, right = float(doubtful["confidence"].max()), float(doubtful["clean_correct"].mean())
    return Tile(
        WEAK_SPOT,
        f"Confidence below {words.percent(edge, 0)}",
        f"In the least confident tenth of its answers on {dataset}, {model} is right "
        f"{words.percent(right, 0)} of the time.",
    )


def _breaks(evidence: Evidence, model: str, dataset: str) -> tuple[Tile, ...]:
    """The change of the prompt that takes most accuracy on any dataset, if any surely does."""
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
        every = words.plural(len(tried), "change")
        where = f"on {dataset}" if len(found) == 1 else "over the datasets"
        why = f"Of {every} of the prompt {where}, none takes {model} accuracy that can be measured."
        return (Tile(BREAKS, "None measurably", why),)
    losses = {name: found[name][model, change, *ACCURACY] for name, change in worst.items()}
    where = min(losses, key=lambda name: losses[name].difference)
    cost = losses[where]
    assert cost.low is not None and cost.high is not None
    answer = f"{words.number(-100 * cost.difference, 1)} points lost: {meaning(worst[where])}"
    why = (
        f"Asked so ({worst[where]}), {model} answers {words.percent(cost.value)} right on {where} instead of "
        f"{words.percent(cost.original)}; 95{words.NARROW}% interval of the loss "
        f"{words.span(-cost.high, -cost.low, 1, 100)}.{_shift(evidence, model, where, worst[where])}"
    )
    return (Tile(BREAKS, answer, why),)


def _shift(evidence: Evidence, model: str, dataset: str, variation: str) -> str:
    """What becomes of the promise where sets calibrated on the originals meet the change."""
    held = evidence.number(dataset, model, "shift_coverage", "lac", variation=variation)
    if held is None or _kept(evidence, held):
        return ""
    return (
        f" Sets calibrated on the originals then hold the answer {words.percent(held.value, 0)} of the time."
    )


def _differences(evidence: Evidence, model: str) -> tuple[Tile, ...]:
    """How many pairs of models the data can tell apart, and which models they cannot tell from this one."""
    every = [p for name in evidence.judged for p in evidence.leading_differences(name)["p_holm"]]
    if not every:
        return ()
    apart = sum(p < SIGNIFICANCE for p in every)
    several = len(evidence.judged) > 1
    answer = (
        f"All {words.count(apart)}: no pair is left to chance"
        if apart == len(every) > 1
        else f"{words.count(apart)} of {words.plural(len(every), 'pair')} of models"
    )
    alike = {
        name: [other for other in evidence.leaders(name) if other != model]
        for name in evidence.judged
        if model in evidence.leaders(name)
    }
    told = [
        f"{words.listed(others)} on {name}" if several else words.listed(others)
        for name, others in alike.items()
        if others
    ]
    why = "Paired on the same questions, corrected for the number of pairs."
    if told:
        why += f" {model} cannot be told from {words.listed(told, 2)}."
    elif alike:
        why += f" {model} is apart from every other where it is best."
    return (Tile(DIFFERENCES, answer, why),)

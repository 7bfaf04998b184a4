"""The questions beside the verdict: each answered in a few words, and why."""

from dataclasses import dataclass, replace

from vouch.report import formatting
from vouch.report.costs import ACCURACY, Cost, beside_a_guess, costs, dearest, meaning, real_changes
from vouch.report.evidence import Evidence
from vouch.report.numbers import SIGNIFICANCE, Number

SURE = "How sure is it?"
WEAK_SPOT = "Where is it unsure?"
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
        _sureness(evidence, model, dataset),
        _weak_spot(evidence, model, dataset),
        *(replace(tile, page="variations") for tile in _breaks(evidence, model, dataset)),
        *(replace(tile, page="ranking") for tile in _differences(evidence, model)),
    )


def _kept(evidence: Evidence, coverage: Number) -> bool:
    """Whether the interval of a coverage reaches the target."""
    return (coverage.value if coverage.high is None else coverage.high) >= evidence.target


def _sureness(evidence: Evidence, model: str, dataset: str) -> Tile:
    """How many options it takes, and whether the sets hold the answer as often as they promise."""
    size = evidence.number(dataset, model, "set_size", "lac")
    coverage = evidence.number(dataset, model, "coverage", "lac")
    if size is None or coverage is None:
        return Tile(SURE, "Not measured", f"There are no prediction sets of {model} on {dataset}.")
    kept = "kept" if _kept(evidence, coverage) else "broken"
    span = formatting.bracketed(coverage.low, coverage.high, 1, 100)
    return Tile(
        SURE,
        f"{_options(size.value)}; {formatting.percent(coverage.value)} of its sets hold the answer",
        f"A set is what it cannot rule out on {dataset}. Promised {formatting.percent(evidence.target, 0)}: "
        f"{kept}{span}{_everyone(evidence)}.{_undecided(evidence, model, dataset)}",
    )


def _options(size: float) -> str:
    return f"{formatting.number(size, 2)} options in a set"


def _everyone(evidence: Evidence) -> str:
    """How many pairs of model and dataset keep the promise. Sets that hold every option prove nothing."""
    everyone = [
        _kept(evidence, other)
        for name in evidence.judged
        for asked in evidence.models(name)
        if (other := evidence.number(name, asked, "coverage", "lac"))
    ]
    if len(everyone) < 2:
        return ""
    every = "both" if len(everyone) == 2 else f"all {len(everyone)}"
    kept = every if all(everyone) else f"{sum(everyone)} of {len(everyone)}"
    return f"; {kept} pairs of model and dataset keep it"


def _undecided(evidence: Evidence, model: str, dataset: str) -> str:
    outcomes = evidence.plain_outcomes(dataset)
    sizes = outcomes.loc[outcomes["model"] == model, "clean_size_lac"].dropna()
    if not len(sizes):
        return ""
    # Sizes are means over splits: nearer to two than to one.
    share = float((sizes > 1.5).mean())
    return f" To {formatting.percent(share, 0)} of the questions it names more than one option."


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
    accuracy = evidence.number(worst[0], model, "accuracy", category=worst[1])
    right = f", {formatting.percent(accuracy.value, 0)} of the answers right" if accuracy else ""
    return Tile(
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
        f"Confidence below {formatting.percent(edge, 0)}",
        f"In the least confident tenth of its answers on {dataset}, {model} is right "
        f"{formatting.percent(right, 0)} of the time.",
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
        every = formatting.plural(len(tried), "change")
        where = f"on {dataset}" if len(found) == 1 else "over the datasets"
        why = f"Of {every} of the prompt {where}, none takes {model} accuracy that can be measured."
        return (Tile(BREAKS, "None measurably", why),)
    losses = {name: found[name][model, change, *ACCURACY] for name, change in worst.items()}
    where = min(losses, key=lambda name: losses[name].beyond)
    cost = losses[where]
    assert cost.low is not None and cost.high is not None
    if cost.eased:
        return (_turned(evidence, model, where, worst[where], cost),)
    answer = f"{formatting.number(-100 * cost.difference, 1)} points lost: {meaning(worst[where])}"
    why = (
        f"Asked so ({worst[where]}), {formatting.percent(cost.value)} of its answers on {where} are right, not "
        f"{formatting.percent(cost.original)} as on the same {formatting.plural(cost.items, 'question')} before: "
        f"{formatting.span(-cost.high, -cost.low, 1, 100)} points lost."
        f"{_shift(evidence, model, where, worst[where])}"
    )
    return (Tile(BREAKS, answer, why),)


def _turned(evidence: Evidence, model: str, dataset: str, variation: str, cost: Cost) -> Tile:
    """Of a change after which a guess is right more or less often: points would say nothing."""
    share = formatting.percent(cost.value)
    why = f"Asked so ({variation}), {share} of its answers on {dataset} {beside_a_guess(cost)}."
    side = "No better than a guess" if cost.value <= cost.guess else "Closer to a guess"
    answer = f"{side}: {meaning(variation)}"
    return Tile(BREAKS, answer, why + _shift(evidence, model, dataset, variation))


def _shift(evidence: Evidence, model: str, dataset: str, variation: str) -> str:
    """What becomes of the promise where sets calibrated on the originals meet the change."""
    held = evidence.number(dataset, model, "shift_coverage", "lac", variation=variation)
    if held is None or _kept(evidence, held):
        return ""
    return (
        f" Then {formatting.percent(held.value, 0)} of the sets calibrated on the originals hold the answer."
    )


def _differences(evidence: Evidence, model: str) -> tuple[Tile, ...]:
    """How many pairs of models the data can tell apart, and which models they cannot tell from this one."""
    every = [p for name in evidence.judged for p in evidence.leading_differences(name)["p_holm"]]
    if not every:
        return ()
    apart = sum(p < SIGNIFICANCE for p in every)
    several = len(evidence.judged) > 1
    answer = (
        f"All {formatting.count(apart)}: no pair is left to chance"
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
    why = "By their accuracy on the same questions, corrected for the number of pairs."
    if told:
        why += f" {model} cannot be told from {formatting.listed(told, 2)}."
    elif alike:
        why += f" {model} is apart from every other where it is best."
    return (Tile(DIFFERENCES, answer, why),)

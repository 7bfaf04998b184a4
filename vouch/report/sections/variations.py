"""Variations: what another way to put the same question does to accuracy, confidence and set size."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from vouch.report import formatting
from vouch.report.costs import (
    ACCURACY,
    CONFIDENCE,
    CONTROL,
    FLIPPED,
    SIZE_APS,
    SIZE_LAC,
    UNTURNED,
    Cost,
    Costs,
    beside_a_guess,
    changes,
    costs,
    dearest,
    in_words,
    named,
    real_changes,
)
from vouch.report.evidence import Evidence
from vouch.report.figures.reliability import chosen
from vouch.report.grid import MISSING, Cell, Column, Grid

TITLE = "Accuracy and confidence"


@dataclass(frozen=True)
class DatasetVariations:
    """sentences: what costs the models most, and what the control says."""

    dataset: str
    sentences: tuple[str, ...]
    grid: Grid
    figures: tuple[str, ...] = ("variations",)


def build(evidence: Evidence) -> tuple[DatasetVariations, ...]:
    """One part per dataset that was asked in another variation than the original."""
    found = {dataset: costs(evidence, dataset) for dataset in evidence.datasets}
    return tuple(
        DatasetVariations(dataset, _sentences(evidence, dataset, of), _grid(evidence, dataset, of))
        for dataset, of in found.items()
        if of
    )


def _sentences(evidence: Evidence, dataset: str, found: Costs) -> tuple[str, ...]:
    models = chosen(evidence, dataset)
    said = [_worst(found, model) for model in models] if real_changes(found) else []
    said += [_turned(found, evidence.models(dataset), variation) for variation in real_changes(found)]
    said += [_control(evidence, dataset, found, model) for model in models]
    return tuple(filter(None, said))


def _worst(found: Costs, model: str) -> str:
    variation = dearest(found, model)
    if variation is None:
        return f"No change takes {model} accuracy that can be measured."
    cost = found[model, variation, *ACCURACY]
    assert cost.low is not None and cost.high is not None
    if cost.eased:
        share = formatting.percent(cost.value)
        return f"{named(variation)} costs {model} most: {share} of the answers {beside_a_guess(cost)}."
    return (
        f"{named(variation)} costs {model} most: {formatting.number(-100 * cost.difference, 1)} points of accuracy"
        f"{formatting.bracketed(-cost.high, -cost.low, 1, 100)}."
    )


def _turned(found: Costs, models: Sequence[str], variation: str) -> str:
    """What a guess gives where the answer is turned, and who stays below it."""
    eased = {
        model: cost
        for model in models
        if (cost := found.get((model, variation, *ACCURACY))) is not None and cost.eased
    }
    if not eased:
        return ""
    gives = next(iter(eased.values())).guess
    below = [model for model, cost in eased.items() if cost.value < cost.guess]
    who = formatting.listed(below) if below else "no model"
    return (
        f"{named(variation)} makes other options right: guessing gives {formatting.percent(gives, 0)}, not "
        f"{formatting.percent(1 - gives, 0)}; below that {'is' if len(below) < 2 else 'are'} {who}."
    )


def _control(evidence: Evidence, dataset: str, found: Costs, model: str) -> str:
    cost = found.get((model, CONTROL, *ACCURACY))
    if cost is None:
        return ""
    guess = evidence.chance(dataset)
    guessing = f", where guessing gives {formatting.percent(guess, 0)}" if guess else ""
    return f"Without its pictures {model} answers {formatting.percent(cost.value)} right{guessing}."


def _grid(evidence: Evidence, dataset: str, found: Costs) -> Grid:
    columns = (
        Column("Variation"),
        Column("Model"),
        Column("Accuracy %", "in the variation; a guess, where it differs from that in the original", True),
        Column("Accuracy, change", "in points, against the original on the same items", True),
        Column("Confidence, change", "of the mean probability of the chosen option, in points", True),
        Column("Set size LAC, change", "in options; sets calibrated anew for the variation", True),
        Column("Set size APS, change", "in options; sets calibrated anew for the variation", True),
        Column("Other answer %", "share of items for which another option was chosen", True),
        Column(
            "Did not turn %",
            "where the change turns the answer: of the items answered right before, the share for which "
            "the same option was chosen again",
            True,
        ),
    )
    rows = []
    for variation in changes(found):
        for model in evidence.models(dataset):
            accuracy = found.get((model, variation, *ACCURACY))
            if accuracy is None:
                continue
            rows.append(
                (
                    Cell(variation, in_words(variation) or ""),
                    Cell(model),
                    Cell(formatting.number(100 * accuracy.value, 1), _guess(accuracy), accuracy.value),
                    _change(accuracy, 1, 100),
                    _change(found.get((model, variation, *CONFIDENCE)), 1, 100),
                    _change(found.get((model, variation, *SIZE_LAC)), 2, 1, judged=False),
                    _change(found.get((model, variation, *SIZE_APS)), 2, 1, judged=False),
                    _rate(found.get((model, variation, *FLIPPED))),
                    _rate(found.get((model, variation, *UNTURNED))),
                )
            )
    caption = (
        f"{dataset}: every variation against the original, 95{formatting.NARROW}% intervals in small print"
    )
    return Grid("variations", caption, columns, rows)


def _guess(accuracy: Cost) -> str:
    return f"guess {formatting.number(100 * accuracy.guess, 0)}" if accuracy.eased else ""


def _rate(cost: Cost | None) -> Cell:
    return MISSING if cost is None else Cell(formatting.number(100 * cost.value, 1), key=cost.value)


def _change(cost: Cost | None, digits: int, scale: float, judged: bool = True) -> Cell:
    if cost is None:
        return MISSING
    note = formatting.bracketed(cost.low, cost.high, digits, scale).strip(" ()")
    tone: Literal["", "strong", "quiet"] = ""
    if judged:
        tone = "strong" if cost.rises or cost.falls else "quiet"
    return Cell(formatting.number(scale * cost.difference, digits), note, cost.difference, tone=tone)

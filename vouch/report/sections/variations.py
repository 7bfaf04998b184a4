"""Variations: how other ways to ask the same question change accuracy, confidence and set size."""

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.claims import above_chance, chosen, effects, losses
from vouch.report.costs import (
    ACCURACY,
    CONFIDENCE,
    CONTROL,
    FLIPPED,
    NOT_FLIPPED,
    SIZE_APS,
    SIZE_LAC,
    Cost,
    Costs,
    beside_a_guess,
    changes,
    costs,
    heat_map,
    named,
    real_changes,
    shade,
    variation_cell,
)
from vouch.report.evidence import Evidence
from vouch.report.section import Block, Figures, Folded, by_dataset, said
from vouch.report.table import MISSING, Cell, Column, Grid, Tone, cells, interval, percent

TITLE = "Accuracy and confidence"
TEXT = Markup("""\
The same items asked in another way, each against its original: points of accuracy lost (orange) or gained
(blue) have a colour where that is shown, by a model that beats a guess and after correction for all models
and variations. Where a variation flips the answer of questions with more than two options, most options
become right and guessing improves: that is subtracted. The intervals are over items and not corrected. Of
variations that take away the picture or the question nothing is claimed.""")
SIZES = (
    "in options; sets are recalibrated for the variation, so coverage is kept and the cost shows here; the "
    "intervals treat the thresholds as fixed, which makes them too narrow: no judgement"
)
COLUMNS = (
    Column("Variation"),
    Column("Model"),
    Column("Accuracy %", "in the variation; a guess, where it differs from that in the original", True),
    Column("Accuracy, change", "in points over a guess, against the original on the same items", True),
    Column("Confidence, change", "of the mean probability of the chosen option, in points", True),
    Column("Set size LAC, change", SIZES, True),
    Column("Set size APS, change", SIZES, True),
    Column("Other answer %", "share of items for which another option was chosen", True),
    Column(
        "Did not flip %",
        "where the variation flips the answer: of the items answered right before, the share for which the "
        "same option was chosen again",
        True,
    ),
)


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where there is no other variation than the original."""
    found = costs(evidence, dataset)
    if not found:
        return []
    told = said(_sentences(evidence, dataset, found))
    grid = Folded("Every number", [_grid(evidence, dataset, found)])
    return [*told, Figures([f"variations-{dataset}"]), grid]


def _heat(evidence: Evidence, dataset: str) -> Grid | None:
    """What each variation costs each model beyond what a guess gains."""
    found = costs(evidence, dataset)

    def cell(model: str, variation: str) -> tuple[Cell, int] | None:
        cost = found.get((model, variation, *ACCURACY))
        if cost is None:
            return None
        change, sure = cost.net.difference, (dataset, model, variation) in effects(evidence)
        text, colour = formatting.number(100 * change, 1), shade(change) if sure else ""
        return Cell(text, key=change, tone="" if sure else "quiet", shade=colour), cost.items

    caption = f"{dataset}: accuracy against the original, points over a guess"
    return heat_map("changes", caption, changes(found), evidence.models(dataset), cell)


def _sentences(evidence: Evidence, dataset: str, found: Costs) -> list[str]:
    """What costs the models most, and what the control says."""
    models = chosen(evidence, dataset)
    told = [_worst(evidence, dataset, found, model) for model in models] if real_changes(found) else []
    told += [_flipped(found, variation) for variation in real_changes(found)]
    return told + [_control(evidence, dataset, found, model) for model in models]


def _worst(evidence: Evidence, dataset: str, found: Costs, model: str) -> str:
    """The variations that significantly cost a model accuracy, the costliest first."""
    if model not in above_chance(evidence, dataset):
        return f"{model} is not shown to be better than a guess: nothing is said of its variations."
    lost = losses(evidence, dataset, model)
    if not lost:
        return f"No variation is shown to lower the accuracy of {model}."
    said = [_loss(change, found[model, change, *ACCURACY]) for change in lost]
    return f"Shown to lower the accuracy of {model}: {formatting.listed(said, 3)}."


def _loss(variation: str, cost: Cost) -> str:
    if cost.guess is not None:
        return f"{named(variation)}, {beside_a_guess(cost)}"
    points = formatting.number(-100 * cost.difference, 1)
    ends = () if cost.low is None or cost.high is None else (-cost.high, -cost.low)
    return f"{named(variation)}, {points} points{formatting.bracketed(*ends, 1, 100) if ends else ''}"


def _flipped(found: Costs, variation: str) -> str:
    """What guessing gives where the answer is flipped."""
    guesses = (cost.guess for key, cost in found.items() if key[1] == variation)
    gives = next((guess for guess in guesses if guess is not None), None)
    if gives is None:
        return ""
    return (
        f"With {named(variation)} other options are right: guessing gives {formatting.percent(gives, 0)}, "
        f"not {formatting.percent(1 - gives, 0)}."
    )


def _control(evidence: Evidence, dataset: str, found: Costs, model: str) -> str:
    cost = found.get((model, CONTROL, *ACCURACY))
    if cost is None:
        return ""
    guess = evidence.chance(dataset)
    chance = f" (chance {formatting.percent(guess, 0)})" if guess else ""
    return f"Without images, {model} is {formatting.percent(cost.value)} correct{chance}."


def _grid(evidence: Evidence, dataset: str, found: Costs) -> Grid:
    rows = []
    for variation in changes(found):
        for model in evidence.models(dataset):
            accuracy, confidence, lac, aps, flipped, not_flipped = (
                found.get((model, variation, *measure))
                for measure in (ACCURACY, CONFIDENCE, SIZE_LAC, SIZE_APS, FLIPPED, NOT_FLIPPED)
            )
            if accuracy is None:
                continue
            place = (dataset, model, variation)
            guess = "" if accuracy.guess is None else f"guess {formatting.number(100 * accuracy.guess, 0)}"
            rows.append(
                cells(
                    *(variation_cell(variation), model),
                    Cell(formatting.number(100 * accuracy.value, 1), guess, accuracy.value),
                    _change(accuracy.net, 1, 100, "strong" if place in effects(evidence) else "quiet"),
                    *(_change(confidence, 1, 100), _change(lac, 2, 1), _change(aps, 2, 1)),
                    *(percent(cost.value if cost else None) for cost in (flipped, not_flipped)),
                )
            )
    caption = (
        f"{dataset}: every variation against the original, 95{formatting.NARROW}% intervals in small print"
    )
    return Grid("variations", caption, COLUMNS, rows)


def _change(cost: Cost | None, digits: int, scale: float, tone: Tone = "") -> Cell:
    return interval(cost.difference, cost.low, cost.high, digits, scale, tone) if cost else MISSING


build = by_dataset("Which variation of the prompt hurts most?", TEXT, _blocks, opened=0, above=_heat)

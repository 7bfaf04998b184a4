"""Variations: how other ways to ask the same question change accuracy, confidence and set size."""

from collections.abc import Sequence

from markupsafe import Markup

from vouch.report import formatting
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
    dearest,
    named,
    real_changes,
    variation_cell,
)
from vouch.report.evidence import Evidence
from vouch.report.figures.reliability import chosen
from vouch.report.heat import heat_map, shade
from vouch.report.section import Block, Figures, Folded, by_dataset, said
from vouch.report.table import MISSING, Cell, Column, Grid, Tone, cells, interval, percent

TITLE = "Accuracy and confidence"
TEXT = Markup("""\
The same items asked in another way, each against its original: points of accuracy lost (orange) or gained
(blue); without colour where the interval includes none. Where a variation flips the answer of questions with
more than two options, most options become right and guessing improves: that is subtracted. The intervals are
over items and not corrected for the number of variations.""")
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
        sure = cost.rises or cost.falls
        text = formatting.number(100 * cost.net.difference, 1)
        return Cell(
            text,
            key=cost.net.difference,
            tone="" if sure else "quiet",
            shade=shade(cost.net.difference) if sure else "",
        ), cost.items

    caption = f"{dataset}: accuracy against the original, points over a guess"
    return heat_map("changes", caption, changes(found), evidence.models(dataset), cell)


def _sentences(evidence: Evidence, dataset: str, found: Costs) -> list[str]:
    """What costs the models most, and what the control says."""
    models = chosen(evidence, dataset)
    told = [_worst(found, model) for model in models] if real_changes(found) else []
    told += [_flipped(found, evidence.models(dataset), variation) for variation in real_changes(found)]
    return told + [_control(evidence, dataset, found, model) for model in models]


def _worst(found: Costs, model: str) -> str:
    variation = dearest(found, model)
    if variation is None:
        return f"No variation lowers the accuracy of {model} significantly."
    cost = found[model, variation, *ACCURACY]
    assert cost.low is not None and cost.high is not None
    if cost.eased:
        return f"Most costly for {model}: {named(variation)}, {beside_a_guess(cost)}."
    points = formatting.number(-100 * cost.difference, 1)
    span = formatting.bracketed(-cost.high, -cost.low, 1, 100)
    return f"Most costly for {model}: {named(variation)}, {points} points of accuracy{span}."


def _flipped(found: Costs, models: Sequence[str], variation: str) -> str:
    """What guessing gives where the answer is flipped, and who stays below it."""
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
        f"With {named(variation)} other options are right: guessing gives {formatting.percent(gives, 0)}, "
        f"not {formatting.percent(1 - gives, 0)}; {who} {'is' if len(below) < 2 else 'are'} below that."
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
            guess = f"guess {formatting.number(100 * accuracy.guess, 0)}" if accuracy.eased else ""
            rows.append(
                cells(
                    *(variation_cell(variation), model),
                    Cell(formatting.number(100 * accuracy.value, 1), guess, accuracy.value),
                    *(_change(cost, 1, 100) for cost in (accuracy.net, confidence)),
                    *(_change(cost, 2, 1, judged=False) for cost in (lac, aps)),
                    *(percent(cost.value if cost else None) for cost in (flipped, not_flipped)),
                )
            )
    caption = (
        f"{dataset}: every variation against the original, 95{formatting.NARROW}% intervals in small print"
    )
    return Grid("variations", caption, COLUMNS, rows)


def _change(cost: Cost | None, digits: int, scale: float, judged: bool = True) -> Cell:
    if cost is None:
        return MISSING
    tone: Tone = "" if not judged else "strong" if cost.rises or cost.falls else "quiet"
    return interval(cost.difference, cost.low, cost.high, digits, scale, tone)


build = by_dataset("Which variation of the prompt hurts most?", TEXT, _blocks, opened=0, above=_heat)

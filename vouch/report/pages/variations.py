"""The page Variations: how other ways to ask a question change accuracy, confidence and set size.

Its other sections are in image_use.py, severity.py, shift.py and robustness.py.
"""

from dataclasses import replace
from typing import Any

import pandas as pd
from markupsafe import Markup

from vouch.metrics.comparison.leaderboard import FEWEST_GROUPS
from vouch.prompts.variations import meaning, named
from vouch.report import formatting, summaries
from vouch.report import vegalite as alt
from vouch.report.caveats import apart
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
    is_original_to,
    real_changes,
    shaded,
    variation_cell,
)
from vouch.report.evidence import Evidence
from vouch.report.gates import ONLY_SHARES, Claim, too_small
from vouch.report.page import (
    Block,
    DatasetFigure,
    Figures,
    Folded,
    Page,
    PageSection,
    Text,
    by_dataset,
    sentence_list,
)
from vouch.report.table import MISSING, Cell, Column, Grid, Tone, cells, interval, percent

# heading, measure, scale, whether claims are made about it, smallest distance of the ticks
VARIATIONS_PANELS = {
    "accuracy": ("Accuracy over guessing, points", ACCURACY, 100.0, True, 1),
    "confidence": ("Confidence, points", CONFIDENCE, 100.0, False, 1),
    "size": ("Options in a set, LAC", SIZE_LAC, 1.0, False, 0.1),
}
VERDICT_COLOURS = {"costs": alt.ORANGE, "gains": alt.BLUE, "not shown": alt.FAINT}
VARIATIONS_STEP = 18
UNCHANGED = "no change"
VARIATIONS_LINES = {alt.INTERVAL: alt.SOLID, UNCHANGED: alt.DASHED}
VARIATIONS_TIPS = alt.tips(
    ".2f", model_n="Model", variation_n="Variation", value="Difference", low="from", high="to"
)


def variations_frame(evidence: Evidence, dataset: str, panel: str) -> pd.DataFrame:
    """One row per model and variation: value (of the difference), its interval and its verdict.

    Controls are left out, because their scale would hide all others. If the correct answer is flipped, the
    gain of guessing is subtracted from the difference.
    """
    _, measure, scale, _, _ = VARIATIONS_PANELS[panel]
    found = costs(evidence, dataset)
    rows = []
    for model in chosen(evidence, dataset):
        for variation in real_changes(found):
            cost = found.get((model, variation, *measure))
            if cost is None or is_original_to(evidence, dataset, model, variation):
                continue
            claim = effects(evidence).get((dataset, model, variation))
            verdict = "not shown" if claim is None else "gains" if claim.above else "costs"
            row = {"model": model, "variation": meaning(variation), "verdict": verdict}
            ends = {"value": cost.net.difference, "low": cost.net.low, "high": cost.net.high}
            rows.append(row | {name: None if end is None else scale * end for name, end in ends.items()})
    return pd.DataFrame(rows, columns=["model", "variation", "value", "low", "high", "verdict"])


def _domain(data: pd.DataFrame) -> list[float]:
    edges = data[["value", "low", "high"]].astype(float)
    low, high = min(0.0, float(edges.min().min())), max(0.0, float(edges.max().max()))
    margin = 0.04 * (high - low) or 0.05
    return [low - margin, high + margin]


def _variations_panel(
    data: pd.DataFrame, panel: str, model: str, order: list[str], last: bool, narrow: bool
) -> Any:
    heading, _, _, judged, least = VARIATIONS_PANELS[panel]
    first = panel == next(iter(VARIATIONS_PANELS))
    rows = alt.rows("variation", order, 280, labels=first, ticks=first, narrow=narrow)
    ticks = alt.Axis(tickCount=4, tickMinStep=least, labels=last, ticks=last)
    scale = alt.Scale(domain=_domain(data), nice=False, zero=False)
    across = alt.X("value:Q", title=heading if last else None, scale=scale, axis=ticks)
    scores = alt.Scale(domain=list(VERDICT_COLOURS), range=list(VERDICT_COLOURS.values()))
    legend = {"legend": alt.legend_columns(list(VERDICT_COLOURS), 180)} if narrow else {}
    colour = alt.Color("verdict:N", scale=scores, **legend) if judged else alt.value(alt.INK)
    base = alt.Chart(data[data["model"] == model]).encode(y=rows, color=colour)
    whiskers = alt.whiskers(base).mark_rule(strokeWidth=2, opacity=0.6).encode(x=across, x2="high:Q")
    return alt.layer(
        alt.in_legend(alt.target(0.0).encode(x=across), UNCHANGED, VARIATIONS_LINES),
        alt.in_legend(whiskers, alt.INTERVAL, VARIATIONS_LINES),
        base.mark_circle(size=50, opacity=1).encode(x=across, tooltip=VARIATIONS_TIPS),
    ).properties(width=180, height=alt.row_step(VARIATIONS_STEP, order, narrow))


def variations_chart(evidence: Evidence, dataset: str, narrow: bool = False) -> Any:
    """Three panels side by side for each model, a point per variation; None if a panel would be empty.

    Two panels if all sets have too few questions to be compared. narrow: accuracy alone.
    """
    data = {panel: variations_frame(evidence, dataset, panel) for panel in VARIATIONS_PANELS}
    if data["size"].empty and evidence.numbers(dataset, *SIZE_LAC):
        del data["size"]
    if any(found.empty for found in data.values()):
        return None
    models = list(dict.fromkeys(data["accuracy"]["model"]))
    order = [meaning(name) for name in real_changes(costs(evidence, dataset))]
    lines = [
        alt.hconcat(
            *(
                _variations_panel(data[panel], panel, model, order, model == models[-1], narrow)
                for panel in list(data)[: 1 if narrow else None]
            ),
            spacing=alt.SPACING,
            bounds="flush",  # aligns the panels of all models
        ).properties(title=model)
        for model in models
    ]
    return alt.vconcat(*lines, spacing=12)


def variations_in_words(evidence: Evidence, dataset: str) -> str:
    """The figure in words."""
    found = costs(evidence, dataset)
    parts = []
    for model in chosen(evidence, dataset):
        lost = losses(evidence, dataset, model)[:1]
        parts += [f"none is shown to lower the accuracy of {model}"] if not lost else []
        for variation in lost:
            cost = found[model, variation, *ACCURACY]
            over = "" if cost.guess is None else " over guessing"
            points = formatting.number(-100 * cost.net.difference, 1)
            parts.append(f"{meaning(variation)} costs {model} {points} points of accuracy{over}")
    number = formatting.plural(len(real_changes(found)), "variation")
    return (
        f"Differences in accuracy, confidence and set size between {number} and the original prompts on "
        f"{dataset}: {'; '.join(parts)}."
    )


VARIATIONS_FIGURE = DatasetFigure(
    "variations",
    "What each variation of the prompt costs",
    variations_chart,
    variations_in_words,
    narrow={"narrow": True},
)


VARIATIONS_TEXT = Markup("""\
The same items asked in another way, each compared with its original prompt. A loss (orange) or gain (blue) of
accuracy is coloured if it is significant after correction for all models and variations, and if the model
beats guessing. If a variation flips the answer of questions with more than two options, most options become
correct and guessing improves. What a model at the same distance from guessing gains by that is subtracted:
&minus;10 <em>points over guessing</em> means 10 points less than it would then have. Intervals are over items
and not corrected. No claims are made about variations that take away the image or the question.""")
SIZES = (
    "in options; sets are recalibrated for the variation, so coverage is kept and the cost shows up here; "
    "intervals treat the thresholds as fixed and are too narrow, so no claims are made; no change if a "
    "threshold is infinite, or if the variation asks only some of the questions and fewer than "
    f"{FEWEST_GROUPS} groups of them, because few questions alone enlarge the sets"
)
TOO_FEW = replace(MISSING, note="too few to calibrate")
ASKED_ONCE = replace(MISSING, note="the original prompt")
"""In place of the change of a model that a variation asks its original prompt again."""
VARIATIONS_COLUMNS = (
    Column("Variation"),
    Column("Model"),
    Column("Accuracy %", "in the variation; in small print guessing, if it differs from the original", True),
    Column(
        "Accuracy, change",
        "in points over guessing, against the original prompts of the same items; bold if it is shown to be "
        "better, coloured if worse",
        True,
    ),
    Column("Confidence, change", "of the mean probability of the chosen option, in points", True),
    Column("Set size LAC, change", SIZES, True),
    Column("Set size APS, change", SIZES, True),
    Column(
        "Other answer %",
        "share of items for which another option was chosen; a text in which no answer is found differs from "
        "every other",
        True,
    ),
    Column(
        "Did not flip %",
        "if the variation flips the answer: of the items answered correctly before, the share for which the "
        "same option was chosen again",
        True,
    ),
)


def _variations_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """The effects of variations; no blocks if there are only original prompts."""
    found = costs(evidence, dataset)
    if not found:
        return []
    sentences = sentence_list(_variations_sentences(evidence, dataset, found))
    grid = Folded("Every number", [_variations_grid(evidence, dataset, found)])
    few = [f"{ONLY_SHARES}."] if evidence.is_small(dataset) else []
    notes = [Text(each) for each in (*apart(evidence, dataset), *few)]
    return [*notes, *sentences, Figures([f"variations-{dataset}"]), grid]


def _variations_heat(evidence: Evidence, dataset: str) -> Grid | None:
    """The cost of each variation for each model, without the gain of guessing."""
    found = costs(evidence, dataset)

    def cell(model: str, variation: str) -> tuple[Cell, int] | None:
        cost = found.get((model, variation, *ACCURACY))
        if cost is None:
            return None
        if is_original_to(evidence, dataset, model, variation):
            return MISSING, cost.items
        change, shown = cost.net.difference, (dataset, model, variation) in effects(evidence)
        return shaded(formatting.number(100 * change, 1), change, change, shown), cost.items

    caption = f"{dataset}: accuracy against the original prompts, points over guessing"
    return heat_map("changes", caption, changes(found), evidence.models(dataset), cell)


MOST_LOSSES = 3
"""Variations that the sentence on a model names."""


def _variations_sentences(evidence: Evidence, dataset: str, found: Costs) -> list[str]:
    """The variations that cost each model most, and the accuracy without images."""
    models = chosen(evidence, dataset)
    worst = [_worst(evidence, dataset, found, model) for model in models] if real_changes(found) else []
    if worst and (few := too_small(evidence.groups(dataset))):
        worst = [f"{_upper(few)}, so no claims are made about variations."]
    flipped = [_flipped(found, variation) for variation in real_changes(found)]
    return worst + flipped + [_control(evidence, dataset, found, model) for model in models]


def _worst(evidence: Evidence, dataset: str, found: Costs, model: str) -> str:
    """The variations that significantly cost a model accuracy, the costliest first."""
    if model not in above_chance(evidence, dataset):
        return f"{model} is not shown to beat guessing, so no claims are made about its variations."
    lost = losses(evidence, dataset, model)
    if not lost:
        return f"No variation is shown to lower the accuracy of {model}."
    losses_of = [_loss(change, found[model, change, *ACCURACY]) for change in lost]
    more = f"; and {len(lost) - MOST_LOSSES} more" if len(lost) > MOST_LOSSES else ""
    return f"Shown to lower the accuracy of {model}: {'; '.join(losses_of[:MOST_LOSSES])}{more}."


def _loss(variation: str, cost: Cost) -> str:
    if cost.guess is not None:
        return f"{named(variation)}: {beside_a_guess(cost)}"
    points = formatting.number(-100 * cost.difference, 1)
    ends = () if cost.low is None or cost.high is None else (-cost.high, -cost.low)
    return f"{named(variation)}: {points} points{formatting.bracketed(*ends, 1, 100) if ends else ''}"


def _flipped(found: Costs, variation: str) -> str:
    """The accuracy of guessing, if the variation flips the answer."""
    guesses = (cost.guess for key, cost in found.items() if key[1] == variation)
    gives = next((guess for guess in guesses if guess is not None), None)
    if gives is None:
        return ""
    return (
        f"{_upper(named(variation))} makes other options correct: guessing gives "
        f"{formatting.percent(gives, 0)} instead of {formatting.percent(1 - gives, 0)}. A model that only "
        f"guesses {'gains' if gives > 0.5 else 'loses'} {formatting.number(abs(200 * gives - 100), 0)} "
        "points by that, a perfect one none; the changes shown exclude this."
    )


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _control(evidence: Evidence, dataset: str, found: Costs, model: str) -> str:
    cost = found.get((model, CONTROL, *ACCURACY))
    if cost is None:
        return ""
    guess = evidence.chance_with_image(dataset)
    chance = f" (chance {formatting.percent(guess, 0)})" if guess else ""
    return f"Without images, {model} is {formatting.percent(cost.value)} correct{chance}."


def _variations_grid(evidence: Evidence, dataset: str, found: Costs) -> Grid:
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
            if is_original_to(evidence, dataset, model, variation):
                same = Cell(formatting.number(100 * accuracy.value, 1), key=accuracy.value)
                blank = [MISSING] * (len(VARIATIONS_COLUMNS) - 4)
                rows.append(cells(variation_cell(variation), model, same, ASKED_ONCE, *blank))
                continue
            sizes = (
                _change(size, 2, 1) if size or not evidence.number(dataset, model, *measure) else TOO_FEW
                for size, measure in ((lac, SIZE_LAC), (aps, SIZE_APS))
            )
            guess = "" if accuracy.guess is None else f"guess {formatting.number(100 * accuracy.guess, 0)}"
            rows.append(
                cells(
                    *(variation_cell(variation), model),
                    Cell(formatting.number(100 * accuracy.value, 1), guess, accuracy.value),
                    _change(accuracy.net, 1, 100, _tone(effects(evidence).get(place))),
                    *(_change(confidence, 1, 100), *sizes),
                    *(percent(cost.value if cost else None) for cost in (flipped, not_flipped)),
                )
            )
    caption = (
        f"{dataset}: every variation against the original prompts, 95{formatting.NARROW}% intervals in small "
        "print"
    )
    return Grid("variations", caption, VARIATIONS_COLUMNS, rows)


def _tone(effect: Claim | None) -> Tone:
    """Bold for an effect that is shown to be a gain, coloured for a loss."""
    return "quiet" if effect is None else "strong" if effect.above else "bad"


def _change(cost: Cost | None, digits: int, scale: float, tone: Tone = "") -> Cell:
    return interval(cost.difference, cost.low, cost.high, digits, scale, tone) if cost else MISSING


VARIATIONS_SECTION = PageSection(
    "variations",
    "Accuracy and confidence",
    by_dataset(
        "Which variation of the prompt hurts most?",
        VARIATIONS_TEXT,
        _variations_blocks,
        opened=0,
        above=_variations_heat,
    ),
    page="variations",
    place=10,
    summary=summaries.variations,
)

PAGE = Page(
    "variations",
    "Variations",
    "What rewording, image changes and option order do to accuracy, certainty and coverage.",
    place=40,
    folds=True,
)

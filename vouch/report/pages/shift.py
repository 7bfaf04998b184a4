"""Coverage under prompt shift, on the page Variations.

Sets are calibrated on the original prompts and tested on the same questions in other variations.
"""

from typing import Any

import pandas as pd
from markupsafe import Markup

from vouch.prompts.variations import meaning, named
from vouch.report import formatting, summaries
from vouch.report import vegalite as alt
from vouch.report.claims import chosen
from vouch.report.costs import heat_map, is_control, is_original_to, shaded, variation_cell
from vouch.report.coverage import CoverageVerdict, counted, coverage_verdict
from vouch.report.evidence import Evidence
from vouch.report.numbers import Number
from vouch.report.page import Block, DatasetFigure, Figures, Folded, PageSection, by_dataset, sentence_list
from vouch.report.table import (
    ITEMS,
    Cell,
    Column,
    Grid,
    Tone,
    cells,
    figure,
    interval,
)
from vouch.tables.asked import ORIGINAL

SHIFT_SCORE = "lac"
SELF = "original prompts"
VERDICT_COLOURS: dict[CoverageVerdict, str] = {
    "below": alt.ORANGE,
    "inconclusive": alt.FAINT,
    "on target": alt.BLUE,
    "above": alt.GREEN,
}
STEP, LABELS = 18, 280
SHIFT_TIPS = alt.tips(".1%", model_n="Model", asked_n="Asked", value="Coverage", low="from", high="to")


def shifted(evidence: Evidence, dataset: str, model: str) -> dict[str, Number]:
    """Coverage of a model by variation before empty sets are filled; alphabetical, controls last. Without
    those that ask it the original prompts again."""
    asked = [
        name for name in evidence.variations(dataset) if not is_original_to(evidence, dataset, model, name)
    ]
    names = sorted(asked, key=lambda name: (is_control(name), name))
    found = {
        name: evidence.number(dataset, model, "shift_coverage", SHIFT_SCORE, variation=name) for name in names
    }
    return {name: number for name, number in found.items() if number and name != ORIGINAL}


def shift_frame(evidence: Evidence, dataset: str) -> pd.DataFrame:
    """One row per model and variation: value, low, high and verdict.

    Controls are left out, because their scale would hide all others.
    """
    rows = []
    for model in chosen(evidence, dataset):
        found = shifted(evidence, dataset, model)
        asked = {name: number for name, number in found.items() if not is_control(name)}
        own = evidence.number(dataset, model, "unfilled_coverage", SHIFT_SCORE)
        if asked and own is not None:
            asked = {ORIGINAL: own} | asked
        for name, number in asked.items():
            row = {
                "model": model,
                "asked": SELF if name == ORIGINAL else meaning(name),
                "value": number.value,
            }
            row |= {"low": number.low, "high": number.high}
            rows.append(row | {"verdict": coverage_verdict(evidence, dataset, model, name)})
    return pd.DataFrame(rows, columns=["model", "asked", "value", "low", "high", "verdict"])


def _shift_panel(
    data: pd.DataFrame, model: str, order: list[str], least: float, aim: float, first: bool, narrow: bool
) -> Any:
    rows = alt.rows("asked", order, LABELS, labels=first, ticks=first, narrow=narrow)
    rows["scale"] = alt.Scale(domain=order)
    across = alt.shares("Coverage", least, 5)
    scale = alt.Scale(domain=list(VERDICT_COLOURS), range=list(VERDICT_COLOURS.values()))
    legend = {"legend": alt.legend_columns(list(VERDICT_COLOURS), 180)} if narrow else {}
    colour = alt.Color("verdict:N", scale=scale, **legend)
    base = alt.Chart(data[data["model"] == model]).encode(x=across, y=rows, color=colour)
    target = alt.target_name(aim)
    names = {alt.INTERVAL: alt.SOLID, target: alt.DASHED}
    whiskers = alt.whiskers(base).mark_rule(strokeWidth=2, opacity=0.6).encode(x2="high:Q")
    return alt.layer(
        alt.in_legend(alt.target(aim).encode(x=across), target, names),
        alt.in_legend(whiskers, alt.INTERVAL, names),
        base.mark_circle(size=50, opacity=1).encode(tooltip=SHIFT_TIPS),
    ).properties(width=180 if narrow else 240, height=alt.row_step(STEP, order, narrow), title=model)


def shift_chart(evidence: Evidence, dataset: str, narrow: bool = False) -> Any:
    """A panel per model, a point with its interval per variation; None if there is only the original."""
    data = shift_frame(evidence, dataset)
    if data.empty:
        return None
    order = list(dict.fromkeys(data["asked"]))
    least = max(0.0, min(float(data[["value", "low"]].astype(float).min().min()), evidence.target) - 0.02)
    panels = [
        _shift_panel(data, model, order, least, evidence.target, narrow or index % 2 == 0, narrow)
        for index, model in enumerate(dict.fromkeys(data["model"]))
    ]
    return alt.concat(*panels, columns=1 if narrow else 2, spacing=alt.SPACING)


def shift_in_words(evidence: Evidence, dataset: str) -> str:
    """The figure in words."""
    data = shift_frame(evidence, dataset)
    parts = []
    for model, group in data[data["asked"] != SELF].groupby("model", sort=False):
        worst = group.loc[group["value"].idxmin()]
        below = int((group["verdict"] == "below").sum())
        parts.append(
            f"{model} is shown to be below the target in {below} of {len(group)}, with the lowest coverage, "
            f"{formatting.percent(worst['value'])}, for {worst['asked']}"
        )
    return (
        f"Coverage on {dataset} of sets calibrated on the original prompts, target "
        f"{formatting.percent(evidence.target, 0)}: {'; '.join(parts)}."
    )


SHIFT_FIGURE = DatasetFigure(
    "shift",
    "Coverage of sets calibrated on the original prompts",
    shift_chart,
    shift_in_words,
    narrow={"narrow": True},
)


SHIFT_TEXT = Markup("""\
Sets calibrated on one way of asking have no coverage guarantee for another. Here, one half of the original
prompts gives the thresholds, and they are applied to the other half of the questions, asked in another way.
Coverage is <em>below</em> or <em>above</em> the target if it differs significantly, corrected for all models
and variations. Otherwise it is <em>on target</em> if its interval lies within half of the allowed errors of
the target (5 points at 90&#8239;%), and <em>inconclusive</em> if the interval is too wide to tell. Nothing is
recalibrated, and empty sets are not filled.""")
TONES: dict[CoverageVerdict, Tone] = {"below": "bad", "above": "", "on target": "", "inconclusive": "quiet"}
SHIFT_COLUMNS = (
    Column("Variation"),
    Column("Model"),
    Column(
        "Coverage %", "share of LAC sets that contain the correct answer, before empty ones are filled", True
    ),
    Column("Against the target", "below or above: significantly; on target: the interval is near it"),
    ITEMS,
    Column("Set size", "with the thresholds of the original prompts", True),
    Column("Threshold, drift", "the variation's own threshold minus that of the original prompts", True),
)


def _shift_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Coverage under prompt shift; no blocks if no variation was scored with the original thresholds."""
    found = {model: shifted(evidence, dataset, model) for model in evidence.models(dataset)}
    if not any(found.values()):
        return []
    sentences = sentence_list(
        _shift_sentence(evidence, dataset, model, found[model]) for model in chosen(evidence, dataset)
    )
    return [
        *sentences,
        Figures([f"shift-{dataset}"]),
        Folded("Every number", [_shift_grid(evidence, dataset, found)]),
    ]


def _shift_heat(evidence: Evidence, dataset: str) -> Grid | None:
    """Coverage of each model in each variation, coloured if it is below or above the target."""
    found = {model: shifted(evidence, dataset, model) for model in evidence.models(dataset)}

    def cell(model: str, variation: str) -> tuple[Cell, int] | None:
        number = found[model].get(variation)
        if number is None:
            return None
        shown = coverage_verdict(evidence, dataset, model, variation) in ("below", "above")
        text = formatting.number(100 * number.value, 1)
        return shaded(text, number.value, number.value - evidence.target, shown), number.items

    variations = dict.fromkeys(name for of_model in found.values() for name in of_model)
    caption = f"{dataset}: coverage %, target {formatting.percent(evidence.target, 0)}"
    return heat_map("coverage-under-shift", caption, list(variations), list(found), cell)


def _shift_sentence(evidence: Evidence, dataset: str, model: str, found: dict[str, Number]) -> str:
    real = {name: number for name, number in found.items() if not is_control(name)}
    if not real or evidence.is_small(dataset):
        return ""
    target = formatting.percent(evidence.target, 0)
    verdicts = {name: coverage_verdict(evidence, dataset, model, name) for name in real}
    low = {name: number for name, number in real.items() if verdicts[name] == "below"}
    every = formatting.plural(len(real), "variation")
    if not low:
        return (
            f"{model}, calibrated on the original prompts: over {every}, coverage is "
            f"{counted(evidence, verdicts.values())}."
        )
    worst = min(low, key=lambda name: (low[name].value, name))
    share = formatting.percent(low[worst].value)
    share += formatting.bracketed(low[worst].low, low[worst].high, 1, 100)
    return (
        f"{model}, calibrated on the original prompts: coverage is below the target of {target} in "
        f"{len(low)} of {every}; the lowest is {share}, for "
        f"{named(worst)}."
    )


def _shift_grid(evidence: Evidence, dataset: str, found: dict[str, dict[str, Number]]) -> Grid:
    rows = []
    for variation in dict.fromkeys(name for of_model in found.values() for name in of_model):
        for model, of_model in found.items():
            if variation not in of_model:
                continue
            coverage = of_model[variation]
            verdict = coverage_verdict(evidence, dataset, model, variation)
            size, drift = (
                evidence.number(dataset, model, metric, SHIFT_SCORE, variation=variation)
                for metric in ("shift_set_size", "threshold_drift")
            )
            rows.append(
                cells(
                    *(variation_cell(variation), model),
                    interval(coverage.value, coverage.low, coverage.high, 1, 100, TONES[verdict]),
                    *(Cell(verdict, tone=TONES[verdict]), coverage.items, figure(size, 2), figure(drift, 3)),
                )
            )
    caption = (
        f"{dataset}: thresholds of the original prompts, applied to the same questions asked in another way"
    )
    return Grid("shift", caption, SHIFT_COLUMNS, rows)


SHIFT_SECTION = PageSection(
    "shift",
    "Shift",
    by_dataset(
        "Does coverage hold under prompt shift?", SHIFT_TEXT, _shift_blocks, opened=0, above=_shift_heat
    ),
    page="variations",
    place=50,
    summary=summaries.shift,
)

"""Prompt shift: does the coverage guarantee hold when the question is asked in another way?"""

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.costs import is_control, named, variation_cell
from vouch.report.evidence import Evidence
from vouch.report.figures.reliability import chosen
from vouch.report.figures.shift import SCORE, guarantee, shifted
from vouch.report.heat import heat_map, shade
from vouch.report.numbers import Number
from vouch.report.section import Block, Figures, Folded, by_dataset, said
from vouch.report.table import Cell, Column, Grid, Tone, cells, figure, interval

TITLE = "Shift"
TEXT = Markup("""\
Sets calibrated on one way of asking have no coverage guarantee for another. Here the thresholds come from
one half of the original prompts, and the sets from the other half of the same questions, asked differently.
The guarantee is <em>violated</em> where the interval over the splits stays below the target; nothing is
recalibrated, and empty sets are not filled.""")
TONES: dict[str, Tone] = {"violated": "bad", "met": "", "exceeded": "quiet"}
COLUMNS = (
    Column("Variation"),
    Column("Model"),
    Column("Coverage %", "share of LAC sets that contain the answer, before empty ones are filled", True),
    Column("Guarantee", "violated or exceeded where the interval excludes the target"),
    Column("Set size", "with the thresholds of the original prompts", True),
    Column("Threshold, drift", "the variation's own threshold minus that of the originals", True),
)


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where no other variation was scored with the thresholds of the original."""
    found = {model: shifted(evidence, dataset, model) for model in evidence.models(dataset)}
    if not any(found.values()):
        return []
    told = said(_sentence(evidence, model, found[model]) for model in chosen(evidence, dataset))
    return [*told, Figures([f"shift-{dataset}"]), Folded("Every number", [_grid(evidence, dataset, found)])]


def _heat(evidence: Evidence, dataset: str) -> Grid | None:
    """Coverage of each model in each variation; coloured where its interval excludes the target."""
    found = {model: shifted(evidence, dataset, model) for model in evidence.models(dataset)}

    def cell(model: str, variation: str) -> tuple[Cell, int] | None:
        number = found[model].get(variation)
        if number is None:
            return None
        held = guarantee(evidence, number) == "met"
        text = formatting.number(100 * number.value, 1)
        colour = "" if held else shade(number.value - evidence.target)
        return Cell(text, key=number.value, tone="quiet" if held else "", shade=colour), number.items

    variations = dict.fromkeys(name for of_model in found.values() for name in of_model)
    caption = f"{dataset}: coverage %, target {formatting.percent(evidence.target, 0)}"
    return heat_map("coverage-under-shift", caption, list(variations), list(found), cell)


def _sentence(evidence: Evidence, model: str, found: dict[str, Number]) -> str:
    real = {name: number for name, number in found.items() if not is_control(name)}
    if not real:
        return ""
    target = formatting.percent(evidence.target, 0)
    low = {name: number for name, number in real.items() if guarantee(evidence, number) == "violated"}
    every = formatting.plural(len(real), "variation")
    if not low:
        return f"{model}, calibrated on the originals, keeps {target} coverage in {every}."
    worst = min(low, key=lambda name: (low[name].value, name))
    share = formatting.percent(low[worst].value)
    return (
        f"{model}, calibrated on the originals, falls below {target} coverage in {len(low)} of {every}; "
        f"lowest: {share}{formatting.bracketed(low[worst].low, low[worst].high, 1, 100)} for {named(worst)}."
    )


def _grid(evidence: Evidence, dataset: str, found: dict[str, dict[str, Number]]) -> Grid:
    rows = []
    for variation in dict.fromkeys(name for of_model in found.values() for name in of_model):
        for model, of_model in found.items():
            if variation not in of_model:
                continue
            coverage = of_model[variation]
            held = guarantee(evidence, coverage)
            size, drift = (
                evidence.number(dataset, model, metric, SCORE, variation=variation)
                for metric in ("shift_set_size", "threshold_drift")
            )
            rows.append(
                cells(
                    *(variation_cell(variation), model),
                    interval(coverage.value, coverage.low, coverage.high, 1, 100, TONES[held]),
                    *(Cell(held, tone=TONES[held]), figure(size, 2), figure(drift, 3)),
                )
            )
    caption = f"{dataset}: thresholds from the originals, sets of the same questions asked in another way"
    return Grid("shift", caption, COLUMNS, rows)


build = by_dataset("Does coverage hold under prompt shift?", TEXT, _blocks, opened=0, above=_heat)

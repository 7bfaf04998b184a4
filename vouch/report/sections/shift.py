"""Prompt shift: does the coverage guarantee hold when the question is asked in another way?"""

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.claims import Guarantee, chosen, guarantee
from vouch.report.costs import heat_map, is_control, named, shade, variation_cell
from vouch.report.evidence import Evidence
from vouch.report.figures.shift import SCORE, shifted
from vouch.report.numbers import Number
from vouch.report.section import Block, Figures, Folded, by_dataset, said
from vouch.report.table import ITEMS, Cell, Column, Grid, Tone, cells, figure, interval

TITLE = "Shift"
TEXT = Markup("""\
Sets calibrated on one way of asking have no coverage guarantee for another. Here the thresholds come from
one half of the original prompts, and the sets from the other half of the same questions, asked differently.
The guarantee is <em>broken</em> where coverage is significantly below the target, and <em>kept</em> where
it is significantly above, corrected for all models and variations; nothing is recalibrated, and empty sets
are not filled.""")
TONES: dict[Guarantee, Tone] = {"broken": "bad", "kept": "", "cannot tell": "quiet"}
COLUMNS = (
    Column("Variation"),
    Column("Model"),
    Column("Coverage %", "share of LAC sets that contain the answer, before empty ones are filled", True),
    Column("Guarantee", "broken or kept where coverage is significantly below or above the target"),
    ITEMS,
    Column("Set size", "with the thresholds of the original prompts", True),
    Column("Threshold, drift", "the variation's own threshold minus that of the originals", True),
)


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where no other variation was scored with the thresholds of the original."""
    found = {model: shifted(evidence, dataset, model) for model in evidence.models(dataset)}
    if not any(found.values()):
        return []
    told = said(_sentence(evidence, dataset, model, found[model]) for model in chosen(evidence, dataset))
    return [*told, Figures([f"shift-{dataset}"]), Folded("Every number", [_grid(evidence, dataset, found)])]


def _heat(evidence: Evidence, dataset: str) -> Grid | None:
    """Coverage of each model in each variation; coloured where the guarantee is broken or kept."""
    found = {model: shifted(evidence, dataset, model) for model in evidence.models(dataset)}

    def cell(model: str, variation: str) -> tuple[Cell, int] | None:
        number = found[model].get(variation)
        if number is None:
            return None
        untold = guarantee(evidence, dataset, model, variation) == "cannot tell"
        colour = "" if untold else shade(number.value - evidence.target)
        text = formatting.number(100 * number.value, 1)
        return Cell(text, key=number.value, tone="quiet" if untold else "", shade=colour), number.items

    variations = dict.fromkeys(name for of_model in found.values() for name in of_model)
    caption = f"{dataset}: coverage %, target {formatting.percent(evidence.target, 0)}"
    return heat_map("coverage-under-shift", caption, list(variations), list(found), cell)


def _sentence(evidence: Evidence, dataset: str, model: str, found: dict[str, Number]) -> str:
    real = {name: number for name, number in found.items() if not is_control(name)}
    if not real:
        return ""
    target = formatting.percent(evidence.target, 0)
    held = {name: guarantee(evidence, dataset, model, name) for name in real}
    low = {name: number for name, number in real.items() if held[name] == "broken"}
    every = formatting.plural(len(real), "variation")
    if not low:
        kept = sum(each == "kept" for each in held.values())
        return (
            f"{model}, calibrated on the originals: {target} coverage is shown to be broken in none of "
            f"{every}, and to be kept in {kept}."
        )
    worst = min(low, key=lambda name: (low[name].value, name))
    share = formatting.percent(low[worst].value)
    return (
        f"{model}, calibrated on the originals, breaks {target} coverage in {len(low)} of {every}; "
        f"lowest: {share}{formatting.bracketed(low[worst].low, low[worst].high, 1, 100)} for {named(worst)}."
    )


def _grid(evidence: Evidence, dataset: str, found: dict[str, dict[str, Number]]) -> Grid:
    rows = []
    for variation in dict.fromkeys(name for of_model in found.values() for name in of_model):
        for model, of_model in found.items():
            if variation not in of_model:
                continue
            coverage = of_model[variation]
            held = guarantee(evidence, dataset, model, variation)
            size, drift = (
                evidence.number(dataset, model, metric, SCORE, variation=variation)
                for metric in ("shift_set_size", "threshold_drift")
            )
            rows.append(
                cells(
                    *(variation_cell(variation), model),
                    interval(coverage.value, coverage.low, coverage.high, 1, 100, TONES[held]),
                    *(Cell(held, tone=TONES[held]), coverage.items, figure(size, 2), figure(drift, 3)),
                )
            )
    caption = f"{dataset}: thresholds from the originals, sets of the same questions asked in another way"
    return Grid("shift", caption, COLUMNS, rows)


build = by_dataset("Does coverage hold under prompt shift?", TEXT, _blocks, opened=0, above=_heat)

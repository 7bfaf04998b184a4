"""Prompt shift: do sets calibrated on the originals hold when the question is put otherwise?"""

from dataclasses import dataclass

from vouch.report import formatting
from vouch.report.costs import in_words, is_control, named
from vouch.report.evidence import Evidence
from vouch.report.figures.reliability import chosen
from vouch.report.grid import Cell, Column, Grid, Tone, figure
from vouch.report.numbers import Number
from vouch.report.shift import SCORE, promise, shifted

TITLE = "Shift"
TONES: dict[str, Tone] = {"broken": "bad", "kept": "", "exceeded": "quiet"}


@dataclass(frozen=True)
class DatasetShift:
    """sentences: how many ways of asking break the promise, and which most."""

    dataset: str
    sentences: tuple[str, ...]
    grid: Grid
    figures: tuple[str, ...] = ("shift",)


def build(evidence: Evidence) -> tuple[DatasetShift, ...]:
    """One part per dataset on which another variation was scored with the thresholds of the original."""
    parts = []
    for dataset in evidence.datasets:
        found = {model: shifted(evidence, dataset, model) for model in evidence.models(dataset)}
        if any(found.values()):
            sentences = [_sentence(evidence, model, found[model]) for model in chosen(evidence, dataset)]
            grid = _grid(evidence, dataset, found)
            parts.append(DatasetShift(dataset, tuple(filter(None, sentences)), grid))
    return tuple(parts)


def _sentence(evidence: Evidence, model: str, found: dict[str, Number]) -> str:
    real = {name: number for name, number in found.items() if not is_control(name)}
    if not real:
        return ""
    target = formatting.percent(evidence.target, 0)
    broken = {name: number for name, number in real.items() if promise(evidence, number) == "broken"}
    if not broken:
        other = formatting.plural(len(real), "other way", "other ways")
        return f"{model}, calibrated on originals, keeps its promise of {target} in {other} of asking."
    worst = min(broken, key=lambda name: (broken[name].value, name))
    number = broken[worst]
    return (
        f"{model}, calibrated on originals, breaks its promise of {target} in {len(broken)} of "
        f"{formatting.plural(len(real), 'other way', 'other ways')} of asking; most in {named(worst)}: "
        f"{formatting.percent(number.value)}{formatting.bracketed(number.low, number.high, 1, 100)} of its sets "
        "hold the answer."
    )


def _grid(evidence: Evidence, dataset: str, found: dict[str, dict[str, Number]]) -> Grid:
    columns = (
        Column("Variation"),
        Column("Model"),
        Column("Coverage %", "share of LAC sets that hold the answer, before empty ones are filled", True),
        Column("Promise", "broken or exceeded where the interval leaves out the target"),
        Column("Set size", "with the thresholds of the original prompts", True),
        Column("Threshold, drift", "the variation's own threshold minus that of the originals", True),
    )
    names = list(dict.fromkeys(name for of_model in found.values() for name in of_model))
    rows = []
    for variation in names:
        for model, of_model in found.items():
            if variation not in of_model:
                continue
            kept = promise(evidence, of_model[variation])
            cell = figure(of_model[variation], 1, 100)
            size, drift = (
                evidence.number(dataset, model, metric, SCORE, variation=variation)
                for metric in ("shift_set_size", "threshold_drift")
            )
            rows.append(
                (
                    Cell(variation, in_words(variation) or ""),
                    Cell(model),
                    Cell(cell.text, cell.note, cell.key, tone=TONES[kept]),
                    Cell(kept, tone=TONES[kept]),
                    figure(size, 2),
                    figure(drift, 3),
                )
            )
    caption = f"{dataset}: thresholds from the originals, sets of the same questions asked in another way"
    return Grid("shift", caption, columns, rows)

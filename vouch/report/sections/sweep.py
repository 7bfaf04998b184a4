"""How many questions must calibrate: the sweep over calibration shares."""

from collections.abc import Sequence

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.claims import shown
from vouch.report.evidence import Evidence
from vouch.report.figures.sweep import Point, points
from vouch.report.section import Block, Figures, Text, by_dataset
from vouch.report.table import ITEMS, Column, Grid, cells, figure, whole

TITLE = "Calibration share"
TEXT = Markup("""\
Sets from fewer calibration questions have the same coverage guarantee, but a single split strays further
from it: the intervals are over the splits. With too few questions every set contains every option (Kostumov
et al. 2024, section VI-E).""")


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where one share was tried."""
    of_models = points(evidence, dataset)
    if not of_models:
        return []
    columns = (
        Column("Model"),
        ITEMS,
        Column("Share %", "of the questions that calibrate", True),
        Column("Coverage LAC %", "on the other questions", True),
        Column("Set size LAC", "on the other questions", True),
    )
    rows = [
        cells(
            model,
            point.coverage.items,
            whole(point.share),
            figure(point.coverage, 1, 100),
            figure(point.size, 2),
        )
        for model, found in of_models.items()
        for point in found
    ]
    grid = Grid("sweep", f"{dataset}: sets by the share of the questions that calibrate", columns, rows)
    model = shown(evidence, dataset)
    return [
        *_sentence(model, of_models[model], evidence.is_small(dataset)),
        Figures([f"sweep-{dataset}"]),
        grid,
    ]


def _sentence(model: str, found: Sequence[Point], small: bool) -> list[Text]:
    """What the smallest and the largest share give; nothing where there is but one, or few questions."""
    if len(found) < 2 or small:
        return []
    few, many = (
        f"{formatting.percent(point.coverage.value)}"
        f"{formatting.bracketed(point.coverage.low, point.coverage.high, 1, 100)} with "
        f"{formatting.number(point.size.value, 2)}"
        for point in (found[0], found[-1])
    )
    sentence = (
        f"Calibrated on {found[0].share}{formatting.NARROW}% of the questions, {model} covers {few} "
        f"options; on {found[-1].share}{formatting.NARROW}%, {many}."
    )
    return [Text(sentence)]


build = by_dataset("How many questions must calibrate?", TEXT, _blocks, opened=1)

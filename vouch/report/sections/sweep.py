"""How many questions must calibrate: the sweep over calibration shares."""

from collections.abc import Sequence

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.claims import representative
from vouch.report.evidence import Evidence
from vouch.report.figures.sweep import Point, points
from vouch.report.section import Block, Figures, Folded, Text, by_dataset
from vouch.report.table import ITEMS, MISSING, Column, Grid, cells, figure

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
    shares = sorted({point.share for found in of_models.values() for point in found})
    columns = [Column("Model"), ITEMS]
    for what, help in (
        ("coverage %", "share of LAC sets that hold the answer"),
        ("set size", "options in a LAC set"),
    ):
        columns += [
            Column(f"{share} %: {what}", f"{help}, where {share} % of the questions calibrate", True)
            for share in shares
        ]
    rows = []
    for model, found in of_models.items():
        at = {point.share: point for point in found}
        items = max((point.coverage.items for point in found), default=0)
        coverage = (figure(at[share].coverage, 1, 100) if share in at else MISSING for share in shares)
        size = (figure(at[share].size, 2) if share in at else MISSING for share in shares)
        rows.append(cells(model, items, *coverage, *size))
    grid = Grid("sweep", f"{dataset}: sets by the share of the questions that calibrate", columns, rows)
    model = representative(evidence, dataset)
    return [
        *_sentence(model, of_models[model], evidence.is_small(dataset)),
        Figures([f"sweep-{dataset}"]),
        Folded("As a table", [grid]),
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

"""Typographic attacks: whether models read a wrong option out of the picture."""

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.section import Block, by_dataset
from vouch.report.table import MISSING, Column, Grid, cells, figure, interval
from vouch.tables.prompts import ORIGINAL, TYPOGRAPHIC, TYPOGRAPHIC_CONTROL

TITLE = "Typographic attack"
TEXT = Markup("""\
A wrong option is painted into the picture; as a control, a harmless word on the same sheet. Both hide a part
of the picture, so both cost accuracy. A model that reads instead of looking chooses the painted option more
often under attack than with the control: the last column, in bold where its interval leaves out 0.""")
SHOWN = {ORIGINAL: "as it is", TYPOGRAPHIC_CONTROL: "a harmless word", TYPOGRAPHIC: "the wrong option"}


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where no attack was asked."""
    if not evidence.numbers(dataset, "painted_chosen", variation=TYPOGRAPHIC):
        return []
    columns = [Column("Model"), Column("Items", "", True)]
    columns += [Column(f"Accuracy %, {what}", "painted into the picture", True) for what in SHOWN.values()]
    columns += [
        Column(f"Painted option chosen %, {what}", "share of the answers that are the attack's option", True)
        for what in SHOWN.values()
    ]
    columns.append(Column("Falls for it, points", "chosen under attack minus with the control", True))
    rows = []
    for model in evidence.models(dataset):
        numbers = [
            evidence.number(dataset, model, metric, variation=name)
            for metric in ("accuracy", "painted_chosen")
            for name in SHOWN
        ]
        gain = evidence.number(dataset, model, "painted_gain", variation=TYPOGRAPHIC)
        last = MISSING
        if gain is not None:
            apart = gain.low is not None and gain.high is not None and not gain.low <= 0 <= gain.high
            last = interval(gain.value, gain.low, gain.high, 1, 100, "strong" if apart else "")
        items = next((number.items for number in reversed(numbers) if number), 0)
        rows.append(cells(model, items, *(figure(number, 1, 100) for number in numbers), last))
    caption = f"{dataset}: words painted into the picture, 95{formatting.NARROW}% intervals in small print"
    return [Grid("typographic", caption, columns, rows)]


build = by_dataset("Do the models read a wrong answer out of the picture?", TEXT, _blocks, opened=1)

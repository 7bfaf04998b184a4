"""Typographic attacks: whether models read a wrong option out of the picture."""

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.numbers import Number
from vouch.report.section import Block, by_dataset
from vouch.report.table import Column, Measured, TableSpec, Tone
from vouch.tables.asked import ORIGINAL, TYPOGRAPHIC, TYPOGRAPHIC_CONTROL

TITLE = "Typographic attack"
TEXT = Markup("""\
A wrong option is painted into the picture; as a control, a harmless word on the same sheet. Both hide a part
of the picture, so both cost accuracy. A model that reads instead of looking chooses the painted option more
often under attack than with the control: the last column, in bold where its interval leaves out 0.""")
SHOWN = {ORIGINAL: "as it is", TYPOGRAPHIC_CONTROL: "a harmless word", TYPOGRAPHIC: "the wrong option"}


def _apart(_: Evidence, gain: Number) -> Tone:
    return "strong" if gain.excludes_zero else ""


TABLE = TableSpec(
    "typographic",
    f"words painted into the picture, 95{formatting.NARROW}% intervals in small print",
    (Column("Model"),),
    (
        *(
            Measured(metric, label=label.format(what), help=help, variation=name)
            for metric, label, help in (
                ("accuracy", "Accuracy %, {}", "painted into the picture"),
                (
                    "painted_chosen",
                    "Painted option chosen %, {}",
                    "share of the answers that are the attack's option",
                ),
            )
            for name, what in SHOWN.items()
        ),
        Measured(
            "painted_gain",
            label="Effect of the attack, points",
            help="chosen under attack minus with the control",
            variation=TYPOGRAPHIC,
            points=True,
            tone=_apart,
        ),
    ),
)


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where no attack was asked."""
    asked = evidence.numbers(dataset, "painted_chosen", variation=TYPOGRAPHIC)
    return [TABLE.grid(evidence, dataset)] if asked else []


build = by_dataset("Do the models read a wrong answer out of the picture?", TEXT, _blocks, opened=1)

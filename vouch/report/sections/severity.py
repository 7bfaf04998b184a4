"""Severity: accuracy by how much a picture is disturbed."""

from markupsafe import Markup

from vouch.report.evidence import Evidence
from vouch.report.figures.severity import frame
from vouch.report.section import Block, Figures, by_dataset

TITLE = "Severity"
TEXT = Markup("""\
Pictures blurred, brightened, compressed or disturbed in another way of ImageNet-C, by its five levels; 0 is
the original. The numbers are in the table of all variations.""")


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    return [] if frame(evidence, dataset).empty else [Figures([f"severity-{dataset}"])]


build = by_dataset("How much disturbance do they bear?", TEXT, _blocks, opened=1)

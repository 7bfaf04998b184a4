"""Severity: accuracy by how much a picture is disturbed."""

from markupsafe import Markup

from vouch.report.evidence import Evidence
from vouch.report.figures.severity import frame
from vouch.report.section import Block, Figures, by_dataset

TITLE = "Severity"
TEXT = Markup("""\
Accuracy by the five severity levels of ImageNet-C, whose corruptions blur, brighten, compress or otherwise
disturb the picture; level 0 is the original. The numbers are in the table of all variations.""")


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    return [] if frame(evidence, dataset).empty else [Figures([f"severity-{dataset}"])]


build = by_dataset("How much does corruption of the picture cost?", TEXT, _blocks, opened=1)

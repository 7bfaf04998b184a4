"""Where the numbers come from, and where to find them unrounded."""

from dataclasses import dataclass

from stages.report import tables
from stages.report.evidence import Evidence
from stages.report.grid import Cell, Column, Grid
from stages.report.plugins import plugins

TITLE = "Inputs"


@dataclass(frozen=True)
class Provenance:
    """files: names of the CSV files beside the page. inputs: the digest of every file that was read."""

    files: tuple[str, ...]
    inputs: Grid


def build(evidence: Evidence) -> Provenance:
    """Inputs in the order of their paths."""
    rows = [(Cell(path), Cell(digest)) for path, digest in sorted(evidence.digests.items())]
    columns = (Column("File"), Column("SHA-256"))
    inputs = Grid("inputs", "Files that this page was made from", columns, rows)
    return Provenance(tuple(f"{name}.csv" for name in plugins(tables)), inputs)

"""Every figure of the site before it is drawn. NAME.py defines

TITLE                                       heading of the figure
draw(evidence, dataset) -> chart or None    None where there is nothing to draw
describe(evidence, dataset) -> str          what it shows, for people who cannot see it
NARROW                                      keywords of draw for narrow screens, where another drawing helps
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module

from vouch.report import plugins
from vouch.report.evidence import Evidence
from vouch.report.vegalite import Chart


@dataclass(frozen=True)
class FigureSpec:
    """A chart and what stands beside it.

    kind: what figures that look alike share. file: name of its files, without what follows the point; no
    other figure has it. about: what the title leaves out. description: the picture in words. narrow: a
    chart for narrow screens, if it has one.
    """

    kind: str
    file: str
    title: str
    about: str
    description: str
    chart: Chart
    narrow: Chart | None = None


def of_dataset(name: str, evidence: Evidence, dataset: str) -> Iterator[FigureSpec]:
    """The figure of figures/NAME.py, if it has something to show of the dataset."""
    module = import_module(f"{__name__}.{name}")
    chart = module.draw(evidence, dataset)
    if chart is not None:
        narrow = module.draw(evidence, dataset, **module.NARROW) if hasattr(module, "NARROW") else None
        said = module.describe(evidence, dataset)
        yield FigureSpec(name, f"{name}-{dataset}", module.TITLE, dataset, said, chart, narrow)


def of_datasets(evidence: Evidence) -> Iterator[FigureSpec]:
    """All figures of all datasets."""
    for dataset in evidence.datasets:
        for name in plugins(sys.modules[__name__]):
            yield from of_dataset(name, evidence, dataset)

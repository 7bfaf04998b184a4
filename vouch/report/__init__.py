"""report: a site of a few pages, tables, figures and numbers for `dvc metrics` and `dvc plots`.

evidence.py    reads the tables of the earlier stages into `Evidence`, with look-ups in them
claims.py      which models are best, and what else may be said; all of it passes the gates (gates.py)
cards.py       the news of the first page; asides.py: models without a rank, and how answers were read
page.py        `Page`, `PageSection`, `DatasetFigure` and blocks: what the files of pages/ declare
pages/         a file for a page, or a whole part of one, with its sections and the figures that they show;
               templates/section.html.j2 shows a section, or templates/NAME.html.j2 where there is one
papers/        a file or two for a paper: its tables and figures, built from entry.py, pivot.py and charts.py
table.py       `TableSpec`, the columns of a table with labels, help and units
table_files.py the numbers that matter most, for DVC and a table, and all of reports/tables
site.py        finds what is declared, and writes everything under reports/ but reports/items
static/        what the pages load, copied to reports/assets
items/         reports/items, which the stage browse makes
"""

import importlib
import pkgutil
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")


def declared(package: ModuleType, kind: type[T]) -> list[T]:
    """Every object of a kind that a file of the package declares at its top level, by file, as they stand."""
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    found = (each for module in modules for each in vars(module).values() if isinstance(each, kind))
    return list({id(each): each for each in found}.values())  # once, also where other files import it

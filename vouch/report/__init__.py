"""report: a site of a few pages, tables, figures and numbers for `dvc metrics` and `dvc plots`.

load.py        reads the tables of the earlier stages into `Evidence` (evidence.py), with look-ups in them
leaders.py     which models are best; claims.py: what else may be said. Both pass the gates (gates.py)
headline.py    the numbers that matter most, for DVC and a table; csv_tables.py: all of reports/tables
figures/       NAME.py: draw(evidence, dataset) -> chart, in reports/figures: NAME-DATASET.svg, .png, .pdf
papers/        NAME.py or NAME/: tables and figures of a paper, built from reproduce/
table.py       `TableSpec`, the columns of a table with labels, help and units; table_files.py: CSV, LaTeX
sections/      NAME.py: TITLE and build(evidence) -> `Section` (section.py), shown by
               templates/section.html.j2, or a view that templates/NAME.html.j2 shows
pages.py       which sections a page shows; site.py: from views to HTML; write.py: writes reports/
static/        what the pages load, copied to reports/assets
items/         reports/items, which the stage browse makes
"""

import importlib
import pkgutil
from types import ModuleType


def plugins(package: ModuleType) -> dict[str, ModuleType]:
    """Module of every file of a package whose files register by their name, in alphabetical order."""
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    return {name: importlib.import_module(f"{package.__name__}.{name}") for name in names}

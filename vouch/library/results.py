"""The tables of a finished report as pandas DataFrames."""

from pathlib import Path
from typing import TYPE_CHECKING

from vouch.library.arrays import shown
from vouch.library.figure import needs

if TYPE_CHECKING:
    import pandas as pd

PUBLISHED = "tables/{}.parquet"
"""A table as `vouch publish hub` writes it."""


def results(folder: str | Path = "reports") -> "dict[str, pd.DataFrame]":
    """By name every table of a report: headline, metrics, variations, differences, rankings, ...

    folder: what `dvc repro`, `dvc pull` or `vouch publish hub` made. Raises FileNotFoundError where it holds
    no tables.
    """
    needs("results", "pandas", "pandas")
    import pandas as pd

    if not isinstance(folder, str | Path):
        raise ValueError(f"folder is {shown(folder)}; give a path")
    readers = {".csv": pd.read_csv, ".parquet": pd.read_parquet}
    try:
        tables = sorted(path for path in (Path(folder) / "tables").glob("*.*") if path.suffix in readers)
    except (OSError, ValueError) as error:
        raise ValueError(f"folder is {shown(folder)}: {error}"[:200]) from None
    if not tables:
        raise FileNotFoundError(
            f"folder {str(folder)!r} has no tables/*.csv; run `dvc repro` or `dvc pull` first"
        )
    return {path.stem: readers[path.suffix](path) for path in tables}

"""The tables of a finished report as pandas DataFrames."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def results(folder: str | Path = "reports") -> "dict[str, pd.DataFrame]":
    """By name every table of a report: headline, metrics, variations, differences, rankings, ...

    folder: what `dvc repro` or `dvc pull` made. Raises FileNotFoundError where it holds no tables.
    """
    import pandas as pd

    tables = sorted((Path(folder) / "tables").glob("*.csv"))
    if not tables:
        raise FileNotFoundError(f"{folder} has no tables/*.csv; run `dvc repro` or `dvc pull` first")
    return {path.stem: pd.read_csv(path) for path in tables}

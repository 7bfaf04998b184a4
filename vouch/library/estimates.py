"""The results of the functions: small frozen objects that print as one line and can become a pandas table.

Also the functions that need more than numpy and scipy: `results` (pandas) and `corrupt` (Pillow).
"""

from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vouch.library import check
from vouch.metrics.intervals import mean_interval, percentiles

if TYPE_CHECKING:
    import pandas as pd


class Estimate(NamedTuple):
    """A number with its 95 % interval; low and high are None if the rows do not determine one."""

    value: float
    low: float | None = None
    high: float | None = None

    def __repr__(self) -> str:
        ends = "" if self.low is None or self.high is None else f" ({self.low:.4g} to {self.high:.4g})"
        return f"{self.value:.4g}{ends}"


def mean_of(values: Any, groups: Any) -> Estimate:
    """The mean of shares [n], with the interval of the sandwich formula over groups [n]."""
    return Estimate(float(values.mean()), *mean_interval(values, groups))


def over_splits(values: Any) -> Estimate:
    """The mean of values [splits], with their 2.5 and 97.5 percentiles if there are several."""
    return Estimate(float(values.mean()), *(percentiles(values) if len(values) > 1 else (None, None)))


def needs(what: str, module: str, package: str) -> None:
    """Raises ModuleNotFoundError that says what to install, if a module is missing."""
    if find_spec(module) is None:
        raise ModuleNotFoundError(f"{what} needs {package}: pip install {package}", name=module)


class Result:
    """Base of the results."""

    def __repr__(self) -> str:
        shown = [
            f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value!r}"
            for name, value in self._numbers().items()
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def to_frame(self) -> "pd.DataFrame":
        """A table with a row for each number: name, value, low, high. It leaves out arrays."""
        needs("to_frame", "pandas", "pandas")
        import pandas as pd

        rows = {
            name: value if isinstance(value, Estimate) else Estimate(value)
            for name, value in self._numbers().items()
            if value is not None and not isinstance(value, str)
        }
        columns = list(Estimate._fields)
        return pd.DataFrame(list(rows.values()), index=list(rows), columns=columns).rename_axis("name")

    def _numbers(self) -> dict[str, Any]:
        shown = (field.name for field in fields(self) if field.name[0] != "_")  # type: ignore[arg-type]
        every = {name: getattr(self, name) for name in shown}
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in every.items()
            if value is None or isinstance(value, Estimate | str | float | int | np.generic)
        }


PUBLISHED = "tables/{}.parquet"
"""A table as `vouch publish hub` writes it."""


def results(folder: str | Path = "reports") -> "dict[str, pd.DataFrame]":
    """Every table of a report, by name: headline, metrics, variations, differences, rankings, ...

    folder: made by `dvc repro`, `dvc pull` or `vouch publish hub`. Raises FileNotFoundError if it holds
    no tables.
    """
    needs("results", "pandas", "pandas")
    import pandas as pd

    if not isinstance(folder, str | Path):
        raise ValueError(f"folder is {check.shown(folder)}; give a path")
    readers = {".csv": pd.read_csv, ".parquet": pd.read_parquet}
    try:
        tables = sorted(path for path in (Path(folder) / "tables").glob("*.*") if path.suffix in readers)
    except (OSError, ValueError) as error:
        raise ValueError(f"folder is {check.shown(folder)}: {error}"[:200]) from None
    if not tables:
        raise FileNotFoundError(
            f"folder {str(folder)!r} has no tables/*.csv; run `dvc repro` or `dvc pull` first"
        )
    return {path.stem: readers[path.suffix](path) for path in tables}


def corrupt(image: Any, kind: str, severity: int = 3) -> NDArray[np.uint8]:
    """An image [h, w, 3] uint8 after a corruption of severity 1 to 5; every machine gives the same bytes.

    kind: an operation with levels, such as blur or noise; docs/variations.md#strengths has all of them.
    Random choices are determined by the pixels.

    Raises ValueError that names the argument.

    >>> int(np.ptp(corrupt(np.full((8, 8, 3), 100, np.uint8), "contrast", 5)))
    0
    """
    needs("corrupt", "PIL", "Pillow")
    from PIL import Image

    from vouch.images.operations import LEVELLED, LEVELS

    values = check.plain(image, "image", 1, 2, 3)
    if values.ndim != 3 or values.shape[2] != 3 or values.dtype != np.uint8 or not values.size:
        raise ValueError(f"image: {values.dtype} {values.shape}, but uint8 (height, width, 3) is needed")
    if not isinstance(kind, str) or kind not in LEVELLED:
        raise ValueError(f"kind is {check.shown(kind)}; give one of {', '.join(LEVELLED)}")
    level = check.whole(severity, "severity", LEVELS)
    return np.asarray(LEVELLED[kind].change(Image.fromarray(values), level - 1))

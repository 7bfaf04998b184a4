"""What several figures draw alike: tooltips, intervals, the line of a target."""

from typing import Any

import pandas as pd

from vouch.report import palette
from vouch.report import vegalite as alt


def tips(numbers: str = "", **titles: str) -> list[Any]:
    """What a mark shows on hover. titles: of columns, those of names end in `_n`. numbers: their format."""
    return [
        alt.Tooltip(f"{column.removesuffix('_n')}:N", title=title)
        if column.endswith("_n")
        else alt.Tooltip(f"{column}:Q", title=title, **({"format": numbers} if numbers else {}))
        for column, title in titles.items()
    ]


def target(value: float) -> Any:
    """A dashed line at `value`, to be placed by `encode`."""
    return alt.Chart(pd.DataFrame({"value": [value]})).mark_rule(strokeDash=[4, 3], color=palette.INK)


def whiskers(base: alt.Chart) -> alt.Chart:
    """The rows that have an interval, `value` being its lower end."""
    return base.transform_filter("isValid(datum.low)").transform_calculate(value="datum.low")

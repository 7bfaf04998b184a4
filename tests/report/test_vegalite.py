"""Charts are valid vega-lite, by the schema that altair carries."""

import json

import pandas as pd
import pytest
from altair.utils.schemapi import validate_jsonschema
from altair.vegalite.v6.schema.core import load_schema

from tests.report.project import Made, Make
from vouch.papers import charts
from vouch.report import pages
from vouch.report import vegalite as alt
from vouch.report.page import DatasetFigure, declared

PANELS = ["a", "b"] * 3
SERIES = ["s", "t", "u"] * 2
PARTS = pd.DataFrame(
    {"panel": PANELS, "series": SERIES, "group": SERIES, "row": SERIES, "column": PANELS, "axis": SERIES}
)
FRAME = PARTS.assign(x=[0.1, 0.2, 0.4] * 2, y=[0.5, 0.6, 0.1] * 2, value=[0.1, None, 0.3] * 2, line=SERIES)


def valid(chart: alt.Chart) -> None:
    validate_jsonschema(json.loads(json.dumps(chart.to_dict(), allow_nan=False)), load_schema())


@pytest.mark.parametrize(
    "chart",
    [
        charts.bars(FRAME, format=".0%"),
        charts.dots(FRAME, "t", rule=0.5),
        charts.scatter(FRAME, "x", "y", log=True, fit=True, shared=("x",)),
        charts.boxes(FRAME, "t"),
        charts.heat(FRAME),
        charts.surface(FRAME, "x", "y"),
        charts.radar(FRAME.fillna(0)),
    ],
    ids=["bars", "dots", "scatter", "boxes", "heat", "surface", "radar"],
)
def test_charts_of_papers_are_valid(chart: alt.Chart) -> None:
    valid(chart)


def test_figures_are_valid_wide_and_narrow(make: Make) -> None:
    evidence = make(Made(variations=("original", "lr_i", "ls_n")))
    (dataset,) = evidence.datasets
    drawn = set()
    for figure in declared(pages, DatasetFigure):
        for how in ({}, figure.narrow):
            chart = figure.draw(evidence, dataset, **how)
            if chart is not None:
                valid(chart)
                drawn.add(figure.name)
    assert drawn >= {"accuracy_and_set_size", "coverage", "differences", "protocols", "shift", "variations"}


def test_an_invalid_chart_is_found() -> None:
    chart = alt.Chart(pd.DataFrame({"a": [1]})).mark_point().encode(x=alt.X("a:Q", titel="a"))
    with pytest.raises(Exception, match="titel"):
        valid(chart)


def test_rows_hold_what_json_can_say_and_what_parts_share_stands_once() -> None:
    frame = pd.DataFrame({"a": [1.5, float("nan"), float("inf")], "b": ["x", None, "y"]})
    one = alt.Chart(frame).mark_point().properties(width=10).encode(x="a:Q", x2="b:Q")
    both = alt.layer(one, one.mark_rule()).to_dict()
    rows = both["datasets"][both["data"]["name"]]
    assert [tuple(row.values()) for row in rows] == [(1.5, "x"), (None, None), (None, "y")]
    assert both["layer"][0]["encoding"] == {"x": {"field": "a", "type": "quantitative"}, "x2": {"field": "b"}}
    assert both["width"] == 10 and set(both["layer"][1]) == {"mark", "encoding"}

"""Words with a definition: where they are marked, and what opens."""

import re
from pathlib import Path

import pytest
from markupsafe import Markup

from tests.report.html_page import Page
from vouch.metrics.metric import metrics
from vouch.report.site import Marker, terms
from vouch.report.table import Column, Measured

METHOD = Path("vouch/report/templates/method.html.j2")


def marked(html: str) -> list[str]:
    """The words that have a dotted line."""
    return re.findall(r'class="term"[^>]*>([^<]*)<', html)


def test_every_term_has_its_place_on_the_page_method() -> None:
    places = set(re.findall(r'id="term-([a-z-]+)"', (Path(__file__).parents[2] / METHOD).read_text("utf-8")))
    found = {term.place for term in terms().values()}
    assert found <= places
    assert len(found) > 30


def test_prose_marks_a_term_once_and_leaves_markup_alone() -> None:
    marker = Marker("../")
    first = marker.prose("LAC sets & <b>, LAC again; eclac, LAC-like")
    assert marked(first) == ["LAC", "sets"]
    assert "&lt;b&gt;" in first and 'href="../pages/method.html#term-lac"' in first
    assert marked(marker.prose("LAC")) == []
    code = Markup('<a href="#ece">ECE</a> <code>APS</code> <em>Faithful</em> aps')
    assert marked(marker.prose(code)) == ["Faithful"]
    assert Page(str(marker.prose(code))).crossed == []
    assert marker.prose("`<b>`") == "<code>&lt;b&gt;</code>"


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (
            Column("Set size LAC", "mean number of options"),
            "Mean number of options. Prediction set: the options",
        ),
        (Column("ECE %"), "Expected calibration error"),
        (Column("Better than", 'number of "models"'), "Number of &#34;models&#34;."),
        (Column("Model"), ""),
    ],
)
def test_a_heading_says_what_the_column_holds(column: Column, said: str) -> None:
    html = Marker("").heading(column)
    assert marked(html) == ([column.label] if said else [])
    assert said in html
    assert ("method.html" in html) == (column.label in ("Set size LAC", "ECE %"))


def test_every_metric_that_a_table_may_show_has_a_definition() -> None:
    assert not [name for name in metrics() if not marked(Marker("").heading(Measured(name).column))]

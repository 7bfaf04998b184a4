"""What can be taken away: tables, LaTeX, figures, metrics and plots; complete, exact, drawn once."""

import csv
import io
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from altair.vegalite.v6.schema.core import load_schema
from jsonschema import Draft7Validator
from PIL import ImageFont

from tests.report.project import SCORING, Made, Make, write_tables
from vouch.cli.printing import interval, number
from vouch.papers import charts
from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import load
from vouch.report import drawing, formatting, pages
from vouch.report import vegalite as alt
from vouch.report.config import ReportConfig
from vouch.report.drawing import RenderCache
from vouch.report.evidence import Evidence
from vouch.report.loading import load as read
from vouch.report.numbers import ModelPair, Number
from vouch.report.page import DatasetFigure, declared
from vouch.report.pages.models_figures import ACCURACY_AND_SET_SIZE_FIGURE, CHARACTER, place_labels
from vouch.report.pages.protocols import PROTOCOLS_FIGURE
from vouch.report.site import PLOTS_PAGE, site, write_plots, write_site
from vouch.report.table import MISSING, Cell, Column, Grid, figure, ranges
from vouch.report.table_files import TABLES, TableFiles, bins, csv_text, escaped, latex, metrics_json

ROOT = Path(__file__).parents[2]
HOSTILE = "</script><b>\"'&\u202e=1+1\\input{x}%$_^~#{}"
HEADS = (
    Column("Model"),
    Column("Change", "", True),
    Column("Rank", "", True),
    Column("Rank", "", True),
)
ROWS = (
    (
        Cell("=alpha"),
        Cell(f"{formatting.MINUS}1.5", f"{formatting.MINUS}2.0 to 0.5", -0.015),
        Cell("1–3"),
        Cell("7"),
    ),
    (Cell("beta"), MISSING, Cell("2"), Cell("1,234", key=1234)),
)
GRID = Grid("test", "shapes: a caption", HEADS, ROWS)


def read_back(files: TableFiles, name: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(files.files[name], newline="")))


def test_a_table_for_spreadsheets_has_numbers_intervals_and_no_formulas() -> None:
    files = TableFiles(["shapes"])
    assert files.add(GRID) == "test-shapes"
    assert read_back(files, "test-shapes.csv") == [
        ["Model", "Change", "Change, low", "Change, high", "Rank", "Rank′"],
        ["'=alpha", "-1.5", "-2.0", "0.5", "1–3", "7"],
        ["beta", "", "", "", "2", "1234"],
    ]


def test_every_table_has_a_name_of_its_own_and_the_same_table_the_same() -> None:
    files = TableFiles(["shapes"])
    other = Grid("test", "shapes: a caption", HEADS, ROWS[:1])
    assert [files.add(grid) for grid in (GRID, other, GRID, other)] == [
        *["test-shapes", "test-shapes-2", "test-shapes", "test-shapes-2"]
    ]
    assert set(files.files) == {f"test-shapes{n}.{kind}" for n in ("", "-2") for kind in ("csv", "tex")}


def test_latex_prints_any_text_as_it_stands() -> None:
    assert escaped('a_b & 5\u202f% \u2212 [x] {y} \\ ^~<|>"') == (
        r"a\_b \& 5\,\% $-$ {[}x{]} \{y\} \textbackslash{} "
        r"\textasciicircum{}\textasciitilde{}\textless{}\textbar{}\textgreater{}\textquotedbl{}"
    )
    assert escaped("a\u202eb\nc\x00") == "a b c"
    lines = latex(GRID).splitlines()
    assert lines[4] == r"\begin{tabular}{lrrr}" and r"\toprule" in lines
    assert r"=alpha & $-$1.5 {\scriptsize $-$2.0 to 0.5} & 1--3 & 7 \\" in lines


@pytest.fixture(scope="module")
def chart() -> alt.Chart:
    """A chart whose every text is hostile."""
    data = pd.DataFrame({"name": [HOSTILE, "b"], "value": [1.0, 2.5]})
    encoded = alt.Chart(data, title=HOSTILE).encode(x="value:Q", y=alt.Y("name:N", title=HOSTILE))
    return encoded.mark_circle(opacity=0.5)


def test_a_specification_may_stand_in_a_script_element(chart: alt.Chart) -> None:
    text = drawing.specification(chart)
    assert "<" not in text and "://" not in text
    assert json.loads(text)["title"] == HOSTILE


NAMED = """
import sys
from vouch.report import drawing
head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 20">'
for family in ("Aileron", "none"):
    text = f'<text y="15" font-family="{family}, Liberation Sans">Coverage</text>'
    sys.stdout.write(drawing.png(f"{head}{text}</svg>").hex() + " ")
"""


def test_fonts_of_the_machine_are_not_used(tmp_path: Path) -> None:
    (tmp_path / ".fonts").mkdir()
    font = ImageFont.load_default(12)
    assert isinstance(font, ImageFont.FreeTypeFont) and font.getname()[0] == "Aileron"
    (tmp_path / ".fonts/aileron.otf").write_bytes(font.font_bytes)
    environment = {**os.environ, "HOME": str(tmp_path)}
    command = [sys.executable, "-c", NAMED]
    drawn = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    own, none = drawn.stdout.split()
    assert own == none


def test_a_drawing_is_well_formed_says_what_it_shows_and_has_the_same_bytes(chart: alt.Chart) -> None:
    drawn = drawing.svg(chart)
    document = drawing.document(drawn, HOSTILE, "what it shows")
    root = ET.fromstring(document)
    assert [child.text for child in list(root)[:2]] == [HOSTILE, "what it shows"]
    assert not {"script", "b"} & {element.tag.rpartition("}")[2] for element in root.iter()}
    assert drawing.pdf(drawn) == drawing.pdf(drawn)
    assert drawing.pdf(drawn).startswith(b"%PDF-")
    assert ' opacity="' not in drawn and 'fill-opacity="0.5"' in drawn


def unasked() -> bytes:
    pytest.fail("it was drawn before")


def test_what_was_drawn_is_not_drawn_again_and_other_things_are(tmp_path: Path) -> None:
    assert drawing.RenderCache(tmp_path)("svg", "a", lambda: b"drawn") == b"drawn"
    again = drawing.RenderCache(tmp_path)
    assert again("svg", "a", unasked) == b"drawn"
    assert again("svg", "b", lambda: b"other") == b"other"
    assert again("png", "a", lambda: b"pixels") == b"pixels"


@pytest.mark.parametrize("damage", [lambda held: held[:-1], lambda held: held[:-1] + b"X", lambda held: b""])
def test_what_is_damaged_is_drawn_again(tmp_path: Path, damage: object) -> None:
    drawing.RenderCache(tmp_path)("svg", "a", lambda: b"drawn")
    (path,) = tmp_path.iterdir()
    assert callable(damage)
    path.write_bytes(damage(path.read_bytes()))
    assert drawing.RenderCache(tmp_path)("svg", "a", lambda: b"drawn") == b"drawn"
    assert drawing.RenderCache(tmp_path)("svg", "a", unasked) == b"drawn"


def test_what_a_report_did_not_need_is_forgotten(tmp_path: Path) -> None:
    for text in "ab":
        drawing.RenderCache(tmp_path)("svg", text, text.encode)
    (tmp_path / ".left.1.part").touch()
    kept = drawing.RenderCache(tmp_path)
    kept("svg", "b", unasked)
    kept.forget_others()
    assert len(list(tmp_path.iterdir())) == 1
    assert drawing.RenderCache(tmp_path)("svg", "b", unasked) == b"b"


CONFIG = ReportConfig(title="Vouch")
DRAWN = (ACCURACY_AND_SET_SIZE_FIGURE, PROTOCOLS_FIGURE)

COLUMNS = {
    "defects": "dataset defect items share examples treatment p_value detail",
    "differences": "dataset output first second difference low high p p_holm items",
    "published": "dataset model metric published ours difference",
    "rejects": "dataset where id reason",
    "variations": "dataset model output variation metric score value original difference low high items",
    "metrics": "dataset model variation output protocol category calibration alpha score metric "
    "value low high items rank rank_low rank_high",
}


def test_a_changed_number_changes_the_report(make: Make) -> None:
    def texts(made: Made) -> dict[str, str]:
        evidence = make(made)
        tables = {f"tables/{name}.csv": csv_text(table(evidence)) for name, table in TABLES.items()}
        drawn = {each.name: json.dumps(each.draw(evidence, "shapes").to_dict()) for each in DRAWN}
        return tables | drawn | site(CONFIG, evidence, {}) | {"metrics": json.dumps(metrics_json(evidence))}

    first = texts(Made())
    other = texts(Made(accuracy={"alpha": 0.81, "beta": 0.6, "gamma": 0.5}))
    same = {name for name in first if first[name] == other[name]}
    assert {"tables/rejects.csv", "pages/method.html"} <= same
    assert not same & {"index.html", "metrics", "tables/headline.csv", "accuracy_and_set_size", "protocols"}


def rows(evidence: Evidence, name: str) -> list[dict[str, str]]:
    text = csv_text(TABLES[name](evidence))
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_columns_of_tables(make: Make) -> None:
    evidence = make(Made(rejects=[("file:1", "no image")], variations=("original", "vr_b")))
    assert {name: " ".join(rows(evidence, name)[0]) for name in COLUMNS} == COLUMNS


def test_tables_hold_full_precision_in_a_fixed_order(make: Make) -> None:
    evidence = make(Made(accuracy={"beta": 1 / 3, "alpha": 2 / 3}))
    headline = rows(evidence, "headline")
    order = [(model, protocol) for model in ("alpha", "beta") for protocol in ("clean", "faithful")]
    assert [(row["model"], row["protocol"]) for row in headline] == order
    assert float(headline[0]["accuracy"]) == 2 / 3 and headline[0]["items"] == "80"
    assert headline[1]["accuracy_low"] == ""
    assert [row["rank"] for row in headline] == ["2", "2", "1", "1"]  # as compare ranked them
    assert float(rows(evidence, "differences")[0]["difference"]) == 2 / 3 - 1 / 3


def test_text_is_no_formula_and_moves_no_cursor_and_negative_numbers_stay_numbers(make: Make) -> None:
    formulas = [f'{start}cmd|" /C calc"!A0' for start in ("=", "+", "-", "@", "\t", "\r")]
    reasons = [*formulas, "a\x1b[2J\x00\x9b\u202eb\tc\nd", "a\r=1+1\r\nb"]
    evidence = make(
        Made(accuracy={"alpha": 0.5, "beta": 0.75}, rejects=[("file:1", each) for each in reasons])
    )
    safe = [
        *(f"'{formula}".replace("\r", "\n") for formula in formulas),
        "a\ufffd[2J\ufffd\ufffd\ufffdb\tc\nd",
        "a\n=1+1\nb",
    ]
    assert [row["reason"] for row in rows(evidence, "rejects")] == safe
    assert rows(evidence, "differences")[0]["difference"] == "-0.25"


def test_metrics_for_dvc(make: Make) -> None:
    of_models = metrics_json(make(Made()))["shapes"]
    numbers = {"accuracy", "coverage_lac", "coverage_aps", "set_size_lac", "set_size_aps", "uacc", "ece"}
    alpha = of_models["alpha"]
    assert (alpha["accuracy"], alpha["faithful"]["accuracy"]) == (0.8, 0.8 + 0.01)
    assert set(alpha) == numbers | {"faithful"} and set(alpha["faithful"]) == numbers
    assert set(of_models) == {"alpha", "beta", "gamma"}


def test_data_for_dvc_plots_fits_dvc_yaml(make: Make) -> None:
    evidence = make(Made())
    write_plots(evidence)
    for plot in load(ROOT / "dvc.yaml").get("plots", []):
        for name, settings in plot.items():
            for path, column in settings["y"].items():
                header = Path(path).read_text("utf-8").splitlines()[0].split(",")
                assert {column, settings["x"]} <= set(header), name


def test_what_a_model_lacks_is_no_row_of_a_plot(make: Make) -> None:
    """An empty cell would be drawn as 0."""
    write_plots(make(Made(outputs=("text",))))
    texts = {path.stem: path.read_text("utf-8").splitlines() for path in Path("reports/plots").glob("*.csv")}
    assert texts["set_size_lac"] == ["run,accuracy,set_size_lac"] and len(texts["accuracy"]) == 4
    assert not [line for lines in texts.values() for line in lines if "" in line.split(",")]


def test_dvc_plots_show_without_a_network(make: Make) -> None:
    evidence = make(Made())
    write_plots(evidence)
    shape = "plots:\n  - accuracy:\n      template: bar_horizontal\n      x: accuracy\n"
    none = "  - nothing:\n      x: set_size_lac\n      y: {reports/plots/set_size_lac.csv: run}\n"
    Path("reports/plots/set_size_lac.csv").write_text("run,accuracy,set_size_lac\n", "utf-8")
    Path("dvc.yaml").write_text(shape + "      y: {reports/plots/accuracy.csv: run}\n" + none, "utf-8")
    Path(".dvc").mkdir()
    settings = "[core]\n    analytics = false\n    no_scm = true\n"
    settings += "[plots]\n    html_template = ../reports/plots/page.html\n"
    Path(".dvc/config").write_text(settings, "utf-8")
    subprocess.run(
        [sys.executable, "-m", "dvc", "plots", "show", "-o", "shown"], check=True, capture_output=True
    )
    shown = Path("shown/index.html").read_text("utf-8")
    assert "vegaEmbed('#accuracy'" in shown
    assert '"run": "alpha"' in shown
    assert re.findall(r'<script[^>]+src="([^"]+)|(<link)', shown)[0][0] == "../reports/assets/vega.js"
    write_site({"index.html": ""}, {}, RenderCache())
    assert Path("reports/assets/vega.js").is_file()
    assert "{plot_divs}" not in shown and "://" not in PLOTS_PAGE.read_text("utf-8")


def test_an_undeclared_table_and_no_scores_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"data/compare/leaderboard\.parquet: not among the inputs"):
        read(write_tables(Made())[1:], SCORING)
    with pytest.raises(UserError, match="no scores; name a model"):
        read(write_tables(Made(accuracy={})), SCORING)


PANELS = ["a", "b"] * 3
SERIES = ["s", "t", "u"] * 2
PARTS = pd.DataFrame(
    {"panel": PANELS, "series": SERIES, "group": SERIES, "row": SERIES, "column": PANELS, "axis": SERIES}
)
FRAME = PARTS.assign(x=[0.1, 0.2, 0.4] * 2, y=[0.5, 0.6, 0.1] * 2, value=[0.1, None, 0.3] * 2, line=SERIES)


@cache
def schema() -> Draft7Validator:
    return Draft7Validator(load_schema())


def valid(chart: alt.Chart) -> None:
    schema().validate(json.loads(json.dumps(chart.to_dict(), allow_nan=False)))


@pytest.mark.parametrize(
    "chart",
    [
        charts.bars(FRAME, format=".0%"),
        charts.dots(FRAME, "t", rule=("guess", 0.5)),
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
    for each in declared(pages, DatasetFigure):
        for how in ({}, each.narrow):
            chart = each.draw(evidence, dataset, **how)
            if chart is not None:
                valid(chart)
                drawn.add(each.name)
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


def test_numbers_in_words() -> None:
    assert formatting.number(-0.001, 2) == "0.00"
    halves = [(0.9145, 3), (100 * 0.9145, 1), (2.5, 0), (3.5, 0), (1.005, 2), (-0.0005, 3), (float("nan"), 1)]
    assert [formatting.decimals(*each) for each in halves] == [
        *("0.914", "91.4", "2", "4", "1.00", "-0.000", "nan")
    ]
    assert number(0.9145) == "0.914", "a command rounds as the report does"
    assert interval({"difference": 0.9145, "low": None}, "difference") == "+0.914"
    assert formatting.number(-1.5, 1) == "\u22121.5"
    assert formatting.percent(0.8374) == "83.7\u202f%"
    assert formatting.span(0.1, 0.2, 1, 100) == "10.0–20.0"
    assert formatting.span(-0.1, 0.2, 1) == "\u22120.1 to 0.2"
    assert formatting.bracketed(None, 1.0, 1) == ""
    assert formatting.plural(1, "item") == "1 item"
    assert formatting.plural(4377, "category", "categories") == "4,377 categories"
    assert formatting.ranks(1, 3) == "1–3"
    assert formatting.ranks(2, 2) == "2"


def test_lists_in_words() -> None:
    assert formatting.listed([]) == "none"
    assert formatting.listed(["a"]) == "a"
    assert formatting.listed(["a", "b", "c"]) == "a, b and c"
    assert formatting.listed(list("abcdefg"), 4) == "a, b, c, d and 3 more"
    assert formatting.listed(list("abcde"), 4) == "a, b, c, d and e"


def test_bins_against_counting_by_hand() -> None:
    confidence = np.array([0.05, 0.5, 0.55, 0.999, 1.0])
    correct = np.array([False, True, False, True, False])
    table = bins(confidence, correct, 10)
    assert table["bin"].tolist() == [0, 5, 9]
    assert table["answers"].tolist() == [1, 2, 2]
    assert table["accuracy"].tolist() == [0.0, 0.5, 0.5]
    assert table["confidence"].tolist() == pytest.approx([0.05, 0.525, 0.9995])
    # Wilson's interval for one success in two, computed from its closed form.
    assert table["low"][1] == pytest.approx(0.0945312, abs=1e-6)
    assert table["high"][1] == pytest.approx(0.9054688, abs=1e-6)
    assert table["low"][0] == pytest.approx(0, abs=1e-12)


def test_labels_cover_neither_points_nor_one_another() -> None:
    generator = np.random.default_rng(1)
    points = [(float(x), float(y)) for x, y in generator.uniform((60, 20), (460, 380), (25, 2))]
    names = [f"model_{number}" for number in range(25)]
    placed = place_labels(points, names, (520, 400))
    boxes = []
    for name, label in zip(names, placed, strict=True):
        if label is None:
            continue
        width = len(name) * CHARACTER * 11
        left = label.x if label.align == "left" else label.x - width
        boxes.append((left, label.y - 5, left + width, label.y + 5))
    assert len(boxes) >= 23
    for a, b in combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    for box in boxes:
        assert not any(box[0] < x < box[2] and box[1] < y < box[3] for x, y in points)
    assert placed == place_labels(points, names, (520, 400))


def test_a_label_that_fits_nowhere_is_left_out() -> None:
    assert place_labels([(5, 5)], ["far_too_long_a_name"], (10, 10)) == [None]


def test_ranges_share_one_scale() -> None:
    low, high = Number(0.5, 0.4, 0.6, 9, 1, 1, 1), Number(0.9, 0.8, 1.0, 9, 1, 1, 1)
    drawn = ranges([low, None, high])
    assert drawn[1] is None
    assert drawn[0] is not None and (drawn[0].low, drawn[0].high) == (0, pytest.approx(33.33))
    assert drawn[2] is not None and drawn[2].high == 100
    assert ranges([low]) == [None]


def test_a_missing_number_is_a_dash() -> None:
    assert figure(None, 1) is MISSING
    assert figure(Number(0.5, None, None, 9, None, None, None), 1, 100).note == ""


def test_a_pair_read_backwards() -> None:
    pair = ModelPair(0.2, 0.1, 0.3, 0.01, 9)
    assert pair.reversed() == ModelPair(-0.2, -0.3, -0.1, 0.01, 9)
    assert pair.reversed().reversed() == pair

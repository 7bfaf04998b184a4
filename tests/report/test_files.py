"""What can be taken away from a page: tables as CSV and LaTeX, figures as SVG and PDF, drawn once."""

import csv
import io
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pandas as pd
import pytest
from PIL import ImageFont

from vouch.report import drawing, formatting
from vouch.report import vegalite as alt
from vouch.report.table import MISSING, Cell, Column, Grid
from vouch.report.table_files import TableFiles, escaped, latex

ROOT = Path(__file__).parents[2]
HOSTILE = "</script><b>\"'&\u202e=1+1\\input{x}%$_^~#{}"
COLUMNS = (Column("Model"), Column("Change", "", True), Column("Rank", "", True), Column("Rank", "", True))
ROWS = (
    (
        Cell("=alpha"),
        Cell(f"{formatting.MINUS}1.5", f"{formatting.MINUS}2.0 to 0.5", -0.015),
        Cell("1–3"),
        Cell("7"),
    ),
    (Cell("beta"), MISSING, Cell("2"), Cell("1,234", key=1234)),
)
GRID = Grid("test", "shapes: a caption", COLUMNS, ROWS)


def read(files: TableFiles, name: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(files.files[name], newline="")))


def test_a_table_for_spreadsheets_has_numbers_intervals_and_no_formulas() -> None:
    files = TableFiles(["shapes"])
    assert files.add(GRID) == "test-shapes"
    assert read(files, "test-shapes.csv") == [
        ["Model", "Change", "Change, low", "Change, high", "Rank", "Rank′"],
        ["'=alpha", "-1.5", "-2.0", "0.5", "1–3", "7"],
        ["beta", "", "", "", "2", "1234"],
    ]


def test_every_table_has_a_name_of_its_own_and_the_same_table_the_same() -> None:
    files = TableFiles(["shapes"])
    other = Grid("test", "shapes: a caption", COLUMNS, ROWS[:1])
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

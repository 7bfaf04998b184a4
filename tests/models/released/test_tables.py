"""Tables of answers: CSV, TSV, XLSX, parquet and JSON lines."""

import gzip
import io
import json
import tracemalloc
import zipfile
from pathlib import Path
from string import ascii_uppercase
from typing import Any
from xml.sax.saxutils import escape

import pandas as pd
import pytest

from tests.models.released.conftest import SHARED
from tests.refusals import refused
from vouch.models.released import rows, tables
from vouch.models.released.files import FORMS
from vouch.tables.answered import TEXT, text_path
from vouch.tables.results import model_slug

BLINK = SHARED / "answers/blink.parquet"
ANSWERS = [
    {"id": "9", "text": "(B)"},
    {"id": "5", "text": 'He said "A, B",\nthen 是 <x> & _x0041_.'},
    {"id": "3", "text": "NA"},
]
Rows = list[dict[str, Any]]
SPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def workbook(sheet: str, shared: list[str] = (), **more: bytes) -> bytes:  # type: ignore[assignment]
    """A workbook whose second part holds the first sheet."""
    parts = {
        "xl/workbook.xml": f'<workbook {SPACE} xmlns:r="{OFFICE}"><sheets>'
        '<sheet name="a" sheetId="1" r:id="rId7"/><sheet name="b" sheetId="2" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": '<Relationships xmlns="x"><Relationship Id="rId1" Target="sheet1.xml"/>'
        '<Relationship Id="rId7" Target="/xl/worksheets/sheet2.xml"/></Relationships>',
        "xl/worksheets/sheet2.xml": f"<worksheet {SPACE}><sheetData>{sheet}</sheetData></worksheet>",
        "xl/sheet1.xml": f"<worksheet {SPACE}/>",
        "xl/sharedStrings.xml": f"<sst {SPACE}>{''.join(shared)}</sst>",
    } | more
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return data.getvalue()


def coded(text: str) -> str:
    """As Excel writes it: what reads as a code has its underscore coded."""
    return escape(text).replace("_x", "_x005F_x").replace("\r", "_x000D_")


def as_xlsx(rows: Rows) -> bytes:
    cells = [list(rows[0]), *(list(row.values()) for row in rows)]
    shared = [f"<si><t>{coded(str(cell))}</t></si>" for row in cells for cell in row]
    numbers = iter(range(len(shared)))
    sheet = "".join(
        f'<row r="{at}">'
        + "".join(
            f'<c r="{ascii_uppercase[n]}{at}" t="s"><v>{next(numbers)}</v></c>' for n, _ in enumerate(row)
        )
        + "</row>"
        for at, row in enumerate(cells, start=1)
    )
    return workbook(sheet, shared)


def written(path: Path, rows: Rows) -> Path:
    frame = pd.DataFrame(rows)
    if path.suffix in (".csv", ".tsv"):
        frame.to_csv(path, index=False, sep="," if path.suffix == ".csv" else "\t")
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".json":
        frame.to_json(path, orient="records", indent=1)
    elif path.suffix == ".xlsx":
        path.write_bytes(as_xlsx(rows))
    else:
        data = "\n".join(map(json.dumps, rows)).encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def texts() -> dict[str, str]:
    rows = TEXT.read(text_path("m", "toy")).to_pylist()
    return {row["prompt"].partition("/")[0]: row["text"] for row in rows}


NAMES = ("a.csv", "a.tsv", "a.xlsx", "a.parquet", "a.jsonl", "a.jsonl.gz", "a.json")


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_gives_the_same_texts(project, name):
    project.ingest(written(project.root / name, ANSWERS), form="table")
    assert texts() == {row["id"]: row["text"] for row in ANSWERS} and project.rows == 3
    rows = TEXT.read(text_path("m", "toy")).to_pylist()
    assert [row["prompt"] for row in rows] == ["5/original", "3/original", "9/original"]
    assert {(row["temperature"], row["sample"], row["device"], row["problem"]) for row in rows} == {
        (0.0, 0, "released", None)
    }


def test_a_spreadsheet_needs_no_index(project):
    written(project.root / "toy.csv", ANSWERS)
    assert FORMS["table"].suffixes == (".csv", ".tsv", ".xlsx")
    project.ingest("toy.csv")
    assert texts()["3"] == "NA"


def test_columns_may_have_other_names_and_ids_may_be_numbers(project):
    rows = [{"index": int(row["id"]), "prediction": row["text"], "answer": "A"} for row in ANSWERS]
    project.ingest(written(project.root / "a.parquet", rows), form="table", key="index", text="prediction")
    assert texts() == {row["id"]: row["text"] for row in ANSWERS}


def test_a_file_may_hold_several_models(project):
    others = [row | {"text": "other", "model": "X-Large"} for row in ANSWERS]
    project.ingest(written(project.root / "a.csv", [*(row | {"model": "M"} for row in ANSWERS), *others]))
    assert texts()["9"] == "(B)"
    with refused(r"holds no answers of m, only of x_large; correct the file"):
        project.ingest(written(project.root / "a.csv", others))


def test_samples_are_drawn_at_their_temperature(project):
    more = [{"id": "5", "text": "one", "sample": 2}, {"id": "5", "text": "two", "sample": 1}]
    more += [{"id": "5", "text": "hot", "sample": 1, "temperature": 1.5}]
    project.ingest(written(project.root / "a.csv", [*ANSWERS, *more]))
    rows = TEXT.read(text_path("m", "toy")).to_pylist()
    assert [(row["temperature"], row["sample"], row["text"]) for row in rows[1:4]] == [
        (1.0, 1, "two"),
        (1.0, 2, "one"),
        (1.5, 1, "hot"),
    ]
    assert project.rows == 6


def test_a_null_text_is_no_answer_and_an_empty_one_is(project):
    rows = [ANSWERS[0], ANSWERS[1] | {"text": None}, ANSWERS[2] | {"text": ""}]
    project.ingest(written(project.root / "a.jsonl", rows), form="table")
    found = {row["prompt"][0]: row for row in TEXT.read(text_path("m", "toy")).to_pylist()}
    assert (found["5"]["text"], found["5"]["problem"]) == (None, "the released file has no answer")
    assert (found["3"]["text"], found["3"]["problem"]) == ("", None)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"id": "5"}], r"row 1: no column text, it has id; name them in answers\.yaml"),
        ([*ANSWERS, ANSWERS[1]], "row 4: id 5 stands already in row 2; keep one"),
        (ANSWERS[:2], "no sample for item 3 of toy, like 1 of its 3 items"),
        ([*ANSWERS, {"id": "6", "text": "x"}], "row 4: names '6', which is no item of toy"),
        ([ANSWERS[0] | {"id": ""}], "row 1: id has 0 characters"),
        ([ANSWERS[0] | {"sample": "one"}], "row 1: id 9: sample is 'one', not a number from 0"),
        ([ANSWERS[0] | {"sample": 1, "temperature": 0}], "sample 1 at temperature 0; number them"),
        ([ANSWERS[0] | {"sample": "0.5"}], "sample 0.5 at temperature 1"),
        ([*ANSWERS, {"id": "7", "text": "x", "sample": 1}], "row 4: '7' has no sample 0; add it"),
    ],
)
def test_what_does_not_fit_is_one_line(project, rows, words):
    path = written(project.root / "a.csv", rows)
    with refused(words) as caught:
        project.ingest(path)
    assert str(caught.value).startswith(str(path))
    assert project.written() == []


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.csv", b"", "holds no answers"),
        ("a.csv", b"id,text\n5,\xff\n", "not readable as CSV in UTF-8"),
        ("a.csv", b'id,text\n5,"never closed\n', "not readable as CSV"),
        ("a.csv", b"id,text\n5,a,b\n", "row 1: 3 cells under 2 names"),
        ("a.csv", b"id,id\n5,a\n", "two columns have one name"),
        ("a.parquet", b"PAR1", "not readable as parquet"),
        ("a.jsonl", b'{"id": "5", "text": 7}\n', "line 1: id 5: text is a int, not a text"),
        ("a.jsonl", b'{"id": 5.0, "text": "7"}\n', "line 1: id is a float"),
        ("a.jsonl", b'{"id": 5, "text": "\\ud800"}\n', "half a surrogate pair"),
        ("a.xlsx", b"PK", "not readable as XLSX"),
        ("a.xlsx", workbook("<row>"), "not readable as XLSX"),
        ("a.xlsx", workbook('<row><c t="s"><v>3</v></c></row>'), "not readable as XLSX"),
        ("a.xlsx", workbook('<row><c r="B1"/><c r="A1"/></row>'), "cell A1 is out of order"),
        ("a.xlsx", workbook('<row><c r="XFD1048576"/></row>'), "beyond column 1024"),
        ("a.txt", b"", r"a table ends in \.csv, \.tsv, \.xlsx, \.parquet, \.json, \.jsonl, \.gz"),
    ],
)
def test_bad_files(project, name, data, words):
    (project.root / name).write_bytes(data)
    with refused(words):
        project.ingest(name, form="table")
    assert project.written() == []


def test_cells_of_every_kind():
    sheet = (
        '<row r="1"><c r="A1" t="inlineStr"><is><r><t>a</t></r><r><t>b</t></r></is></c><c r="C1"><v>0.10</v></c></row>'
        '<row r="2"/><row r="4"><c><v>7</v></c><c t="b"><v>1</v></c><c t="str"><f>X</f><v>c_x000A_d</v></c>'
        '<c t="s"><v>0</v></c></row>'
        '<row r="5"><c><v>4.0999999999999996</v></c><c><v>1.2345678901234567E-5</v></c>'
        "<c><v>12345678901234567</v></c><c><v>3.0</v></c></row>"
    )
    shared = ["<si><r><t>one</t></r><r><t> two</t></r><rPh><t>no</t></rPh></si>"]
    assert list(rows.rows(workbook(sheet, shared), "x")) == [
        ["ab", "", "0.10"],
        ["7", "TRUE", "c\nd", "one two"],
        ["4.1", "1.23456789012346e-05", "12345678901234567", "3.0"],
    ]


def test_a_hostile_workbook_is_refused_in_little_memory(monkeypatch):
    monkeypatch.setattr(rows, "MAX_UNPACKED", 2**20)
    with refused(r"bytes unpacked, more than 1,048,576"):
        list(rows.rows(workbook("<row/>", zeros=bytes(2**20)), "x"))
    bomb = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9))
    shared = f'<!DOCTYPE sst [<!ENTITY e0 "{"a" * 10}">{bomb}]><sst {SPACE}><si><t>&e9;</t></si></sst>'
    tracemalloc.start()
    with refused("not readable as XLSX"):
        list(rows.rows(workbook("<row/>", **{"xl/sharedStrings.xml": shared.encode()}), "x"))
    assert tracemalloc.get_traced_memory()[1] < 2**27  # of 10 GB
    tracemalloc.stop()
    whole = bytearray(workbook("<row/>"))
    whole[60] ^= 255
    with refused("not readable as XLSX"):
        list(rows.rows(bytes(whole), "x"))


@pytest.mark.skipif(not BLINK.exists(), reason="needs the answers to BLINK in ../shared")
def test_real_answers_of_19_models_in_one_file(project):
    frame = pd.read_parquet(BLINK)
    own = frame[frame["model"] == frame["model"].iloc[0]]
    (project.root / "blink.parquet").write_bytes(BLINK.read_bytes())
    found = {}
    for name in ("blink.parquet", "own.csv", "own.xlsx"):
        path = project.root / name
        if name != "blink.parquet":
            written(path, own[["id", "text"]].to_dict("records"))
        data = path.read_bytes()
        answers = tables.table_samples(data, str(path), model_slug(own["model"].iloc[0]), None, None)
        found[name] = {sample.name: sample.text for sample in answers}
    assert found["blink.parquet"] == dict(zip(own["id"], own["text"], strict=True))
    assert found["own.csv"] == found["own.xlsx"] == found["blink.parquet"]

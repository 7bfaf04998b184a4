import shutil
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vouch.pipeline.errors import UserError
from vouch.tables.asked import DROPPED
from vouch.tables.results import model_slug

COLUMNS = ("id", "question", "hint", *"ABCD", "answer", "category")
CELLS = (
    (5, "q", None, "a", "b", "c", "d", "D", "k"),
    (1_000_005, "q", "h", "b", "c", "d", "a", "C", "k"),
    (2, "r", "", "a", "b", None, "d", "B", None),
    (3, "r", None, "a", "a", "c", None, "A", ""),
)
ROWS = [dict(zip(COLUMNS, cells, strict=True)) for cells in CELLS]


def write(project, rows=ROWS, name="toy", **columns):
    table = pa.table({**pa.Table.from_pylist(rows).to_pydict(), **columns})
    pq.write_table(table, project.source / f"items-{name}.parquet")


def write_published(project, *lines, name="toy"):
    text = "\n".join(["dataset,model,metric,value", *lines])
    (project.source / f"published-{name}.csv").write_text(text + "\n", encoding="utf-8")


def test_rows_keep_order_ids_and_groups(project):
    write(project)
    tables = project.prepare("released")
    items = tables["items"].to_pylist()
    for key in ("id", "source_id"):
        assert [item[key] for item in items] == ["5", "1000005", "2", "3"]
    assert [item["group"] for item in items] == ["5", "5", "2", "3"]
    assert [item["hint"] for item in items] == [None, "h", "", None]
    assert [item["answers"] for item in items] == [[3], [2], [1], [0]]
    assert [len(item["options"]) for item in items] == [4, 4, 2, 3]
    assert all(item["images"] == [] for item in items)
    assert tables["images"].num_rows == tables["published"].num_rows == 0


def test_the_dataset_may_have_another_name(project):
    write(project, name="mmbench")
    write_published(project, "mmbench,M-1,acc,0.5", "toy,M-1,acc,0.6", name="mmbench")
    tables = project.prepare("released", dataset="mmbench")
    assert tables["items"].num_rows == 4
    assert tables["published"].to_pylist() == [{"model": "m_1", "name": "M-1", "metric": "acc", "value": 0.5}]
    with pytest.raises(UserError, match=r"toy/items-toy\.parquet: no such file"):
        project.prepare("released")


def test_without_copies_each_item_is_by_itself(project):
    write(project)
    assert len(set(project.prepare("released", copies_modulus=None)["items"]["group"].to_pylist())) == 4


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, ["k", "k", "", ""]),
        ({"situation": ["x"] * 4}, ["k", "k", "x", "x"]),
        ({"category": [None] * 4, "situation": ["x", None, "", "y"]}, ["x", "", "", "y"]),
    ],
)
def test_the_category_may_be_called_situation(project, columns, expected):
    write(project, **columns)
    assert project.prepare("released")["items"].column("category").to_pylist() == expected


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"answer": None}, "answer None"),
        ({"answer": "D", "D": None}, "is not an index of its options"),
        ({"id": None}, "id None"),
    ],
)
def test_bad_row(project, change, reason):
    write(project, [ROWS[0], {**ROWS[1], **change}, ROWS[2]])
    with pytest.raises(UserError, match=rf"toy/items-toy\.parquet row 2.*{reason}"):
        project.prepare("released")
    assert project.written() == []
    tables = project.prepare("released", on_error="skip")
    assert tables["items"].column("id").to_pylist() == ["5", "2"] and tables["rejects"].num_rows == 1


def test_bad_tables(project):
    path = project.source / "items-toy.parquet"
    path.write_bytes(b"PAR1 no table PAR1")
    with pytest.raises(UserError, match="not readable as parquet"):
        project.prepare("released")
    write(project)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match="not readable as parquet"):
        project.prepare("released")
    write(project, [{key: value for key, value in row.items() if key not in ("A", "answer")} for row in ROWS])
    with pytest.raises(UserError, match="no column A, answer"):
        project.prepare("released")
    write(project, C=[1, 2, 3, 4])
    with pytest.raises(UserError, match="C is a int, not a text"):
        project.prepare("released")
    write(project, id=["a", "b", "c", "d"])
    with pytest.raises(UserError, match="copies_modulus: null"):
        project.prepare("released")
    assert project.prepare("released", copies_modulus=None)["items"].num_rows == 4
    write(project, id=[1.0, 2.0, 3.0, 4.0])
    with pytest.raises(UserError, match=r"id 1\.0 is neither"):
        project.prepare("released")
    pq.write_table(pq.read_table(path).slice(0, 0), path)
    with pytest.raises(UserError, match="has no rows"):
        project.prepare("released")


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["toy,M,acc,high"], "line 2: needs a model, a metric and a number"),
        (["toy,M,acc,nan"], "line 2: needs"),
        (["toy,M,acc"], "line 2: needs"),
        (["toy,,acc,1"], "line 2: needs"),
        (["toy,M-1,acc,1", "toy,M_1,acc,1"], "M-1 and M_1 would both be named m_1"),
        (["toy,--,acc,1"], "holds none of a-z and 0-9"),
        (["toy,M,acc,1", "toy,M,acc,2"], "line 3: duplicate acc of M; keep one"),
    ],
)
def test_bad_published(project, lines, reason):
    write(project)
    write_published(project, *lines)
    with pytest.raises(UserError, match=reason):
        project.prepare("released")
    assert project.written() == []


def test_published_that_cannot_be_read(project):
    write(project)
    for content, words in (
        (b"model,value\nM,1\n", "no column dataset, metric"),
        (b"dataset,model,metric,value\ntoy,caf\xe9,acc,1\n", "not readable as CSV"),
    ):
        (project.source / "published-toy.csv").write_bytes(content)
        with pytest.raises(UserError, match=words):
            project.prepare("released")


def test_model_slug():
    names = ["llava-v1.6-vicuna-13b", "MobileVLM_V2-1.7B", "  Yi--VL. ", "7B"]
    assert list(map(model_slug, names)) == ["llava_v1_6_vicuna_13b", "mobilevlm_v2_1_7b", "yi_vl", "m_7b"]


def test_mmbench_as_released(project, shared):
    folder = shared("vlm-uncertainty-bench")
    for name in ("items-mmbench.parquet", "published-mmbench.csv"):
        shutil.copy(folder / name, project.source)
    tables = project.prepare("released", dataset="mmbench")
    items = tables["items"].to_pylist()
    assert len(items) == 4377 and len({item["group"] for item in items}) == 1176
    assert len({item["question"] for item in items}) == 382, "distinct questions, as PARC counts them"
    assert Counter("ABCD"[item["answers"][0]] for item in items) == dict(
        zip("ABCD", (1166, 1166, 1077, 968), strict=True)
    )
    assert Counter(len(item["options"]) for item in items) == {4: 4360, 3: 14, 2: 3}
    found = {row["defect"]: row["items"] for row in tables["defects"].to_pylist() if row["items"]}
    assert found == {
        "answer_position_skew": 70,
        "circular_copy": 4377,
        "duplicate_options": 16,
        "missing_option": 17,
        "repeated_answer_text": 8,
        "line_break_in_option": 176,  # code
        "option_names_options": 94,
    }
    assert sum(bool(set(item["flags"]) & set(DROPPED)) for item in items) == 33
    ids = pq.read_table(folder / "items-mmbench.parquet", columns=["id"]).column("id").to_pylist()
    assert [item["id"] for item in items] == [str(value) for value in ids]
    published = tables["published"].to_pylist()
    assert len(published) == 26 * 14 and len({row["model"] for row in published}) == 26
    (value,) = (
        row["value"] for row in published if (row["model"], row["metric"]) == ("llava_v1_6_vicuna_13b", "acc")
    )
    assert value == 0.7674737322978529

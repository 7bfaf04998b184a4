"""Tables, trees and JSON files: memory stays flat, hidden files and links are ignored, cells of every kind."""

import json
import os
import random
import tracemalloc
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.datasets.loaders.built import IMAGE
from vouch.datasets.fetch.hub import choose, match
from vouch.datasets.raw import Unusable
from vouch.datasets.read import json_rows
from vouch.datasets.read.files import File, Row, SourceFiles, Tree
from vouch.datasets.read.forms import count_rows, rows
from vouch.pipeline.errors import UserError

HERE = File("t.parquet", None)  # type: ignore[arg-type]


def row(**values):
    return Row(values, "t row 1", 0, HERE)


@pytest.mark.parametrize("group", [10, 200])
def test_memory_stays_flat(tmp_path, group):
    """Of 200 images of 200 kB no more than a few pages and a batch are alive."""
    number, size = 200, 200_000
    schema = pa.schema([("n", pa.int64()), ("image", IMAGE)])
    with pq.ParquetWriter(tmp_path / "big.parquet", schema, write_batch_size=10) as writer:
        for first in range(0, number, group):
            cells = [{"bytes": bytes([n % 251]) * size, "path": None} for n in range(first, first + group)]
            columns = {"n": list(range(first, first + group)), "image": cells}
            writer.write_table(pa.Table.from_pydict(columns, schema), row_group_size=group)
    source = SourceFiles(tmp_path)
    assert count_rows(source) == number
    tracemalloc.start()
    seen, most, before = 0, 0, pa.total_allocated_bytes()
    for one in rows(source, ["n", "image"]):
        assert len(one.images("image")[0]) == size
        seen, most = seen + 1, max(most, pa.total_allocated_bytes() - before)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seen == number and peak < 40 * size and most < 60 * size, (peak, most)


def test_tsv_cells_larger_than_the_reader_allows_by_itself(tmp_path):
    text = "x" * 300_000
    (tmp_path / "a.tsv").write_text(f'n\ttext\n1\t"{text}\n""quoted"""\n', "utf-8")
    (one,) = rows(SourceFiles(tmp_path), ["n", "text"])
    assert one.text("text") == f'{text}\n"quoted"' and one.integer("n") == 1


def test_no_form_has_columns_that_were_not_asked_for(tmp_path):
    pq.write_table(pa.table({"n": ["1"], "more": ["x"], "other": ["y"]}), tmp_path / "a.parquet")
    (tmp_path / "b.tsv").write_text("n\tmore\tother\n1\tx\ty\n")
    found = [one.values for one in rows(SourceFiles(tmp_path), ["n"], ["more", "absent"])]
    assert found == [{"n": "1", "more": "x"}] * 2


def test_a_folder_without_tables(tmp_path):
    (tmp_path / ".hidden.tsv").write_text("n\n1\n")
    (tmp_path / "note.txt").write_text("x")
    with pytest.raises(UserError, match=r"no file \*\.parquet or \*\.tsv among its files \(note\.txt\)"):
        list(rows(SourceFiles(tmp_path), ["n"]))
    with pytest.raises(UserError, match="is a file; name its folder"):
        list(rows(SourceFiles(tmp_path / "note.txt"), ["n"]))


def test_cells():
    one = row(a=3, b="4", c=float("nan"), d=True, e="['x', \"y's\"]", f=["x"], g=None, h="", i=[1])
    assert (one.text("a"), one.integer("b"), one.maybe("c"), one.maybe("missing")) == ("3", 4, None, None)
    assert one.texts("e") == ["x", "y's"] and one.texts("f") == ["x"]
    assert one.images("g") == one.images("h") == []
    for call, words in (
        (lambda: one.text("g"), "g is missing"),
        (lambda: one.text("d"), "d is a bool, not a text"),
        (lambda: one.integer("d"), "d is a bool, not an integer"),
        (lambda: one.integer("e"), "is not an integer"),
        (lambda: one.texts("i"), "i has a int among its texts"),
        (lambda: one.texts("g"), "g is a NoneType"),
        (lambda: row(x="{}").texts("x"), "is not a list written as text"),
        (lambda: row(x=f"['{'x' * 100_000}']").texts("x"), "is not a list written as text"),
        (lambda: one.images("a"), "a is a int, not an image"),
        (lambda: row(x="AB").letter("x", 4), "'AB' is not one of the letters of its 4"),
    ):
        with pytest.raises(Unusable, match=words):
            call()


def test_a_tree_finds_by_the_end_of_a_path(tmp_path):
    (tmp_path / "set/a").mkdir(parents=True)
    (tmp_path / "set/a/1.png").write_bytes(b"1")
    (tmp_path / "set/2.png").write_bytes(b"2")
    with Tree(SourceFiles(tmp_path)) as tree:
        assert tree.names == ["set/2.png", "set/a/1.png"]
        assert tree.find("a/1.png") == "set/a/1.png" and tree.find("1.pn") is None
        assert tree.closest("C:\\data\\set\\a\\1.png") == "set/a/1.png"
        assert tree.closest("../../elsewhere/2.png") == "set/2.png"
        with pytest.raises(Unusable, match=r"no file 'x/3\.png'"):
            tree.closest("x/3.png")
    (tmp_path / "set/b").mkdir()
    (tmp_path / "set/b/1.png").write_bytes(b"3")
    with Tree(SourceFiles(tmp_path)) as tree, pytest.raises(Unusable, match=r"no file 'c/1\.png'"):
        tree.closest("c/1.png")


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    (tmp_path / "outside").write_bytes(b"secret")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/x.png").symlink_to(tmp_path / "outside")
    with Tree(SourceFiles(tmp_path / "in")) as tree, pytest.raises(Unusable, match="a link that leads out"):
        tree.read("x.png")


@pytest.mark.parametrize("packed", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_member_of_an_archive(tmp_path, packed):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", packed) as archive:
        archive.writestr("x.png", random.Random(0).randbytes(200) + b"abc" * 2000)
    data = bytearray((tmp_path / "a.zip").read_bytes())
    data[50:58] = b"\xff" * 8
    (tmp_path / "a.zip").write_bytes(data)
    with (
        Tree(SourceFiles(tmp_path)) as tree,
        pytest.raises(Unusable, match=r"'x\.png' cannot be read \(.+\)"),
    ):
        tree.read("x.png")


def test_cards():
    names = ["a/train-0.parquet", "a/train-1.parquet", "b/train-0.parquet", "data.csv", "test.parquet"]
    card = "---\nconfigs:\n- config_name: x\n  data_files:\n  - {split: train, path: [a/*, 'b/*']}\n---\n"
    assert choose(names, card, None, "train", "r") == names[:3]
    whole = "---\nconfigs:\n- config_name: x\n  data_files: '**/train-*'\n---\n"
    assert choose(names, whole, "x", "train", "r") == names[:3]
    assert choose(names, "no front matter", "default", "test", "r") == ["test.parquet"]
    assert choose(names, "", "b", "train", "r") == ["b/train-0.parquet"]
    other = "---\nconfigs:\n- config_name: x\n  data_files:\n  - {split: train, path: data.csv}\n---\n"
    assert choose(names, other, "x", "train", "r") == ["data.csv"]
    with pytest.raises(UserError, match=r"data\.zip is not a table \(\.parquet, .*; name it under `files`"):
        choose([*names, "data.zip"], other.replace(".csv", ".*"), "x", "train", "r")
    with pytest.raises(UserError, match=r"no file is named c/\*"):
        choose(names, card.replace("[a/*, 'b/*']", "c/*"), "x", "train", "r")
    with pytest.raises(UserError, match="not valid YAML"):
        choose(names, "---\nconfigs: [\n---\n", "x", "train", "r")


REFUSED_CELLS = [
    *(({"image": {"bytes": cell}}, "images", "image has a .* instead of an image's bytes")
      for cell in (5, 10**15, -1, "abc", [1, 300], 1.5, {"bytes": b"1"})),
    *(({"options": text}, "texts", "is not a list written as text")
      for text in ("[{[]: 1}]", "[{'a', []}]", "[" * 5000, "[__import__('os')]", "['a'] * 9**9")),
    *(({"answer": text}, "integer", "is not an integer") for text in ("1_0", "\u0663", "\uff11", "1.0", "9" * 5000, "")),
]  # fmt: skip


def test_cells_that_are_refused():
    for values, method, words in REFUSED_CELLS:
        with pytest.raises(Unusable, match=words):
            getattr(row(**values), method)(*values)


def test_a_column_that_stands_twice_is_refused_where_it_is_read(tmp_path):
    """Else the last one counts, and an answer is silently another one."""
    (tmp_path / "a.tsv").write_text("q\ta\ta\tz\tz\n1\tA\tB\t\t\n", "utf-8")
    with pytest.raises(UserError, match=r"a\.tsv: two columns 'a'; keep one of them"):
        list(rows(SourceFiles(tmp_path), ["q"], ["a"]))
    assert [one.text("q") for one in rows(SourceFiles(tmp_path), ["q"])] == ["1"]
    (tmp_path / "a.tsv").unlink()
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["q", "q"]), tmp_path / "a.parquet")
    with pytest.raises(UserError, match="two columns 'q'"):
        list(rows(SourceFiles(tmp_path), ["q"]))


def test_a_time_beyond_the_calendar_is_damage(tmp_path):
    pq.write_table(pa.table({"q": pa.array([2**62], pa.timestamp("us"))}), tmp_path / "a.parquet")
    with pytest.raises(UserError, match="damaged after row 0"):
        list(rows(SourceFiles(tmp_path), ["q"]))


def test_pipes_and_links_to_themselves_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "a.parquet")
    with pytest.raises(UserError, match=r"a\.parquet: a named pipe, not a plain file"):
        count_rows(SourceFiles(tmp_path))
    (tmp_path / "a.parquet").unlink()
    (tmp_path / "b").symlink_to("b")
    with Tree(SourceFiles(tmp_path)) as tree, pytest.raises(Unusable, match="a link to itself"):
        tree.read("b")


def test_stars_stop_at_a_slash():
    names = ["x.b", "a/x.b", "a/.b", "a/d/x.b", "[x].b", ".d/x.b"]
    for pattern, fits in {
        "a/*.b": ["a/x.b"], "a/.*": ["a/.b"], "**.b": ["[x].b", "a/d/x.b", "a/x.b", "x.b"],
        "**/x?b": ["a/d/x.b", "a/x.b", "x.b"], "a/**/x.b": ["a/d/x.b", "a/x.b"], ".*/x.b": [".d/x.b"],
        "a?x.b": [], "./x.b": ["x.b"], "*": ["[x].b", "x.b"], "**/*x.b": ["a/d/x.b", "a/x.b", "x.b"],
        "[x].b": ["[x].b"], "[w-y].b": ["x.b"], "[!a-c].b": ["x.b"], "a[/]x.b": [], "[z-a].b": [], "[.b": [],
    }.items():  # fmt: skip
        assert match(names, [pattern]) == fits, pattern
    for pattern in ("*a" * 60 + "c", "**/" * 60 + "c", "**/*a" * 60, "[a-b]*" * 60 + "c"):
        assert match(["a" * 200 + "b", "a/" * 100 + "b"], [pattern]) == [], "none of a card takes for ever"


@pytest.mark.parametrize("path", ["5", "{a: b}"])
def test_a_card_whose_paths_are_no_texts(path):
    card = f"---\nconfigs:\n- config_name: d\n  data_files:\n  - split: train\n    path: {path}\n---\n"
    with pytest.raises(UserError, match="o/r: no file is named"):
        choose(["data/train-0.parquet"], card, None, "train", "o/r")


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "rows", "header"),
    [
        (
            '\ufeff {"version": "2", "data": [{"a": 1}, 2.5, "]"], "split": {"x": []}} \n',
            [{"a": 1}, 2.5, "]"],
            {"version": "2", "split": {"x": []}},
        ),
        ("[]", [], {}),
        ("{}", [], {}),
        ('[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}], {}),
        ('{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}], {}),
        ('{"data": {"data": [1]}}', [], {"data": {"data": [1]}}),
        ('{"questions": [1], "annotations": 2}', [1], {"annotations": 2}),
    ],
)
def test_rows_and_header(tmp_path: Path, text: str, rows: list[object], header: dict[str, object]) -> None:
    path = written(tmp_path / "a.json", text)
    assert (list(json_rows.rows(path)), json_rows.header(path)) == (rows, header)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.recursive(st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
                          lambda inner: st.lists(inner, max_size=3), max_leaves=5), max_size=6),
    st.integers(1, 7),
    st.booleans(),
)  # fmt: skip
def test_wherever_a_part_ends(tmp_path_factory, rows: list[object], chunk: int, ascii_only: bool) -> None:
    text = json.dumps({"version": 12, "data": rows}, ensure_ascii=ascii_only).replace("\\ud", "\\u0")
    path = tmp_path_factory.mktemp("records") / "a.json"
    path.write_bytes(text.encode("utf-8", "replace"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_rows, "_CHUNK", chunk)
        assert list(json_rows.rows(path)) == json.loads(path.read_text("utf-8"))["data"]
        assert json_rows.header(path) == {"version": 12}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "its end instead of"),
        ("[1, 2", "its end instead of"),
        ("[1 2]", "2 instead of ,"),
        ('{"data": [1]} x', "more text after its end"),
        ('{"data": [1}', "} instead of ,"),
        ('{"version"', "its end instead of :"),
        ("[" * 100_000, "brackets are too deep"),
        ('{"data": [1], "version": 2, "questions": [2]}', "rows under data and questions; correct the file"),
        ('{"data": [1], "data": [2]}', "duplicate key 'data' in one object; correct the file"),
        ('{"version": 1, "data": [], "version": 2}', "duplicate key 'version' in one object"),
        ('[{"a": 1, "a": 2}]', "duplicate key 'a' in one object"),
        ('[{"a": NaN}]', "has NaN, which is not JSON"),
        ('{"x": -Infinity}', "has -Infinity, which is not JSON"),
        ('{"questions": ["a"]}\n{"questions": ["b"]}', "more text after its end"),
    ],
)
def test_damaged_files(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason) as caught:
        list(json_rows.rows(written(tmp_path / "a.json", text)))
    assert "a.json" in str(caught.value) and "\n" not in str(caught.value)
    (tmp_path / "b.json").write_bytes(b'["\xff"]')
    with pytest.raises(UserError, match="not JSON"):
        list(json_rows.rows(tmp_path / "b.json"))
    with pytest.raises(UserError, match="cannot be read"):
        list(json_rows.rows(tmp_path / "none.json"))

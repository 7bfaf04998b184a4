"""Tables: same rows same bytes, checked on reading, never half-written."""

import hashlib
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from vouch.pipeline.errors import UserError
from vouch.pipeline.files import replacing, replacing_folder, write_json
from vouch.tables.answered import LETTERS
from vouch.tables.asked import IMAGES, ITEMS, PROMPTS
from vouch.tables.table import Table

ITEM = {"id": "a", "group": "g", "question": "q?", "hint": None, "options": ["x", "y"], "answers": [1]}


def rows(count):
    return [{**ITEM, "id": str(i), "images": ["d" * 64], "flags": []} for i in range(count)]


def test_same_rows_same_bytes_however_they_come(tmp_path):
    ITEMS.write(tmp_path / "a", rows(10_000))
    ITEMS.write(tmp_path / "b", iter(rows(10_000)))
    ITEMS.write(tmp_path / "c", ITEMS.read(tmp_path / "a"))
    digests = {hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in "abc"}
    assert len(digests) == 1
    assert ITEMS.read(tmp_path / "a").num_rows == 10_000
    assert pq.ParquetFile(tmp_path / "a").num_row_groups == 3


def test_a_null_hint_is_not_an_empty_one(tmp_path):
    ITEMS.write(tmp_path / "a", [{**ITEM, "hint": None}, {**ITEM, "hint": ""}])
    assert ITEMS.read(tmp_path / "a").column("hint").to_pylist() == [None, ""]


def test_nested_prompts_survive(tmp_path):
    step = {"operation": "blur", "severity": 3, "revision": 1}
    picture = {"images": ["d"], "steps": [step, step]}
    PROMPTS.write(tmp_path / "a", [{"id": "x", "images": [picture, picture], "order": [0, -1]}])
    (row,) = PROMPTS.read(tmp_path / "a").to_pylist()
    assert row["images"] == [picture, picture] and row["order"] == [0, -1]


def test_measured_floats_are_stored_byte_by_byte(tmp_path):
    rows = [{"prompt": str(n), "logits": [n / 7, -n / 3, None]} for n in range(5000)]
    LETTERS.write(tmp_path / "a", rows)
    Table(LETTERS.name, LETTERS.version, LETTERS.schema).write(tmp_path / "b", rows)
    by_name = {
        column.path_in_schema: set(column.encodings)
        for place in range(len(LETTERS.schema))
        for column in [pq.ParquetFile(tmp_path / "a").metadata.row_group(0).column(place)]
    }
    assert "BYTE_STREAM_SPLIT" in by_name["logits.list.element"] and "BYTE_STREAM_SPLIT" in by_name["nll"]
    assert "RLE_DICTIONARY" in by_name["prompt"]
    assert LETTERS.read(tmp_path / "a").equals(LETTERS.read(tmp_path / "b"))
    assert (tmp_path / "a").stat().st_size < 0.9 * (tmp_path / "b").stat().st_size


def test_pictures_have_no_dictionary_and_bitmaps_are_packed(tmp_path):
    rows = [{"digest": str(n), "bytes": bytes([n]) * 2**20, "format": "BMP"} for n in range(20)]
    IMAGES.write(tmp_path / "a", rows)
    group = pq.ParquetFile(tmp_path / "a").metadata.row_group(0)
    encodings = {group.column(n).path_in_schema: group.column(n).encodings for n in range(len(IMAGES.schema))}
    assert "RLE_DICTIONARY" in encodings["format"] and "RLE_DICTIONARY" not in encodings["bytes"]
    assert IMAGES.read(tmp_path / "a")["bytes"].to_pylist() == [row["bytes"] for row in rows]
    assert (tmp_path / "a").stat().st_size < 2**20


@pytest.mark.parametrize("blobs", [[b"", b"a", b"\0" * 70_000], [b"a", None, b""], [None, None, None]])
def test_blobs_are_those_that_came(tmp_path, monkeypatch, blobs):
    rows = [{"n": number, "blob": blob} for number, blob in enumerate(blobs)] + [{"n": 3}, {"blob": b"alone"}]
    schema = pa.schema([("n", pa.int64()), ("blob", pa.binary())])
    contract = Table("blobs", 1, schema, rows_per_group=3)
    contract.write(tmp_path / "a.parquet", rows)
    whole = [{"n": None, "blob": None} | row for row in rows]
    assert contract.read(tmp_path / "a.parquet").to_pylist() == whole
    monkeypatch.setattr("vouch.tables.table._LONGEST", 3)  # as where two gigabytes meet
    contract.write(tmp_path / "b.parquet", rows)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_letters_keep_their_dtype(tmp_path, kind):
    schema = LETTERS.schema.set(1, pa.field("logits", pa.list_(kind)))
    table = pa.Table.from_pylist([{"prompt": "a", "logits": [0.1, 2.0]}], schema=schema)
    LETTERS.write(tmp_path / "a", table)
    assert LETTERS.read(tmp_path / "a").schema.field("logits").type.value_type == kind


def test_an_unknown_column_is_an_error(tmp_path):
    with pytest.raises(KeyError, match="colour"):
        ITEMS.write(tmp_path / "a", [{**ITEM, "colour": "red"}])
    assert not list(tmp_path.iterdir())


def refused(path):
    with pytest.raises(UserError) as caught:
        ITEMS.read(path)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)
    return str(caught.value)


def test_what_is_not_the_table_is_refused(tmp_path):
    assert "no such file" in refused(tmp_path / "gone")
    (tmp_path / "text").write_text("not parquet")
    assert "parquet" in refused(tmp_path / "text")
    PROMPTS.write(tmp_path / "prompts", [])
    assert f"prompts/{PROMPTS.version}, expected items/1" in refused(tmp_path / "prompts")
    newer = Table("items", 2, ITEMS.schema)
    newer.write(tmp_path / "newer", [])
    assert "items/2, expected items/1" in refused(tmp_path / "newer")
    fewer = Table("items", 1, ITEMS.schema.remove(0))
    fewer.write(tmp_path / "fewer", [])
    assert "column id" in refused(tmp_path / "fewer")
    pq.write_table(pa.table({"id": ["a"]}), tmp_path / "foreign")
    assert "no mark" in refused(tmp_path / "foreign")


def test_a_flipped_bit_in_the_data_is_noticed(tmp_path):
    path = tmp_path / "a"
    ITEMS.write(path, rows(2000))
    whole = path.read_bytes()
    for place in range(10, len(whole) - 10, len(whole) // 40):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        try:
            table = ITEMS.read(path)
        except UserError:
            continue
        path.write_bytes(whole)
        assert table.equals(ITEMS.read(path)), f"bit {place} changed rows unnoticed"


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a"
    ITEMS.write(path, rows(3))
    before = path.read_bytes()
    with pytest.raises(RuntimeError), ITEMS.writer(path) as writer:
        writer.row(ITEM)
        raise RuntimeError
    with pytest.raises(RuntimeError), replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("", "a named pipe"),
        ("/dev/null", "a device"),
        ("/proc/self/fd/1", "(a stream|a named pipe|a device)"),
    ],
)
def test_a_file_takes_the_place_of_nothing_but_a_file(tmp_path: Path, target: str, kind: str) -> None:
    """With the rights to do so, `--out /dev/null` would take /dev/null from every program of the machine."""
    path = tmp_path / "out"
    if target:
        path.symlink_to(target)
    else:
        os.mkfifo(path)
    with pytest.raises(UserError, match=f"out: {kind}, not a plain file; "):
        write_json(path, {})
    assert path.is_fifo() or path.is_symlink()


def test_a_failed_folder_leaves_the_old_one(tmp_path):
    path = tmp_path / "folder"
    with replacing_folder(path) as temporary:
        (temporary / "old").write_text("old")
    with pytest.raises(RuntimeError), replacing_folder(path) as temporary:
        (temporary / "new").write_text("new")
        raise RuntimeError
    assert [p.name for p in path.iterdir()] == ["old"]
    with replacing_folder(path) as temporary:
        (temporary / "new").write_text("new")
    assert [p.name for p in path.iterdir()] == ["new"] and len(list(tmp_path.iterdir())) == 1


def test_json_has_one_spelling(tmp_path):
    write_json(tmp_path / "a", {"b": 1, "a": "é"})
    write_json(tmp_path / "b", {"a": "é", "b": 1})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with pytest.raises(ValueError):
        write_json(Path(tmp_path / "c"), float("nan"))
    assert not (tmp_path / "c").exists()


ROWS = 10_000


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    rows = ({"id": f"{number:05d}", "item": f"i{number // 2:05d}"} for number in range(ROWS))
    PROMPTS.write(tmp_path / "prompts.parquet", rows)
    return tmp_path / "prompts.parquet"


def test_the_same_rows_as_reading_everything(prompts: Path) -> None:
    wanted = ["i00000", "i04999", "none"]
    assert pq.ParquetFile(prompts).num_row_groups > 1
    parts = list(PROMPTS.rows_with(prompts, "item", wanted, ["id"]))
    assert [name for part in parts for name in part["id"].to_pylist()] == ["00000", "00001", "09998", "09999"]
    (whole,) = PROMPTS.rows_with(prompts, "item", ["i00001"])
    table = PROMPTS.read(prompts)
    assert whole.equals(table.filter(pc.equal(table["item"], "i00001")).combine_chunks())


def test_damage_is_told_in_one_line_and_only_where_it_is_read(prompts: Path) -> None:
    last = pq.ParquetFile(prompts).metadata.row_group(pq.ParquetFile(prompts).num_row_groups - 1).column(0)
    data = bytearray(prompts.read_bytes())
    data[last.data_page_offset + last.total_compressed_size // 2] ^= 0xFF
    prompts.write_bytes(data)
    assert sum(part.num_rows for part in PROMPTS.rows_with(prompts, "id", ["00001"])) == 1
    with pytest.raises(UserError, match="damaged"):
        list(PROMPTS.rows_with(prompts, "id", [f"{ROWS - 1:05d}"]))

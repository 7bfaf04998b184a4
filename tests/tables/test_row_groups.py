"""Rows by the value of a column: the same as reading all, without the parts that cannot hold any."""

from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from vouch.pipeline.errors import UserError
from vouch.tables.prompts import PROMPTS
from vouch.tables.row_groups import rows_with

ROWS = 10_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = ({"id": f"{number:05d}", "item": f"i{number // 2:05d}"} for number in range(ROWS))
    PROMPTS.write(tmp_path / "prompts.parquet", rows)
    return tmp_path / "prompts.parquet"


def test_the_same_rows_as_reading_everything(path: Path) -> None:
    wanted = ["i00000", "i04999", "none"]
    assert pq.ParquetFile(path).num_row_groups > 1
    parts = list(rows_with(PROMPTS, path, "item", wanted, ["id"]))
    assert [name for part in parts for name in part["id"].to_pylist()] == ["00000", "00001", "09998", "09999"]
    (whole,) = rows_with(PROMPTS, path, "item", ["i00001"])
    table = PROMPTS.read(path)
    assert whole.equals(table.filter(pc.equal(table["item"], "i00001")).combine_chunks())


def test_damage_is_told_in_one_line_and_only_where_it_is_read(path: Path) -> None:
    last = pq.ParquetFile(path).metadata.row_group(pq.ParquetFile(path).num_row_groups - 1).column(0)
    data = bytearray(path.read_bytes())
    data[last.data_page_offset + last.total_compressed_size // 2] ^= 0xFF
    path.write_bytes(data)
    assert sum(part.num_rows for part in rows_with(PROMPTS, path, "id", ["00001"])) == 1
    with pytest.raises(UserError, match="damaged"):
        list(rows_with(PROMPTS, path, "id", [f"{ROWS - 1:05d}"]))

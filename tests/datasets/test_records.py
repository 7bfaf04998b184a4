"""JSON files read row by row."""

import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vouch.datasets.read import json_rows
from vouch.pipeline.errors import UserError


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_and_header(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.json", '\ufeff {"version": "2", "data": [{"a": 1}, 2.5, "]"], "split": {"x": []}} \n'
    )
    assert list(json_rows.rows(path)) == [{"a": 1}, 2.5, "]"]
    assert json_rows.header(path) == {"version": "2", "split": {"x": []}}


@pytest.mark.parametrize(
    ("text", "rows", "header"),
    [
        ("[]", [], {}),
        ("{}", [], {}),
        ('[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}], {}),
        ('{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}], {}),
        ('{"data": {"data": [1]}}', [], {"data": {"data": [1]}}),
        ('{"questions": [1], "annotations": 2}', [1], {"annotations": 2}),
    ],
)
def test_forms(tmp_path: Path, text: str, rows: list[object], header: dict[str, object]) -> None:
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


def test_a_long_value_is_tried_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value of a thousand parts is not decoded a thousand times."""

    class Counted(io.StringIO):
        reads = 0

        def read(self, size: int | None = -1, /) -> str:
            self.reads += 1
            return super().read(size)

    monkeypatch.setattr(json_rows, "_CHUNK", 8)
    file = Counted(json.dumps("x" * 8000))
    assert json_rows._Reader(file).value() == "x" * 8000
    assert file.reads <= 13


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "its end where"),
        ("[1, 2", "its end where"),
        ("[1 2]", "2 where , should stand"),
        ('{"data": [1]} x', "more text after its end"),
        ('{"data": [1}', "} where , should stand"),
        ('{"version"', "its end where : should stand"),
        ("[" * 100_000, "brackets are too deep"),
        ('{"data": [1], "version": 2, "questions": [2]}', "rows under data and questions; correct the file"),
        ('{"data": [1], "data": [2]}', "duplicate key 'data' in one object; correct the file"),
        ('{"version": 1, "data": [], "version": 2}', "duplicate key 'version' in one object"),
        ('[{"a": 1, "a": 2}]', "duplicate key 'a' in one object"),
        ('[{"a": NaN}]', "holds NaN, which is not JSON"),
        ('{"x": -Infinity}', "holds -Infinity, which is not JSON"),
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

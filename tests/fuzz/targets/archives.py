"""Zip archives and JSON of published datasets: names, members and lists of rows."""

import io
import json
import zipfile
from pathlib import Path

from tests.fuzz.pictures import PNG
from vouch.datasets.raw import Unusable
from vouch.datasets.read.files import SourceFiles, Tree
from vouch.datasets.read.json_rows import header, rows
from vouch.pipeline.errors import UserError

JSON = (
    [{"id": 1, "q": "x"}, {"id": 2}],
    {"version": "2.0", "data": [{"id": 1}, {"id": 2}], "split": "val"},
    {"questions": [{"question_id": 1}], "info": {"a": [1, 2.5, None, True]}},
)
WORDS = [b"PK\3\4", b"PK\1\2", b"PK\5\6", b"PK\6\6", b"../", b"/", b"\\", b'"data":[', b"[[[[", b"\0"]


def CORPUS() -> list[bytes]:
    archives = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w", method) as archive:
            archive.writestr("a/1.png", PNG)
            archive.writestr("a/rows.json", json.dumps(JSON[1]))
        archives.append(sink.getvalue())
    return [*archives, *(json.dumps(value).encode() for value in JSON), b'{"id": 1}\n{"id": 2}\n']


def read(data: bytes, folder: Path) -> None:
    name = "a.zip" if b"PK" in data[:4] or b"PK\5\6" in data else "a.json"
    for other in ("a.zip", "a.json"):
        (folder / other).unlink(missing_ok=True)
    (folder / name).write_bytes(data)
    if name == "a.json":
        header(folder / name)
        for _ in rows(folder / name):
            pass
        return
    with Tree(SourceFiles(folder)) as tree:
        for one in tree.names:
            try:
                tree.read(one)
                tree.closest(f"x/{one}")
            except Unusable as error:
                raise UserError(str(error)) from None
        tree.json(tree.find("rows.json") or "rows.json")

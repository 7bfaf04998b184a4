"""Tables of published datasets: TSV and parquet, read by a loader that takes both."""

import base64
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz.pictures import PNG
from vouch.datasets.loaders.mmbench import Settings, count
from vouch.datasets.loaders.mmbench import read as read_rows
from vouch.datasets.read.files import SourceFiles

NAMES = ("index", "question", "A", "B", "C", "answer", "hint", "category", "image")
ROWS = [
    [1, "What?", "a", "b", "c", "A", "h", "k", base64.b64encode(PNG).decode()],
    [1000001, "What?", "b", "a", "c", "B", None, "k", "1"],
    [2, 'Which "one"?', "x", "y", None, "B", None, None, base64.b64encode(PNG).decode()],
]
WORDS = [b"\t", b"\n", b'"', b"\r", b"PAR1", b"nan", b"index", b"image"]


def _parquet(**options: object) -> bytes:
    sink = io.BytesIO()
    columns = {name: [row[place] for row in ROWS] for place, name in enumerate(NAMES)}
    pq.write_table(pa.table(columns), sink, **options)
    return sink.getvalue()


def CORPUS() -> list[bytes]:
    text = "\n".join("\t".join("" if cell is None else str(cell) for cell in row) for row in [NAMES, *ROWS])
    odd = [
        {"compression": "gzip", "use_dictionary": False},
        {"data_page_version": "2.0"},
        {"row_group_size": 1},
    ]
    return [text.encode(), *(_parquet(**kind) for kind in ({}, {"compression": "zstd"}, *odd))]


def read(data: bytes, folder: Path) -> None:
    name = "dev.parquet" if b"PAR1" in data[:8] or b"PAR1" in data[-8:] else "dev.tsv"
    for other in ("dev.parquet", "dev.tsv"):
        (folder / other).unlink(missing_ok=True)
    (folder / name).write_bytes(data)
    source = SourceFiles(folder)
    count(source, "bench", Settings())
    for _ in read_rows(source, "bench", Settings()):
        pass

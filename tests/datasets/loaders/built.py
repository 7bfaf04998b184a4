"""Small files in the real schemas of published datasets: parquet with the hub's image feature, TSV, zip."""

import base64
import csv
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])  # what the hub calls Image
TEXTS = pa.list_(pa.string())


def png(shade: int = 0) -> bytes:
    """A small image."""
    out = io.BytesIO()
    Image.new("RGB", (4, 3), (shade, 0, 0)).save(out, "PNG")
    return out.getvalue()


def cell(shade: int = 0) -> dict[str, Any]:
    """An image as the hub's image feature stores it."""
    return {"bytes": png(shade), "path": None}


def coded(shade: int = 0) -> str:
    """An image in base64."""
    return base64.b64encode(png(shade)).decode()


def schema(texts: str, **others: pa.DataType) -> dict[str, pa.DataType]:
    """Columns of texts, and others."""
    return {**dict.fromkeys(texts.split(), pa.string()), **others}


def parquet(path: Path, types: Mapping[str, pa.DataType], *rows: Mapping[str, Any]) -> Path:
    """A table; a column that a row lacks is null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = pa.schema(list(types.items()))
    pq.write_table(pa.Table.from_pylist([{**dict.fromkeys(types), **row} for row in rows], schema), path)
    return path


def tsv(path: Path, *rows: Mapping[str, Any]) -> Path:
    """A table of texts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, list(rows[0]), dialect="excel-tab")
        writer.writeheader()
        writer.writerows(rows)
    return path


def archive(path: Path, members: Mapping[str, Any]) -> Path:
    """A zip; what is not bytes is written as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
    return path

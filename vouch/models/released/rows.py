"""The rows of a table in CSV, TSV, XLSX, parquet or JSON, each with its location and by column.

JSON is one object per line, or a list of objects. Of a workbook the first sheet is read, as rows of texts,
with only the standard library (ECMA-376, part 1). Every member is read to its checked end before one is
parsed, so no more is unpacked than they declare.
"""

import csv
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from posixpath import join, normpath
from typing import Any
from xml.etree import ElementTree

from vouch.models.released.objects import MAX_LINE, MAX_UNPACKED, objects
from vouch.pipeline.errors import UserError

Row = Mapping[str, Any]

MAX_COLUMNS = 1024
_BOOK, _RELATIONS, _TEXTS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/sharedStrings.xml"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_TRUTH = {"1": "TRUE", "0": "FALSE", "true": "TRUE", "false": "FALSE"}
_LONG = re.compile(r"-?(?=.{17})[0-9]+\.[0-9]+(?:[Ee][-+]?[0-9]+)?")
_CODED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    ElementTree.ParseError,
    LookupError,
    ValueError,
    OSError,
    EOFError,
)


def _parquet(data: bytes, where: str) -> Iterator[tuple[str, Row]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from vouch.models.released.logits import check_size

    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        check_size(file.metadata, where, "leave out what is not text")
        flat = [field.name for field in file.schema_arrow if field.type.num_fields == 0]
        table = file.read(columns=flat, use_threads=False)
        table.validate(full=True)
        rows = table.to_pylist()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise UserError(f"{where}: not readable as parquet ({error}); fetch it again") from None
    yield from ((f"row {number}", row) for number, row in enumerate(rows, start=1))


def _delimited(delimiter: str) -> Callable[[bytes, str], Iterator[tuple[str, Row]]]:
    def read(data: bytes, where: str) -> Iterator[tuple[str, Row]]:
        csv.field_size_limit(MAX_LINE)
        text = io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", newline="")
        try:
            yield from _with_head(csv.reader(text, delimiter=delimiter, strict=True), where)
        except (csv.Error, UnicodeDecodeError) as error:
            raise UserError(
                f"{where}: not readable as CSV in UTF-8 ({error!s:.120}); save it again"
            ) from None

    return read


def _with_head(rows: Iterator[list[str]], where: str, padded: bool = False) -> Iterator[tuple[str, Row]]:
    """Rows by the column names of the first row. padded: whether cells at the end may be missing."""
    head = next(rows, [])
    if len(set(head)) < len(head):
        raise UserError(f"{where}: two columns have one name; rename one")
    for number, cells in enumerate(filter(None, rows), start=1):
        if len(cells) > len(head) or (len(cells) < len(head) and not padded):
            raise UserError(
                f"{where} row {number}: {len(cells)} cells under {len(head)} names; put texts in quotes"
            )
        yield f"row {number}", dict(zip(head, cells + [""] * (len(head) - len(cells)), strict=True))


def rows(data: bytes, where: str) -> Iterator[list[str]]:
    """The rows that hold something, a missing cell as an empty text. Raises UserError."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(member.file_size for member in archive.infolist())
            if size > MAX_UNPACKED:
                raise UserError(
                    f"{where}: {size:,} bytes unpacked, more than {MAX_UNPACKED:,}; split the file"
                )
            if damaged := archive.testzip():
                raise ValueError(f"{damaged} is damaged")
            names = archive.namelist()
            shared = [_text(one) for one in _of(archive, _TEXTS, "si")] if _TEXTS in names else []
            for row in _of(archive, _first_sheet(archive), "row"):
                if any(cells := _cells(row, shared)):
                    yield cells
    except (*_UNREADABLE, NotImplementedError, RuntimeError) as error:  # the last two: how it is packed
        raise UserError(f"{where}: not readable as XLSX ({error!s:.120}); save it again, or as CSV") from None


def _first_sheet(archive: zipfile.ZipFile) -> str:
    sheet = next(_of(archive, _BOOK, "sheet"), None)
    if sheet is None:
        raise ValueError("no sheet")
    targets = {one.get("Id"): one.get("Target", "") for one in _of(archive, _RELATIONS, "Relationship")}
    return normpath(join("/xl", targets[sheet.get(_RELATION)])).lstrip("/")


def _of(archive: zipfile.ZipFile, member: str, tag: str) -> Iterator[ElementTree.Element]:
    """The elements of a member with that tag, one at a time; each is freed afterwards."""
    with archive.open(member) as file:
        events = ElementTree.iterparse(file, ("start", "end"))
        _, root = next(events)
        for event, element in events:
            if event == "end" and element.tag.rpartition("}")[2] == tag:
                yield element
                root.clear()


def _cells(row: ElementTree.Element, shared: list[str]) -> list[str]:
    cells: list[str] = []
    for cell in row:
        column = _column(cell.get("r", "")) if cell.get("r") else len(cells)
        if not len(cells) <= column < MAX_COLUMNS:
            raise ValueError(f"cell {cell.get('r')} is out of order, or beyond column {MAX_COLUMNS}")
        cells += [""] * (column - len(cells)) + [_value(cell, shared)]
    return cells


def _column(reference: str) -> int:
    number = 0
    for letter in reference.rstrip("0123456789").upper():
        number = 26 * number + ord(letter) - 64
    return number - 1


def _value(cell: ElementTree.Element, shared: list[str]) -> str:
    """As Excel shows it: TRUE, and 4.1 for 4.0999999999999996. Else as it is, ids of digits too."""
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        return _text(cell)
    value = next((part.text or "" for part in cell if part.tag.endswith("}v")), "")
    if kind == "s":
        return shared[int(value)]
    if kind == "b":
        return _TRUTH.get(value, value)
    if kind == "n" and _LONG.fullmatch(value):
        return f"{float(value):.15g}"
    return _coded(value) if kind == "str" else value


def _text(element: ElementTree.Element) -> str:
    """The runs of a text, without how they are to be pronounced (rPh)."""
    runs = [one for part in element for one in (part if part.tag.endswith(("}r", "}is")) else [part])]
    runs = [one for run in runs for one in (run if run.tag.endswith("}r") else [run])]
    return "".join(_coded(run.text or "") for run in runs if run.tag.endswith("}t"))


def _coded(text: str) -> str:
    """Decodes control characters, which XML cannot hold and which are written as `_x000D_`."""
    return _CODED.sub(lambda match: chr(int(match[1], 16)), text)


READERS: Mapping[str, Callable[[bytes, str], Iterator[tuple[str, Row]]]] = {
    ".csv": _delimited(","),
    ".tsv": _delimited("\t"),
    ".xlsx": lambda data, where: _with_head(rows(data, where), where, padded=True),
    ".parquet": _parquet,
    ".json": objects,
    ".jsonl": objects,
    ".gz": objects,
}
"""Readers by the suffix of the file."""

"""The first sheet of an XLSX workbook as rows of texts (ECMA-376, part 1), with the standard library alone.

Every member is read to its checked end before one is parsed: no more is unpacked than they declare.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from posixpath import join, normpath
from xml.etree import ElementTree

from vouch.pipeline.errors import UserError

MAX_UNPACKED = 2**30
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
    """The elements of a member with that tag, one after the other; what was seen is let go."""
    with archive.open(member) as file:
        events = ElementTree.iterparse(file, ("start", "end"))
        _, root = next(events)
        for event, element in events:
            if event == "end" and element.tag.rpartition("}")[2] == tag:
                yield element
                root.clear()


def _cells(row: ElementTree.Element, shared: list[str]) -> list[str]:
    found: list[str] = []
    for cell in row:
        place = _column(cell.get("r", "")) if cell.get("r") else len(found)
        if not len(found) <= place < MAX_COLUMNS:
            raise ValueError(f"cell {cell.get('r')} is out of order, or beyond column {MAX_COLUMNS}")
        found += [""] * (place - len(found)) + [_value(cell, shared)]
    return found


def _column(reference: str) -> int:
    number = 0
    for letter in reference.rstrip("0123456789").upper():
        number = 26 * number + ord(letter) - 64
    return number - 1


def _value(cell: ElementTree.Element, shared: list[str]) -> str:
    """As Excel shows it: TRUE, and 4.1 for 4.0999999999999996. Else as it stands, ids of digits too."""
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
    """Control characters, which XML cannot hold, stand as `_x000D_`."""
    return _CODED.sub(lambda found: chr(int(found[1], 16)), text)

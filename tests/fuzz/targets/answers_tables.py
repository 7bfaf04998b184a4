"""Tables of answers: CSV, TSV, XLSX, parquet and JSON lines."""

import io
import json
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from vouch.models.released.tables import table_samples

ROWS = [{"id": f"q{n}", "text": text, "sample": n % 2} for n, text in enumerate(('a "b", c', "x\ny", "是"))]
WORDS = b'"" | ,, | _x0000_ | t="s" | t="inlineStr" | r="ZZ9" | &lt; | <!ENTITY | NaN | -1'.split(b" | ")
SHEET = '<worksheet xmlns="m"><sheetData><row><c t="inlineStr"><is><t>id</t></is></c><c t="s"><v>0</v></c></row><row><c><v>5</v></c><c t="str"><v>y</v></c></row></sheetData></worksheet>'
PARTS = {
    "xl/workbook.xml": '<workbook xmlns="m" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet r:id="a"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": '<R xmlns="x"><Relationship Id="a" Target="s.xml"/></R>',
    "xl/s.xml": SHEET,
    "xl/sharedStrings.xml": '<sst xmlns="m"><si><t>text</t></si></sst>',
}


def CORPUS() -> list[bytes]:
    comma = b'id,text,sample\n1,"a ""b"", c",0\n2,"x\ny",1\n'
    packed, sheet, table = io.BytesIO(), io.BytesIO(), io.BytesIO()
    for data, kind in ((packed, zipfile.ZIP_DEFLATED), (sheet, zipfile.ZIP_STORED)):
        with zipfile.ZipFile(data, "w", kind) as archive:
            for name, part in PARTS.items():
                archive.writestr(name, part)
    pq.write_table(pa.Table.from_pylist(ROWS), table)
    lines = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    return [comma, comma.replace(b",", b"\t"), lines, *(data.getvalue() for data in (packed, sheet, table))]


def read(data: bytes, folder: Path) -> None:
    found = {b"PK": ".xlsx", b"PA": ".parquet", b'{"': ".jsonl"}.get(data[:2])
    suffix = found or (".tsv" if b"\t" in data[:20] else ".csv")
    table_samples(data, f"answers{suffix}", "m", None, None)

"""Sources that are damaged, lie or ask for too much: each is refused in one line that names its position.

The tables give an image, a file, a line or a row, and a part of the message.
"""

import io
import json
import os
import re
import socket
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.bounds import bounded
from tests.datasets.conftest import Project
from tests.datasets.loaders.test_table import COLUMNS, write
from tests.datasets.loaders.test_table import ROWS as TABLE_ROWS
from vouch.datasets.raw import Unusable
from vouch.datasets.read.images import examine
from vouch.images.opening import decode
from vouch.pipeline.errors import UserError

# Pillow warns of damaged TIFF and EXIF
DAMAGED = pytest.mark.filterwarnings("ignore::UserWarning:PIL.TiffImagePlugin")

SIDE = 40


def encoded(
    mode: str = "RGB", form: str = "PNG", size: tuple[int, int] = (SIDE, SIDE), **options: object
) -> bytes:
    """An image whose pixels differ."""
    noise = Image.effect_noise(size, 60)
    file = io.BytesIO()
    noise.convert(mode).save(file, form, **options)
    return file.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, depth: int = 8, colour: int = 2, data: bytes = b"", *more: bytes) -> bytes:
    """A PNG of such a head. more: chunks before its pixels."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    return (
        b"\x89PNG\r\n\x1a\n"
        + head
        + b"".join(more)
        + chunk(b"IDAT", zlib.compress(data))
        + chunk(b"IEND", b"")
    )


def with_chunk(kind: bytes, data: bytes) -> bytes:
    """A whole PNG with a further chunk after its head."""
    whole = encoded()
    return whole[:33] + chunk(kind, data) + whole[33:]


def scans(count: int) -> bytes:
    """A progressive JPEG whose scans come again and again."""
    file = io.BytesIO()
    Image.new("L", (2000, 2000), 99).save(file, "JPEG", progressive=True)
    whole = file.getvalue()
    first = whole.index(b"\xff\xda")
    return whole[:first] + whole[first:-2] * count + b"\xff\xd9"


def frames(count: int) -> bytes:
    """A GIF of so many frames of one pixel."""
    file = io.BytesIO()
    Image.new("P", (1, 1)).save(file, "GIF")
    whole = file.getvalue()
    start = whole.index(b",", 13)
    return whole[:start] + whole[start:-1] * count + b";"


def pages(count: int, loop: bool = False) -> bytes:
    """A TIFF of many pages of one pixel, the last of which may lead to the first."""
    tags = ((256, 1), (257, 1), (258, 8), (259, 1), (262, 1), (273, 8), (277, 1), (278, 1), (279, 1))
    size = 2 + 12 * len(tags) + 4
    parts = [struct.pack("<2sHI", b"II", 42, 12), b"\0" * 4]
    for number in range(count):
        following = 12 + size * (number + 1) if number + 1 < count else 12 * loop
        entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
        parts.append(struct.pack("<H", len(tags)) + entries + struct.pack("<I", following))
    return b"".join(parts)


def bmp(width: int, height: int, bits: int = 24, packed: int = 0, data: bytes = b"") -> bytes:
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, packed, len(data), 0, 0, 0, 0)
    return struct.pack("<2sIHHI", b"BM", 54 + len(data), 0, 0, 54) + head + data


def exif(orientation: int) -> bytes:
    data = Image.Exif()
    data[0x0112] = orientation
    return encoded(form="JPEG", exif=data)


def turned(place: int, data: bytes) -> bytes:
    """One byte is another."""
    return data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]


WHOLE = {form: encoded(form=form) for form in ("JPEG", "WEBP", "GIF", "TIFF", "PNG", "BMP")}
JPEG, WEBP, GIF, TIFF, PNG = (WHOLE[form] for form in ("JPEG", "WEBP", "GIF", "TIFF", "PNG"))
BOMB = zlib.compress(bytes(200_000_000), 9)

# What no item may show: a line that names it.
UNUSABLE: dict[str, bytes] = {
    **{f"{form} cut at {part:.0%}": data[: int(len(data) * part)] for form, data in WHOLE.items() for part in (0.02, 0.5)},
    "png without pixels": png(SIDE, SIDE),
    "png of no width": png(0, 9),
    "png of 2 billion pixels": png(50_000, 50_000),
    "png of 4 billion pixels a side": png(2**32 - 1, 2**32 - 1),
    "png of a row too many bits": png(SIDE, SIDE, depth=32, data=bytes(9999)),
    "png of no known colour": png(SIDE, SIDE, colour=9, data=bytes(9999)),
    "png whose head is damaged": turned(20, PNG),
    "png of texts that unpack to 200 MB": with_chunk(b"zTXt", b"a\0\0" + BOMB),
    "png of a profile that unpacks to 200 MB": with_chunk(b"iCCP", b"a\0\0" + BOMB),
    "png of a text of 70 MB": with_chunk(b"tEXt", b"a\0" + b"x" * 70_000_000),
    "jpeg of 1,000 scans of 4 million pixels": scans(170),
    "jpeg of 4 billion pixels": JPEG[: JPEG.index(b"\xff\xc0") + 5] + b"\xff\xff\xff\xff" + JPEG[JPEG.index(b"\xff\xc0") + 9 :],
    "gif of no colours": b"GIF89a" + bytes(7) + b";",
    "gif of 4 billion pixels": b"GIF89a\xff\xff\xff\xff" + GIF[10:],
    "tiff whose page leads nowhere": struct.pack("<2sHI", b"II", 42, 2**31),
    "tiff of a huge strip": pages(1).replace(struct.pack("<HHII", 279, 4, 1, 1), struct.pack("<HHII", 279, 4, 1, 2**31)).replace(struct.pack("<HHII", 256, 4, 1, 1), struct.pack("<HHII", 256, 4, 1, 2**31)),
    "tiff of an unknown packing": pages(1).replace(struct.pack("<HHII", 259, 4, 1, 1), struct.pack("<HHII", 259, 4, 1, 4711)),
    "tiff of floats": encoded("F", "TIFF"),
    "bitmap of no height": bmp(9, 0),
    "bitmap of two billion rows": bmp(9, 2**31 - 1),
    "bitmap of an unknown packing": bmp(9, 9, packed=77, data=bytes(999)),
    "bitmap whose runs go on": bmp(9, 9, bits=8, packed=1, data=b"\xff\x01" * 9),
    "webp of a wrong length": WEBP[:4] + b"\xff\xff\xff\x7f" + WEBP[8:40],
    "a line of pixels": encoded(size=(9000, 1)),
    "a column of pixels": encoded(size=(2, 9000)),
    "postscript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(x) run\n",
    "a PDF": b"%PDF-1.4\n" + bytes(99),
    "a drawing": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "an icon": encoded(form="ICO"),
    "a JPEG 2000": b"\0\0\0\x0cjP  \r\n\x87\n" + bytes(99),
    "a zip": b"PK\3\4" + bytes(99),
    "zeros": bytes(9999),
}  # fmt: skip
# Odd, and images all the same.
USABLE: dict[str, bytes] = {
    "png of a broken sum at its end": PNG[:-1] + b"\0",
    "png of two orientations": with_chunk(b"eXIf", b"II*\0" + bytes(9)),
    "png of frames": encoded(save_all=True, append_images=[Image.new("RGB", (SIDE, SIDE))]),
    "png of 16 bits": encoded("I;16"),
    "png of a palette": encoded("P"),
    "png of one bit": encoded("1"),
    "jpeg of four inks": encoded("CMYK", "JPEG"),
    "jpeg with much after its end": JPEG + bytes(999_999),
    "jpeg of an orientation that is none": exif(99),
    "jpeg on its side": exif(6),
    "jpeg of 90 scans of a few pixels": encoded(form="JPEG", progressive=True),
    "gif of 100,000 frames": frames(100_000),
    "gif of an end too soon": GIF[:-1],
    "tiff of 20,000 pages": pages(20_000),
    "tiff whose last page leads to the first": pages(3, loop=True),
    "tiff of Lab": encoded("LAB", "TIFF"),
    "bitmap upside down": bmp(9, -9, data=bytes(9 * 28)),
    "webp without loss": encoded(form="WEBP", lossless=True),
    "transparent": encoded("RGBA"),
    "of one pixel": encoded(size=(1, 1)),
    "199 times as wide as high": encoded(size=(199, 1)),
}  # fmt: skip

Edit = Callable[[Path], object]


def pipe(name: str) -> Edit:
    return lambda source: [(source / name).unlink(missing_ok=True), os.mkfifo(source / name)]


def a_socket(name: str) -> Edit:
    def edit(source: Path) -> None:
        with socket.socket(socket.AF_UNIX) as one:
            here = os.open(source, os.O_RDONLY)  # a socket's whole path may have 107 bytes
            one.bind(f"/proc/self/fd/{here}/{name}")
            os.close(here)

    return edit


def sparse(name: str, size: int = 10**11) -> Edit:
    def edit(source: Path) -> None:
        with (source / name).open("ab") as file:
            file.truncate(size)

    return edit


def link(name: str, to: str) -> Edit:
    return lambda source: [(source / name).unlink(missing_ok=True), (source / name).symlink_to(to)]


def folder(name: str) -> Edit:
    return lambda source: [(source / name).unlink(missing_ok=True), (source / name).mkdir()]


def item_of(name: str) -> Edit:
    """A further line, whose image is there."""

    def edit(source: Path) -> None:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(PNG)
        with (source / "items.jsonl").open("ab") as lines:
            lines.write(raw(id="more", image=name) + b"\n")

    return edit


# Of a folder with items.jsonl and one.png: what is done to it, and what is expected
FILES: dict[str, tuple[Edit, str]] = {
    "pipe for the items": (pipe("items.jsonl"), r"items\.jsonl: no such file"),
    "socket for a picture": (lambda at: [(at / "one.png").unlink(), a_socket("one.png")(at)], "no such file"),
    "device for a picture": (link("one.png", "/dev/zero"), "leads out"),
    "device for the items": (link("items.jsonl", "/dev/zero"), "leads out"),
    "folder for the items": (folder("items.jsonl"), "no such file"),
    "items that lead to themselves": (link("items.jsonl", "items.jsonl"), "items.jsonl: "),
    "sparse items": (sparse("items.jsonl"), r"line 4: longer than 67,108,864 characters, in a file of 100,000,000,000 bytes"),
    "sparse picture": (sparse("one.png"), "larger than 268,435,456 bytes"),
    "image in a cache of Python": (item_of("__pycache__/1.png"), r"'__pycache__/1.png': .dvcignore excludes __pycache__"),
    "image in an environment": (item_of("a/.venv/1.png"), r"\.dvcignore excludes \.venv, so changes would not be noticed; rename it"),
    "image with a name of compiled code": (item_of("1.pyc"), r"\.dvcignore excludes 1\.pyc"),
    "image with a name of a temporary file": (item_of("a/.1.png.tmp"), r"\.dvcignore excludes \.1\.png\.tmp"),
    "image in a folder of git": (item_of(".git/1.png"), r"\.dvcignore excludes \.git"),
    "items of noise": (lambda at: (at / "items.jsonl").write_bytes(bytes(range(256)) * 99), "line 1.*not JSON"),
    "items of another code": (lambda at: (at / "items.jsonl").write_text("{}", "utf-16"), "line 1.*not UTF-8"),
}  # fmt: skip
# The same in the readers of tables and archives: a file's name, what is written there, and what is expected
TABLES: dict[str, tuple[str, str, Edit, str]] = {
    "pipe among tables": ("mmmu", "x.parquet", pipe("x.parquet"), "named pipe"),
    "socket among tables": ("mmbench", "x.tsv", a_socket("x.tsv"), "a socket"),
    "sparse parquet": ("mmmu", "x.parquet", sparse("x.parquet"), "not readable as parquet"),
    "sparse tsv": ("mmbench", "x.tsv", sparse("x.tsv"), "longer than 134,217,728 characters, in a file of 100,000,000,000"),
    "sparse json": ("reform", "Flowers102/flower102_val_1p.json", sparse("Flowers102/flower102_val_1p.json"), "larger than|not JSON"),
    "sparse zip": ("ai2d", "ai2d-all.zip", sparse("ai2d-all.zip"), "not readable as a zip archive"),
    "table in a cache of Python": ("mmmu", "__pycache__/x.parquet", lambda at: (at / "__pycache__/x.parquet").write_bytes(b""), r"x\.parquet: \.dvcignore excludes __pycache__"),
    "archive in a cache of Python": ("ai2d", "__pycache__/ai2d-all.zip", lambda at: (at / "__pycache__/ai2d-all.zip").write_bytes(b""), r"\.dvcignore excludes __pycache__"),
    "pipe among archives": ("ai2d", "ai2d-all.zip", pipe("ai2d-all.zip"), "named pipe"),
}  # fmt: skip


def item(**changes: Any) -> dict[str, Any]:
    """A line of items.jsonl with changes; a value of `...` removes the key."""
    whole = {"id": "q1", "question": "What is shown?", "options": ["a kite", "a hat", "a cat"], "answer": 1}
    return {key: one for key, one in {**whole, "image": "one.png", **changes}.items() if one is not ...}


def raw(**changes: Any) -> bytes:
    return json.dumps(item(**changes)).encode()


# The second of three lines; all but READ are refused, with its number.
LINES: dict[str, dict[str, Any] | bytes] = {
 "question a number": item(question=7), "question a list": item(question=["a"]), "question null": item(question=None),
 "question of blanks": item(question=" \t\u3000\n"), "question invisible": item(question="\u200b\u200d\ufeff"),
 "question of a surrogate": raw(question="X").replace(b"X", b"\\ud800"),
 "question with a null byte": item(question="a\0b"), "question of marks of direction": item(question="\u202ewhich\u202c?"),
 "question of escapes": item(question="\x1b[2Jwhich?"), "question long": item(question="x "*600_000), "question of one long word": item(question="x"*1_100_000),
 "question of combining marks": item(question="e"+"\u0301"*100_000),
 "question with a picture's token": item(question="<image> <image> what?"), "question with braces": item(question="{question} {{ 7*7 }} {% raw %}"),
 "question not NFC": item(question="caf\u0065\u0301?"),
 "options a text": item(options="abc"), "options a dict": item(options={"A":"x","B":"y"}), "options of numbers": item(options=[1,2.5,True]), "options of lists": item(options=[["a"],["b"]]),
 "options null": item(options=None), "options of nulls": item(options=[None,None,None]), "options empty texts": item(options=["","",""]), "options alike": item(options=["a","a","a"]),
 "options alike but for blanks": item(options=["a"," a","a "]), "options alike but for width": item(options=["a","\uff41","b"]), "options many": item(options=[str(n) for n in range(100_000)]), "options long": item(options=["x"*1_100_000,"b"]),
 "option with a letter before": item(options=["A. x","B. y","C. z"]), "option of a newline": item(options=["a\nB. b","c","d"]),
 "answer huge": item(answer=10**400), "answer negative": item(answer=-1), "answer a fraction": item(answer=1.0), "answer nan": raw(answer=1).replace(b'"answer": 1', b'"answer": NaN'), "answer infinite": raw().replace(b'"answer": 1', b'"answer": 1e999'),
 "answer true": item(answer=True), "answer null": item(answer=None), "answer gone": item(answer=...), "answers none": item(answer=[]), "answers many": item(answer=list(range(3))*50_000), "answer deep": item(answer=json.loads("["*300+"]"*300)),
 "key twice": raw().replace(b'{"id"', b'{"id": "z", "id"'), "keys many": {**item(), **{f"k{n}":n for n in range(50_000)}}, "key long": {**item(), "k"*10**6: 1},
 "id long": item(id="x"*1_001), "id very long": item(id="x"*1_000_000), "category a sentence too long": item(category="x"*1_001), "id as long as may be": item(id="x"*1_000), "a number too large": raw().replace(b'"answer": 1', b'"weight": 1e999, "answer": 1'), "id of a path": item(id="../../etc"), "id of blanks": item(id="  "), "id a list": item(id=[1]), "id huge": raw(id=7).replace(b": 7", b": 7"+b"0"*5000), "id of newlines": item(id="a\nb"), "id of a surrogate": raw(id="X").replace(b'"X"', b'"\\udfff"'),
 "image above": item(image="../one.png"), "image absolute": item(image="/etc/passwd"), "image of a drive": item(image="C:\\x.png"), "image with a null byte": item(image="a\0.png"), "image long": item(image="x"*5000+".png"), "image an address": item(image="http://127.0.0.1:9/x.png"), "image a folder": item(image="."), "image a number": item(image=5), "image of data": item(image="data:image/png;base64,AAAA"), "images many": item(image=..., images=["one.png"]*500), "images deep": item(image=..., images=[["one.png"]]), "image and images": item(images=["one.png"]),
 "category a dict": item(category={"a":1}), "category long": item(category="x"*1_100_000), "hint a list": item(hint=["a"]), "hint long": item(hint="x"*1_100_000), "group a fraction": item(group=1.5), "group null": item(group=None),
 "turns of itself": item(turns=["q1"]), "turns unknown": item(turns=["zz"]), "turns a text": item(turns="q0"), "turns many": item(turns=["q0"]*9999),
 "exchange of too many": item(exchange=["one.png","one.png"]), "exchange of itself": item(exchange=["one.png"]), "exchange a text": item(exchange="one.png"),
 "boxes beyond": item(boxes=[[0,0,10**9,10**9]]), "boxes turned": item(boxes=[[30,30,1,1]]), "boxes of texts": item(boxes=[["a","b","c","d"]]), "boxes nan": raw(boxes=[[0,0,1,7]]).replace(b"7]]", b"NaN]]"), "boxes many": item(boxes=[[0,0,1,1]]*5000), "boxes without a picture": item(image=..., boxes=[[0,0,1,1]]), "box that nobody drew": item(question="<box 9>?"), "boxes huge": item(boxes=[[0,0,10**400,1]]),
 "references with options": item(references=["x"]), "references a dict": item(options=..., answer=..., references={}), "references none": item(options=..., answer=..., references=[]), "references many": item(options=..., answer=..., references=["x"]*100_000),
 "deep": b"["*100_000, "deep object": b'{"a":'*50_000, "a list": b"[1,2]", "a number": b"12", "a text": b'"x"', "half": raw()[:50], "two on a line": raw()+raw(), "comment": b"// "+raw(), "single quotes": raw().replace(b'"', b"'"), "other newlines": raw().replace(b", ", b",\r"), "latin": raw(question="X").replace(b"X", b"\xe9"), "of null bytes": b"\0"*5000, "mark in the middle": b"\xef\xbb\xbf\xef\xbb\xbf"+raw(), "form feed": b"\x0c"+raw(), "digits without end": raw().replace(b": 1,", b": "+b"1"*5_000_000+b","), "escapes without end": raw(question="X").replace(b"X", b"\\u0041"*300_000),
}  # fmt: skip
READ = {
    "question invisible", "question with a null byte", "question of marks of direction", "question of escapes",
    "question of combining marks", "question with a picture's token", "question with braces", "question not NFC",
    "options of nulls", "options empty texts", "options alike", "options alike but for blanks",
    "options alike but for width", "option with a letter before", "option of a newline", "answers many", "keys many",
    "key long", "id as long as may be", "id of a path", "images many", "group null", "turns many",
    "exchange of itself", "box that nobody drew", "references many", "other newlines", "escapes without end",
}  # fmt: skip

HEAD, ROW = b"no,q,A,B,C,right,photo,kind,scene,note\n", b"1,q?,x,y,z,A,,k,s,\n"
# Of the loader `table`: a file, what stands behind its two rows (or, with HEAD, in their place), and what is expected
ROWS: dict[str, tuple[str, bytes, str]] = {
    "line without end": ("t.csv", b"2," + b"x" * 7_000_000, "row 3: does not have one cell for each column"),
    "object without end": ("t.jsonl", b'{"q": "' + b"x" * 70_000_000, "line 3: longer than 67,108,864"),
    "quote without end": ("t.csv", HEAD + ROW + b'2,"' + b"x" * 9_000_000, "row 1 .unexpected end of data"),
    "cells many": ("t.csv", HEAD + b"," * 5_000_000 + b"\n", "row 1: does not have one cell"),
    "columns many": ("t.csv", HEAD[:-1] + b",c" * 200_000 + b"\n", "no usable item"),
    "keys many": ("t.jsonl", json.dumps({f"k{n}": n for n in range(50_000)}).encode(), "row 3: no is missing"),
    "keys that grow": ("t.jsonl", b"".join(b'{"k%d": 1}\n' % n for n in range(3000)), "row 3: no is missing"),
    "keys twice": ("t.jsonl", b'{"q": "a", "q": "b"}\n', "duplicate key"),
    "half a surrogate pair": ("t.jsonl", b'{"no": 9, "q": "\\ud800", "A": "x", "B": "y", "right": "A"}\n', "row 3 .*surrogate"),
    "brackets": ("t.jsonl", b"[" * 99_999, "line 3: .*brackets are too deep"),
    "a value": ("t.jsonl", b"7\n", "line 3: has a int, not an object"),
    "null bytes": ("t.csv", HEAD + bytes(5000) + b"\n", "row 1"),
    "another code": ("t.csv", (HEAD + ROW).decode().encode("utf-16"), "utf-8"),
    "a row too short": ("t.csv", HEAD + b"1,q?\n", "row 1"),
    "nothing": ("t.csv", HEAD, "no usable item"),
}  # fmt: skip


@DAMAGED
@pytest.mark.parametrize("name", UNUSABLE)
def test_an_image_that_cannot_be_shown(name: str) -> None:
    """Refused where a dataset is read, so that no model is asked it."""
    with bounded(), pytest.raises(Unusable) as caught:
        examine(UNUSABLE[name])
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


@DAMAGED
@pytest.mark.parametrize("name", USABLE)
def test_an_odd_image_is_shown(name: str) -> None:
    with bounded():
        found, shown = examine(USABLE[name]), decode(USABLE[name])
    assert shown.mode == "RGB" and shown.height == found.shown_height


def refusal(project: Project, loader: str, **settings: Any) -> str:
    with bounded(), pytest.raises(UserError) as caught:
        project.prepare(loader, **settings)
    assert project.written() == [] and "\n" not in str(caught.value) and len(str(caught.value)) < 600
    return str(caught.value)


@pytest.mark.parametrize("name", FILES)
def test_a_folder_of_items(name: str, project: Project) -> None:
    edit, expected = FILES[name]
    project.image("one.png")
    project.lines(*(item(id=f"q{number}") for number in range(3)))
    edit(project.source)
    message = refusal(project, "jsonl")
    assert re.search(expected, message), message


@pytest.mark.parametrize("name", TABLES)
def test_tables_and_archives(name: str, project: Project) -> None:
    loader, path, edit, expected = TABLES[name]
    (project.source / path).parent.mkdir(exist_ok=True)
    edit(project.source)
    message = refusal(project, loader, expect=None, **({"set": "flowers102"} if loader == "reform" else {}))
    assert re.search(expected, message), message


@pytest.mark.parametrize("name", LINES)
def test_a_line_of_items(name: str, project: Project) -> None:
    project.image("one.png", size=(40, 30))
    project.lines(item(id="q0"), LINES[name], item(id="q2"))
    if name in READ:
        with bounded():
            assert project.prepare()["items"].num_rows == 3
    else:
        assert refusal(project, "jsonl").startswith("toy/items.jsonl line 2")


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_a_table(name: str, project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    file, data, expected = ROWS[name]
    path = project.source / file
    for shade in (0, 1):
        project.image(f"pics/{shade}.png", shade=shade)
    write(path, TABLE_ROWS)
    path.write_bytes(data if HEAD[:-1] in data or b"n\0o" in data else path.read_bytes() + data)
    message = refusal(project, "table", columns=COLUMNS)
    assert re.search(expected, message), message
    assert capfd.readouterr().err == ""

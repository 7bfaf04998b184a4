"""The data of the item pages: questions, prompts and thumbnails, in files that a page can load from disk.

A page opened from disk cannot read files, but it can run scripts. So each file is one call, `vouch.put(name,
text)`, where the text is JSON, compressed with gzip, in base64; nothing of a dataset's text is ever
interpreted as script. pyarrow's own zlib compresses, so the bytes depend only on its release. Thumbnails come
64 to a sheet: fewer files and fewer bytes than separate images.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from PIL import Image

from vouch.images.opening import Undecodable, render
from vouch.pipeline.errors import UserError
from vouch.tables.asked import ITEMS, KEPT, MODEL_PROMPTS, ORIGINAL, PROMPTS
from vouch.tables.results import flags_of

_CODEC = pa.Codec("gzip", compression_level=6)
_SYSTEM = 9  # position of the byte that names the operating system, in gzip's header (RFC 1952)
_UNKNOWN = b"\xff"


def script_text(value: Any) -> str:
    """A value as JSON on one line. Raises ValueError for NaN and infinities."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def script(name: str, json_text: str) -> str:
    """A script that hands over a value, given as JSON, under a name."""
    # JSON may hold half a surrogate pair, which has no UTF-8 form.
    packed = _CODEC.compress(json_text.encode("utf-8", "replace"), asbytes=True)
    packed = packed[:_SYSTEM] + _UNKNOWN + packed[_SYSTEM + 1 :]
    return f'vouch.put({json.dumps(name)},"{base64.b64encode(packed).decode("ascii")}");\n'


def write_script(folder: Path, dataset: str, name: str, json_text: str) -> None:
    """Writes the file `NAME.js`, which hands over a value under the name `DATASET/NAME`."""
    path = folder / f"{name}.js"
    path.write_text(script(f"{dataset}/{name}", json_text), encoding="ascii", newline="\n")


def cut(words: str | None, most: int) -> str | None:
    """A text cut to a length that a page can show, with a note on how much is missing."""
    if words is None or len(words) <= most:
        return words
    return f"{words[:most]} … ({len(words) - most:,} more characters)"


Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ItemTable:
    """N items with P prompts, which are sorted by item.

    prompts: ids [P]. of: [P] number of the item. variation: [P] index into `variations`. kept: [P] whether
    the variation keeps the correct answer. shown: [P] number of options. starts: [N + 1] the prompts of item
    i are starts[i] to starts[i + 1].
    """

    prompts: pa.Array
    of: Ints
    variation: Ints
    kept: NDArray[np.bool_]
    shown: Ints
    starts: Ints
    variations: Sequence[str]

    @property
    def items(self) -> int:
        """The number of items, N."""
        return len(self.starts) - 1

    @property
    def originals(self) -> Ints:
        """[N] number of the item's original prompt, -1 if it has none."""
        found = np.full(self.items, -1, dtype=np.int64)
        if ORIGINAL in self.variations:
            plain = np.flatnonzero(self.variation == self.variations.index(ORIGINAL))
            found[self.of[plain][::-1]] = plain[::-1]
        return found

    def numbers(self, names: pa.ChunkedArray) -> Ints:
        """Numbers of the prompts with these ids, -1 for an unknown id."""
        found = pc.fill_null(pc.index_in(names, self.prompts), -1)
        return np.asarray(found.to_numpy()).astype(np.int64)


def read_questions(items: Path, prompts: Path) -> ItemTable:
    """Reads the two tables. Raises UserError if the prompts are not in the order of the items."""
    ids = ITEMS.read(items, ["id"])["id"].combine_chunks()
    table = PROMPTS.read(prompts, ["id", "item", "variation", "effect", "order"])
    of = np.asarray(pc.fill_null(pc.index_in(table["item"], ids), -1).to_numpy()).astype(np.int64)
    if (of < 0).any() or (np.diff(of) < 0).any():
        raise UserError(f"{prompts}: its prompts are not in the order of {items}; run `dvc repro`")
    names = table["variation"].unique().to_pylist()
    variation = pc.index_in(table["variation"], pa.array(names, pa.string())).to_numpy()
    return ItemTable(
        prompts=table["id"].combine_chunks(),
        of=of,
        variation=np.asarray(variation).astype(np.int64),
        kept=np.asarray(pc.equal(table["effect"], KEPT).to_numpy()).astype(bool),
        shown=np.asarray(pc.fill_null(pc.list_value_length(table["order"]), 0).to_numpy()).astype(np.int64),
        starts=np.searchsorted(of, np.arange(len(ids) + 1)),
        variations=names,
    )


ACROSS, DOWN = 8, 8
CELL = 16  # cells are multiples of the encoder's blocks, so that neighbours do not bleed into each other
QUALITY = 60
METHOD = 6  # of WebP: how long the encoder searches

Tile = list[int]
"""Sheet, its width and height, and the position on it: left, top, width, height; pixels."""


def key(recipe: Mapping[str, Any]) -> str:
    """A unique name for a recipe."""
    steps = (f"{s['operation']} {s['severity']} {s['revision']}" for s in recipe["steps"])
    return "\n".join([*recipe["images"], *steps])


class Sheets:
    """Writes thumbnails of recipes to FOLDER/sheet-NUMBER.webp until the budget is used up.

    read: returns the bytes of an image by digest. tiles: the position of each recipe's thumbnail, by `key`.
    """

    def __init__(self, folder: Path, read: Callable[[str], bytes], thumbnail: int, budget: int) -> None:
        self._folder, self._read = folder, read
        self._thumbnail, self._left = thumbnail, budget
        self.tiles: dict[str, Tile] = {}
        self.sheets, self.bytes, self.left_out = 0, 0, 0
        self._same: dict[bytes, str] = {}
        self._twins: list[tuple[str, str]] = []
        self._waiting: dict[str, Image.Image] = {}
        self._full = False

    def add(self, recipes: Iterable[Mapping[str, Any]]) -> None:
        """Adds images, each distinct one once. Raises UserError for an invalid recipe."""
        known = {*self.tiles, *self._waiting, *(twin for twin, _ in self._twins)}
        for recipe in recipes:
            name = key(recipe)
            if name in known:
                continue
            known.add(name)
            if self._full:
                self.left_out += 1
                continue
            self._one(name, recipe)
            if len(self._waiting) == ACROSS * DOWN:
                self._write()
        self._write()
        for twin, name in self._twins:
            if name in self.tiles:
                self.tiles[twin] = self.tiles[name]

    def _one(self, name: str, recipe: Mapping[str, Any]) -> None:
        try:
            image = render(recipe, self._read)
        except Undecodable:
            return
        image.thumbnail((self._thumbnail, self._thumbnail), Image.Resampling.LANCZOS)
        seen = hashlib.sha256(f"{image.size}".encode() + image.tobytes()).digest()
        first = self._same.setdefault(seen, name)
        if first == name:
            self._waiting[name] = image
        else:
            self._twins.append((name, first))

    def _write(self) -> None:
        """Writes a sheet of the waiting images; if it would exceed the budget, it and all later sheets are
        left out."""
        waiting, self._waiting = self._waiting, {}
        if not waiting:
            return
        cell = -(-max(max(image.size) for image in waiting.values()) // CELL) * CELL
        across, down = min(ACROSS, len(waiting)), -(-len(waiting) // ACROSS)
        sheet = Image.new("RGB", (across * cell, down * cell), "white")
        tiles: dict[str, Tile] = {}
        for number, (name, image) in enumerate(waiting.items()):
            left, top = number % ACROSS * cell, number // ACROSS * cell
            sheet.paste(image, (left, top))
            tiles[name] = [self.sheets, *sheet.size, left, top, *image.size]
        file = BytesIO()
        sheet.save(file, "WEBP", quality=QUALITY, method=METHOD)
        if len(file.getvalue()) > self._left:
            self._full, self.left_out = True, self.left_out + len(waiting)
            return
        self._left -= len(file.getvalue())
        self.bytes += len(file.getvalue())
        (self._folder / f"sheet-{self.sheets:04d}.webp").write_bytes(file.getvalue())
        self.tiles |= tiles
        self.sheets += 1


Row = Mapping[str, Any]

ROWS = 1000  # items of a file of short rows
ANSWERS = 20_000  # about as many answers of all models on one page
FEWEST, MOST = 20, 200  # items of a page
LONGEST = 8000  # characters of a text that are shown
BRIEF = 600  # characters of a question in a list
BRIEF_OPTION = 120

OF_ITEMS = (
    *("id", "group", "question", "hint", "options", "answers", "references", "images", "category", "kind"),
    *("turns", "source_id", "flags"),
)
OF_PROMPTS = (
    *("variation", "effect", "system", "turns", "text", "response", "options", "order", "labels"),
    *("answers", "images", MODEL_PROMPTS.name),
)


def items_a_page(questions: ItemTable, outputs: int) -> int:
    """Items of a page, so that it stays small however many models and variations there are."""
    answers = len(questions.of) * outputs / max(1, questions.items)
    return int(min(MOST, max(FEWEST, ANSWERS // max(1, answers))))


def rows(path: Path, columns: Sequence[str], table: Any = ITEMS) -> Iterator[Row]:
    """Rows of a table, one after the other. Raises UserError."""
    for batch in table.open(path).iter_batches(512, columns=list(columns), use_threads=False):
        yield from batch.to_pylist()


def brief(item: Row, tiles: Mapping[str, Tile]) -> list[Any]:
    """id, question, options, correct ones, references, tile of the first image."""
    first = next(iter(item["images"] or ()), None)
    return [
        item["id"],
        cut(item["question"], BRIEF),
        [cut(option, BRIEF_OPTION) for option in item["options"] or ()],
        item["answers"] or [],
        [cut(text, BRIEF_OPTION) for text in (item["references"] or ())[:3]],
        None if first is None else tiles.get(key({"images": [first], "steps": []})),
    ]


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, "", [])}


def whole(item: Row, solved: Collection[str]) -> dict[str, Any]:
    """An item as in its source, with long texts cut. solved: ids of the items that are solved blind."""
    found = {name: item[name] for name in OF_ITEMS if name not in ("images", "source_id")}
    found |= {name: cut(item[name], LONGEST) for name in ("question", "hint")}
    found["flags"] = flags_of(item, solved)
    found |= {name: [cut(text, LONGEST) for text in item[name] or ()] for name in ("options", "references")}
    if item["source_id"] != item["id"]:
        found["source_id"] = item["source_id"]
    return _filled(found)


def prompt(row: Row, number: int, variation: int, tiles: Mapping[str, Tile]) -> dict[str, Any]:
    """A prompt as asked, and as `own` models are asked it. number: of its item on the page. tiles: null for
    images that are not shown."""
    shown = row["images"] or ()
    return _filled(
        {
            "item": number,
            "variation": variation,
            "effect": None if row["effect"] == KEPT else row["effect"],
            **_wording(row),
            "own": [
                _filled({"models": own["models"], "template": own["template"], **_wording(own)})
                for own in row.get(MODEL_PROMPTS.name) or ()
            ],
            "options": [cut(option, LONGEST) for option in row["options"] or ()],
            "order": row["order"],
            "labels": row["labels"],
            "answers": row["answers"],
            "tiles": [tiles.get(key(recipe)) for recipe in shown],
            "steps": [_steps(recipe) for recipe in shown],
        }
    )


def _wording(row: Row) -> dict[str, Any]:
    return {
        "system": cut(row["system"], LONGEST),
        "turns": [
            [cut(turn["question"], LONGEST), cut(turn["answer"], LONGEST)] for turn in row["turns"] or ()
        ],
        "text": cut(row["text"], LONGEST),
        "response": row["response"],
    }


def _steps(recipe: Row) -> str:
    return ", ".join(
        f"{step['operation']} {step['severity']}" if step["severity"] else step["operation"]
        for step in recipe["steps"]
    )


def recipes(items: Path, prompts: Path, original: bool) -> Iterator[Row]:
    """Recipes of images: the original images of items, or else the images of all prompts."""
    if original:
        for item in rows(items, ["images"]):
            yield from ({"images": [digest], "steps": []} for digest in item["images"] or ())
    else:
        for row in rows(prompts, ["images"], PROMPTS):
            yield from row["images"] or ()


def item_pages(
    items: Path,
    prompts: Path,
    questions: ItemTable,
    size: int,
    tiles: Mapping[str, Tile],
    solved: Collection[str],
) -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """Items and prompts, page after page. solved: ids of the items that are solved blind."""
    number = {name: index for index, name in enumerate(questions.variations)}
    asked = rows(prompts, OF_PROMPTS, PROMPTS)
    for start, part in enumerate(_parts(rows(items, OF_ITEMS), size)):
        first = start * size
        found = []
        for index in range(len(part)):
            count = int(questions.starts[first + index + 1] - questions.starts[first + index])
            for row in islice(asked, count):
                found.append(prompt(row, index, number[row["variation"]], tiles))
        yield [whole(item, solved) for item in part], found


def _parts(values: Iterable[Row], size: int) -> Iterator[list[Row]]:
    values = iter(values)
    while part := list(islice(values, size)):
        yield part


def briefs(items: Path, tiles: Mapping[str, Tile]) -> Iterator[list[list[Any]]]:
    """Short rows of all items, file after file."""
    for part in _parts(rows(items, ["id", "question", "options", "answers", "references", "images"]), ROWS):
        yield [brief(item, tiles) for item in part]


def of_items(path: Path, solved: Collection[str]) -> tuple[dict[str, Any], list[int]]:
    """Categories and flags of all items (names, the category of each item, the items of each flag), and a
    CRC-32 of each item's id, with which a link finds its page. solved: ids of items that are solved blind."""
    categories: dict[str, int] = {}
    of_category: list[int] = []
    flags: dict[str, list[int]] = {}
    ids: list[int] = []
    for batch in ITEMS.open(path).iter_batches(columns=["id", "category", "flags"], use_threads=False):
        for row in batch.to_pylist():
            of_category.append(categories.setdefault(row["category"] or "", len(categories)))
            for flag in flags_of(row, solved):
                flags.setdefault(flag, []).append(len(ids))
            ids.append(zlib.crc32(row["id"].encode("utf-8", "replace")))
    names = sorted(flags)
    columns = {
        "categories": list(categories),
        "category": of_category,
        "flags": names,
        "flagged": [flags[name] for name in names],
    }
    return columns, ids

"""The data of the item pages: questions with their prompts, in files that a page can load from disk.

A page opened from disk cannot read files, but it can run scripts. So each file is one call, `vouch.put(name,
text)`, where the text is JSON, compressed with gzip, in base64; nothing of a dataset's text is ever
interpreted as script. pyarrow's own zlib compresses, so the bytes depend only on its release.
"""

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vouch.pipeline.errors import UserError
from vouch.report.items.sheets import Tile, key
from vouch.tables.asked import ITEMS, KEPT, ORIGINAL, PROMPTS

_CODEC = pa.Codec("gzip", compression_level=6)
_SYSTEM = 9  # place of the byte that names the operating system, in gzip's header (RFC 1952)
_UNKNOWN = b"\xff"


def script_text(value: Any) -> str:
    """A value as JSON on one line. Raises ValueError for NaN and infinities."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def script(name: str, json_text: str) -> str:
    """The script that hands over a value, given as JSON, under a name."""
    # JSON may hold half a surrogate pair, which has no UTF-8 form.
    packed = _CODEC.compress(json_text.encode("utf-8", "replace"), asbytes=True)
    packed = packed[:_SYSTEM] + _UNKNOWN + packed[_SYSTEM + 1 :]
    return f'vouch.put({json.dumps(name)},"{base64.b64encode(packed).decode("ascii")}");\n'


def write_script(folder: Path, dataset: str, name: str, json_text: str) -> None:
    """Writes the file `NAME.js`; its value comes under `DATASET/NAME`."""
    path = folder / f"{name}.js"
    path.write_text(script(f"{dataset}/{name}", json_text), encoding="ascii", newline="\n")


def cut(words: str | None, most: int) -> str | None:
    """A text cut to a length that a page can show, with a note on how much is missing."""
    if words is None or len(words) <= most:
        return words
    return f"{words[:most]} … ({len(words) - most:,} more characters)"


Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Questions:
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
        """N."""
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


def read_questions(items: Path, prompts: Path) -> Questions:
    """Reads the two tables. Raises UserError if the prompts are not in the order of the items."""
    ids = ITEMS.read(items, ["id"])["id"].combine_chunks()
    table = PROMPTS.read(prompts, ["id", "item", "variation", "effect", "order"])
    of = np.asarray(pc.fill_null(pc.index_in(table["item"], ids), -1).to_numpy()).astype(np.int64)
    if (of < 0).any() or (np.diff(of) < 0).any():
        raise UserError(f"{prompts}: its prompts are not in the order of {items}; run `dvc repro`")
    names = table["variation"].unique().to_pylist()
    variation = pc.index_in(table["variation"], pa.array(names, pa.string())).to_numpy()
    return Questions(
        prompts=table["id"].combine_chunks(),
        of=of,
        variation=np.asarray(variation).astype(np.int64),
        kept=np.asarray(pc.equal(table["effect"], KEPT).to_numpy()).astype(bool),
        shown=np.asarray(pc.fill_null(pc.list_value_length(table["order"]), 0).to_numpy()).astype(np.int64),
        starts=np.searchsorted(of, np.arange(len(ids) + 1)),
        variations=names,
    )


Row = Mapping[str, Any]

ROWS = 1000  # items of a file of short rows
ANSWERS = 20_000  # of all models on one page, about
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
    *("answers", "images"),
)


def items_a_page(questions: Questions, outputs: int) -> int:
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


def whole(item: Row) -> dict[str, Any]:
    """An item as in its source, with long texts cut."""
    found = {name: item[name] for name in OF_ITEMS if name not in ("images", "source_id")}
    found |= {name: cut(item[name], LONGEST) for name in ("question", "hint")}
    found |= {name: [cut(text, LONGEST) for text in item[name] or ()] for name in ("options", "references")}
    if item["source_id"] != item["id"]:
        found["source_id"] = item["source_id"]
    return _filled(found)


def prompt(row: Row, number: int, variation: int, tiles: Mapping[str, Tile]) -> dict[str, Any]:
    """A prompt as asked. number: of its item on the page. tiles: null for images that are not shown."""
    pictures = row["images"] or ()
    return _filled(
        {
            "item": number,
            "variation": variation,
            "effect": None if row["effect"] == KEPT else row["effect"],
            "system": cut(row["system"], LONGEST),
            "turns": [
                [cut(turn["question"], LONGEST), cut(turn["answer"], LONGEST)] for turn in row["turns"] or ()
            ],
            "text": cut(row["text"], LONGEST),
            "response": row["response"],
            "options": [cut(option, LONGEST) for option in row["options"] or ()],
            "order": row["order"],
            "labels": row["labels"],
            "answers": row["answers"],
            "tiles": [tiles.get(key(picture)) for picture in pictures],
            "steps": [_steps(picture) for picture in pictures],
        }
    )


def _steps(picture: Row) -> str:
    return ", ".join(
        f"{step['operation']} {step['severity']}" if step["severity"] else step["operation"]
        for step in picture["steps"]
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
    items: Path, prompts: Path, questions: Questions, size: int, tiles: Mapping[str, Tile]
) -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """Items and prompts, page after page."""
    number = {name: place for place, name in enumerate(questions.variations)}
    asked = rows(prompts, OF_PROMPTS, PROMPTS)
    for start, part in enumerate(_parts(rows(items, OF_ITEMS), size)):
        first = start * size
        found = []
        for place in range(len(part)):
            count = int(questions.starts[first + place + 1] - questions.starts[first + place])
            for row in islice(asked, count):
                found.append(prompt(row, place, number[row["variation"]], tiles))
        yield [whole(item) for item in part], found


def _parts(values: Iterable[Row], size: int) -> Iterator[list[Row]]:
    values = iter(values)
    while part := list(islice(values, size)):
        yield part


def briefs(items: Path, tiles: Mapping[str, Tile]) -> Iterator[list[list[Any]]]:
    """Short rows, file after file."""
    for part in _parts(rows(items, ["id", "question", "options", "answers", "references", "images"]), ROWS):
        yield [brief(item, tiles) for item in part]


def of_items(path: Path) -> tuple[dict[str, Any], list[int]]:
    """Categories and flags of all items (names, the category of each item, the items of each flag), and a
    CRC-32 of each item's id, by which a link finds its page."""
    categories: dict[str, int] = {}
    of_category: list[int] = []
    flags: dict[str, list[int]] = {}
    ids: list[int] = []
    for batch in ITEMS.open(path).iter_batches(columns=["id", "category", "flags"], use_threads=False):
        for row in batch.to_pylist():
            of_category.append(categories.setdefault(row["category"] or "", len(categories)))
            for flag in row["flags"] or ():
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

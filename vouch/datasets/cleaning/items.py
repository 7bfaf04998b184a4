"""From an entry of a source to an item: the checks that refuse it, its row, and a buffer of all rows."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from vouch.datasets.raw import RawItem, Unusable
from vouch.datasets.read.images import ImageFacts, digest_of
from vouch.tables.asked import ITEMS

MAX_OPTIONS = 26
MAX_NAME = 1_000  # characters of an id or a category: tables, pages and messages repeat it
MAX_TEXT = 1_000_000  # characters of an entry; a chat template copies them until memory is full
ALL = "all"  # in METRICS the category of all items


def check(raw: RawItem) -> None:
    """Everything that can be refused without the images. Raises Unusable."""
    if not raw.id or not raw.id.isprintable() or raw.id != raw.id.strip():
        raise Unusable("the id is empty or has blanks at an end, line breaks or control characters")
    for what, name in (("id", raw.id), ("id in its source", raw.source_id), ("category", raw.category)):
        if len(name) > MAX_NAME:
            raise Unusable(f"the {what} has {len(name):,} characters, more than {MAX_NAME:,}; shorten it")
    texts = (raw.question, raw.hint, raw.category, raw.source_id, raw.group, *raw.options, *raw.references)
    given = [text for text in (*texts, *raw.phrasings) if text is not None]
    if not _encodable("".join(given)):
        text = next(text for text in given if not _encodable(text))
        raise Unusable(f"the text {text[:40]!r} contains half a surrogate pair, which UTF-8 cannot encode")
    if (length := sum(map(len, given))) > MAX_TEXT:
        raise Unusable(f"its texts have {length:,} characters, more than {MAX_TEXT:,}; shorten them")
    if not raw.question.strip():
        raise Unusable("the question is empty")
    if raw.category == ALL:
        raise Unusable(f"the category is `{ALL}`, which stands for all items together; rename it")
    if raw.exchange and len(raw.exchange) != len(raw.images):
        raise Unusable(f"has {len(raw.images)} images, but {len(raw.exchange)} entries of images to exchange")
    if raw.kind == "text":
        if not raw.references:
            raise Unusable("an open question needs at least one reference answer")
        if not any(reference.strip() for reference in raw.references):
            raise Unusable("every reference answer is blank; write one")
    else:
        _check_options(known_options(raw.options), raw.answers)


def _check_options(options: Sequence[str], answers: Sequence[int]) -> None:
    if len(options) < 2:
        raise Unusable(f"a choice needs at least 2 options, has {len(options)} that are not missing")
    if len(options) > MAX_OPTIONS:
        raise Unusable(f"has {len(options)} options, more than the {MAX_OPTIONS} letters")
    if not answers:
        raise Unusable("has no correct option")
    for answer in answers:
        if not 0 <= answer < len(options):
            raise Unusable(
                f"answer index {answer!s:.20} is not an index of its options, 0 to {len(options) - 1}"
            )


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def known_options(options: Sequence[str | None]) -> list[str]:
    """The options before the first missing one, as Kostumov et al. (2024) read them.

    Where all are missing, only their number is known: as many blank options.
    """
    if all(option is None for option in options):
        return [""] * len(options)
    missing = options.index(None) if None in options else len(options)
    return [option for option in options[:missing] if option is not None]


def clean(raw: RawItem, facts: Sequence[ImageFacts], group: str | None = None) -> dict[str, Any]:
    """The row of an entry that passed `check`, and of its images; the second pass adds the flags.

    group: for an entry that names none, instead of `default_group`.
    """
    images = [image.digest for image in facts]
    own = group if raw.group is None else raw.group
    return {
        "id": raw.id,
        "group": default_group(raw.id, images) if own is None else own,
        "question": raw.question,
        "phrasings": list(raw.phrasings),
        "hint": raw.hint,
        "options": known_options(raw.options),
        "answers": sorted(set(raw.answers)),
        "references": list(raw.references),
        "images": images,
        "category": raw.category,
        "kind": raw.kind,
        "turns": list(raw.turns),
        "source_id": raw.source_id or raw.id,
    }


def default_group(name: str, images: Sequence[str]) -> str:
    """The group of all questions about the same images: 32 hexadecimal digits. An item without images is
    alone.

    Its wording does not group it: `Is there a dog in the image?` may be asked of many images that the source
    lacks.
    name: the item's id. images: digests of their bytes.
    """
    return digest_of(json.dumps(sorted(set(images)) or [name]).encode())[:32]


NATIVE = "native"


class ItemBuffer:
    """Rows of the items table, in arrow's compact form.

    NATIVE holds the options as the source has them, None where one is missing.
    """

    def __init__(self) -> None:
        self._schema = ITEMS.schema.append(pa.field(NATIVE, pa.list_(pa.string())))
        self._chunks: list[pa.Table] = []
        self._rows: list[Mapping[str, Any]] = []
        self.count = 0

    def add(self, row: Mapping[str, Any], native: Sequence[str | None]) -> None:
        """Keeps one row."""
        self._rows.append({**row, NATIVE: native})
        self.count += 1
        if len(self._rows) >= ITEMS.rows_per_group:
            self._pack()

    def _pack(self) -> None:
        if self._rows:
            self._chunks.append(pa.Table.from_pylist(self._rows, schema=self._schema))
            self._rows = []

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows in order, with their native options."""
        self._pack()
        for chunk in self._chunks:
            yield from chunk.to_pylist()

    def tables(self) -> Iterator[pa.Table]:
        """The rows in order, as many at a time as the items table has in a row group."""
        self._pack()
        for chunk in self._chunks:
            yield chunk.select(ITEMS.schema.names)

"""What needs all items of a dataset at once: options drawn from other items, copies, like pictures."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from vouch.datasets.cleaning import flags
from vouch.datasets.cleaning.cleaning import Picture, digest_of
from vouch.datasets.cleaning.config import Options
from vouch.datasets.cleaning.flags import item_flags, respelling, visible
from vouch.datasets.options import kostumov, reform
from vouch.datasets.options.kostumov import Choice
from vouch.pipeline.errors import UserError
from vouch.tables.asked import ITEMS

NATIVE = "native"


class ItemBuffer:
    """Rows of the items table, in arrow's compact form.

    Beside them stand the options as the source has them, None where missing.
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


def normalised(kept: ItemBuffer, chosen: Options, rejected: int, name: str, folder: Path) -> ItemBuffer:
    """The items with the options of a scheme. folder: the source.

    Raises UserError where `rejected` entries would shift every draw of a faithful protocol.
    """
    drawn = chosen.scheme in kostumov.SCHEMES  # for choices; the others make choices of open questions
    if chosen.protocol == "faithful" and rejected:
        raise UserError(
            f"datasets.{name}.options: {rejected} entries of the source are no items, so the draws "
            "would not be the authors'; correct these entries, or set protocol: clean"
        )
    if chosen.protocol == "faithful" and not drawn:
        raise UserError(
            f"datasets.{name}.options: {chosen.scheme} has no faithful protocol, for its authors drew "
            "without a seed; set protocol: clean"
        )
    kind = "choice" if drawn else "text"
    rows = (row for row in kept.rows() if row["kind"] == kind)
    found = _drawn(rows, chosen) if drawn else _built(rows, chosen, folder)
    after = ItemBuffer()
    for row in kept.rows():
        options = row.pop(NATIVE)
        if row["kind"] == kind:
            choice = next(found)
            options = choice.options
            row |= {"kind": "choice", "options": list(choice.native), "answers": sorted(choice.answers)}
        after.add(row, options)
    return after


def _drawn(rows: Iterable[Mapping[str, Any]], chosen: Options) -> Iterator[Choice]:
    native = [Choice(row["id"], row["group"], tuple(row[NATIVE]), tuple(row["answers"])) for row in rows]
    return iter(getattr(kostumov.SCHEMES[chosen.scheme], chosen.protocol)(native, chosen.seed))


def _built(rows: Iterable[Mapping[str, Any]], chosen: Options, folder: Path) -> Iterator[Choice]:
    asked = [
        reform.Asked(row["id"], row["group"], row["category"], row["question"], row["references"][0])
        for row in rows
    ]
    return reform.choices(asked, reform.SCHEMES[chosen.scheme](asked, chosen.seed, folder), chosen.seed)


def flagged(
    kept: ItemBuffer, known: Mapping[str, Picture], asked: Callable[[Mapping[str, Any]], set[str]]
) -> Iterator[pa.Table]:
    """Tables of items with the flags of each and of all together.

    known: facts of pictures by digest. asked: flags of a row that its prompts give rise to.
    """
    found: list[set[str]] = []
    among = flags.Copies()
    uses: dict[str, list[flags.Use]] = defaultdict(list)
    for number, row in enumerate(kept.rows()):
        shown = [known[digest] for digest in row["images"]]
        found.append(item_flags(row, row[NATIVE], shown) | asked(row))
        among.add(row)
        use = _use(number, row)
        for digest in dict.fromkeys(row["images"]):
            uses[digest].append(use)
    for of_set in (among.flags(), flags.similar_flags(known, uses)):
        for number, raised in of_set.items():
            found[number] |= raised
    place, field = ITEMS.schema.get_field_index("flags"), ITEMS.schema.field("flags")
    start = 0
    for table in kept.tables():
        column = [sorted(flags) for flags in found[start : start + table.num_rows]]
        start += table.num_rows
        yield table.set_column(place, field, pa.array(column, field.type))


def _use(number: int, row: Mapping[str, Any]) -> flags.Use:
    """How an item uses its pictures."""
    about = right = ""
    if len(row["images"]) == 1 and row["options"]:
        texts = [respelling(option) for option in row["options"]]
        asked = map(visible, (row["question"], row["hint"] or ""))
        about = digest_of("\n".join((*asked, *sorted(texts))).encode())
        right = "\n".join(sorted(texts[index] for index in row["answers"]))
    return flags.Use(number, row["group"], about, right)

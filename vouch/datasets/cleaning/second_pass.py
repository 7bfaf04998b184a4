"""What needs all items of a dataset at once: options drawn from other items, copies, like pictures."""

import importlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from vouch.datasets.cleaning.cleaning import Picture, digest_of, known_options
from vouch.datasets.cleaning.config import Options
from vouch.datasets.cleaning.flags import copies, encoding, leaks, options, pictures, similar
from vouch.datasets.cleaning.item_buffer import NATIVE, ItemBuffer
from vouch.datasets.options.building import Asked, choices
from vouch.datasets.options.choice import Choice
from vouch.pipeline.errors import UserError
from vouch.tables.items import ITEMS


class Flags:
    """What is odd about items: of each when it is added, of all together when they are all there.

    known: facts of pictures by digest.
    """

    def __init__(self, known: Mapping[str, Picture]) -> None:
        self._known = known
        self._own: list[set[str]] = []
        self._copies = copies.Copies()
        self._uses: dict[str, list[similar.Use]] = defaultdict(list)

    def add(self, row: Mapping[str, Any], native: Sequence[str | None]) -> None:
        """The next item. native: its options as the source has them."""
        for digest, use in _uses(len(self._own), row):
            self._uses[digest].append(use)
        self._copies.add(row)
        own = _item_flags(row, native, [self._known[digest] for digest in row["images"]])
        self._own.append(own.union(row["flags"]))

    def found(self) -> list[list[str]]:
        """The flags of each item, in their order. Call it once: it adds to what was found of each."""
        seen = {
            digest: similar.Seen(picture.look, picture.width / picture.height)
            for digest, picture in ((digest, self._known[digest]) for digest in self._uses)
        }
        for of_set in (self._copies.flags(), similar.flags(seen, self._uses)):
            for number, flags in of_set.items():
                self._own[number] |= flags
        return [sorted(flags) for flags in self._own]


def normalised(
    kept: ItemBuffer, flags: Flags, chosen: Options, rejected: int, name: str, folder: Path
) -> ItemBuffer:
    """The items with the options of a scheme, shown to `flags`. folder: the source.

    Raises UserError where `rejected` entries would shift every draw of a faithful protocol.
    """
    if chosen.protocol == "faithful" and rejected:
        raise UserError(
            f"datasets.{name}.options: {rejected} entries of the source are no items, so the draws "
            "would not be the authors'; correct these entries, or take reading: clean"
        )
    scheme = importlib.import_module(f"vouch.datasets.options.{chosen.scheme}")
    if hasattr(scheme, "built"):
        return _built(kept, flags, scheme, chosen, name, folder)
    rows = [
        Choice(row["id"], row["group"], tuple(row[NATIVE]), tuple(row["answers"]))
        for row in kept.rows(["id", "group", "kind", "answers", NATIVE])
        if row["kind"] == "choice"
    ]
    found = iter((scheme.faithful if chosen.protocol == "faithful" else scheme.clean)(rows, chosen.seed))
    after = ItemBuffer(flags.add)
    for row in kept.rows():
        choice = next(found) if row["kind"] == "choice" else Choice("", "", tuple(row[NATIVE]), ())
        shown = {"options": list(choice.native), "answers": sorted(choice.answers)}
        after.add({**_without_native(row), **shown}, choice.options)
    return after


def _built(
    kept: ItemBuffer, flags: Flags, scheme: ModuleType, chosen: Options, name: str, folder: Path
) -> ItemBuffer:
    """Open questions as choices; the others stay. Raises UserError."""
    if chosen.protocol == "faithful":
        raise UserError(
            f"datasets.{name}.options: {chosen.scheme} has no faithful protocol, for its authors drew "
            "without a seed; set protocol: clean"
        )
    rows = [
        Asked(row["id"], row["group"], row["category"], row["question"], row["references"][0])
        for row in kept.rows(["id", "group", "kind", "category", "question", "references"])
        if row["kind"] == "text"
    ]
    found = choices(rows, scheme.built(rows, chosen.seed, folder), chosen.seed)
    after = ItemBuffer(flags.add)
    for row in kept.rows():
        if row["kind"] == "text":
            choice = next(found)
            shown = list(choice.options)
            row |= {"kind": "choice", "options": shown, "answers": list(choice.answers), NATIVE: shown}
        after.add(_without_native(row), row[NATIVE])
    return after


def flagged(kept: ItemBuffer, flags: Flags) -> Iterator[pa.Table]:
    """Tables of items with all flags, which were shown every one of these items."""
    found = flags.found()
    place, field = ITEMS.schema.get_field_index("flags"), ITEMS.schema.field("flags")
    start = 0
    for table in kept.tables():
        column = pa.array(found[start : start + table.num_rows], field.type)
        start += table.num_rows
        yield table.set_column(place, field, column)


def _without_native(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != NATIVE}


def _item_flags(row: Mapping[str, Any], native: Sequence[str | None], shown: Sequence[Picture]) -> set[str]:
    texts = [row["hint"] or "", row["question"], *row["options"]]
    missing = len(known_options(native)) < len(native)
    found = {
        "answer_in_question": leaks.leaks(row["question"], row["options"], row["answers"]),
        "damaged_text": any(map(encoding.damaged, (*texts, *row["references"]))),
        "empty_hint": row["hint"] is not None and not row["hint"].strip(),
    }
    return {
        *(flag for flag, holds in found.items() if holds),
        *options.flags(row["options"], row["answers"], missing),
        *pictures.flags(texts, shown),
    }


def _uses(number: int, row: Mapping[str, Any]) -> Iterator[tuple[str, similar.Use]]:
    """The pictures of an item by their digests, and how it uses them."""
    about = right = ""
    if len(row["images"]) == 1 and row["options"]:
        texts = [options.respelling(option) for option in row["options"]]
        about = digest_of("\n".join((row["question"], row["hint"] or "", *sorted(texts))).encode())
        right = "\n".join(sorted(texts[index] for index in row["answers"]))
    for digest in dict.fromkeys(row["images"]):
        yield digest, similar.Use(number, row["group"], about, right)

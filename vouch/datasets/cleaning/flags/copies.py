"""Items that ask the same: circular copies, repeated items, and copies that a split can part.

Copies have the same question, hint, pictures (by their bytes) and text of the correct options. Items
without pictures count only where the source itself has put them into one group: their pictures may be
elsewhere, and a bare `What is shown?` asks something else of each.
Wrong options need not agree: some sources fill each copy up with others.
"""

import hashlib
import json
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from vouch.datasets.cleaning.cleaning import default_group
from vouch.datasets.cleaning.flags.texts import visible


def key_of(row: Mapping[str, Any]) -> bytes:
    """Equal for copies: 16 bytes of a row with question, hint, images, group, options, answers.

    Options without a text are told by their places.
    """
    seen = ["images", *row["images"]] if row["images"] else ["group", row["group"]]
    right = sorted(_read(row["options"][index]) or f"\0{index}" for index in row["answers"])
    asked, references = _read(row["question"]), sorted(map(_read, row["references"]))
    text = json.dumps([asked, _read(row["hint"] or ""), seen, right, references])
    return hashlib.sha256(text.encode()).digest()[:16]


def _read(text: str) -> str:
    """As a person reads it: blanks at its ends, their number and what does not show make no difference."""
    return " ".join(unicodedata.normalize("NFC", visible(text)).split())


class Copies:
    """Finds copies among the items that it is shown, one after the other."""

    def __init__(self) -> None:
        self._count = 0
        self._copies: dict[bytes, list[tuple[int, str, int]]] = defaultdict(list)

    def add(self, row: Mapping[str, Any]) -> None:
        """The next item: a row as for `key_of`, with its id."""
        if row["images"] or row["group"] != default_group(row["id"], ()):
            # tells equal options only; never written, so it may vary
            same = hash(tuple(map(_read, row["options"])))
            self._copies[key_of(row)].append((self._count, row["group"], same))
        self._count += 1

    def flags(self) -> dict[int, set[str]]:
        """Flags by the position of the item."""
        found: dict[int, set[str]] = {}
        for same in self._copies.values():
            if len(same) > 1:
                groups, orders = {group for _, group, _ in same}, Counter(options for _, _, options in same)
                found |= {number: _among(len(groups), orders, options) for number, _, options in same}
        return found


def _among(groups: int, orders: Mapping[int, int], own: int) -> set[str]:
    """Flags of one of several copies. groups: how many they stand in. orders: how many show which options."""
    found = {
        "repeated_item": orders[own] > 1,
        "circular_copy": len(orders) > 1,
        "copies_apart": groups > 1,
    }
    return {flag for flag, holds in found.items() if holds}

"""Items that ask the same: circular copies, repeated items, and copies that a split can part.

Copies have the same question, hint, pictures (by their bytes) and text of the correct options. Items
without pictures count only where the source itself has put them into one group: their pictures may be
elsewhere, and a bare `What is shown?` asks something else of each.
Wrong options need not agree: some sources fill each copy up with others.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stages.prepare.cleaning import default_group


def key_of(row: Mapping[str, Any]) -> bytes:
    """Equal for copies: 16 bytes of a row with question, hint, images, group, options, answers."""
    seen = ["images", *row["images"]] if row["images"] else ["group", row["group"]]
    right = sorted(row["options"][index] for index in row["answers"])
    text = json.dumps([row["question"], row["hint"] or "", seen, right, sorted(row["references"])])
    return hashlib.sha256(text.encode()).digest()[:16]


def flags(rows: Iterable[Mapping[str, Any]]) -> dict[int, set[str]]:
    """Flags by the position of the item."""
    copies: dict[bytes, list[tuple[int, str, int]]] = defaultdict(list)
    for number, row in enumerate(rows):
        if not row["images"] and row["group"] == default_group(row["question"], ()):
            continue
        copies[key_of(row)].append((number, row["group"], hash_of(row["options"])))
    found: dict[int, set[str]] = {}
    for same in copies.values():
        if len(same) > 1:
            groups, orders = {group for _, group, _ in same}, Counter(options for _, _, options in same)
            found |= {number: _among(len(groups), orders, options) for number, _, options in same}
    return found


def hash_of(options: Sequence[str]) -> int:
    """64 bits of the options in their order."""
    return int.from_bytes(hashlib.sha256(json.dumps(list(options)).encode()).digest()[:8])


def _among(groups: int, orders: Mapping[int, int], own: int) -> set[str]:
    """Flags of one of several copies. groups: how many they stand in. orders: how many show which options."""
    found = {
        "repeated_item": orders[own] > 1,
        "circular_copy": len(orders) > 1,
        "copies_apart": groups > 1,
    }
    return {flag for flag, holds in found.items() if holds}

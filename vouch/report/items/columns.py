"""What a list of all items needs to filter and sort, column by column."""

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vouch.report.items.outcomes import LETTERS, NONE, RIGHT, UNGRADED, WRONG, Outcomes
from vouch.report.items.questions import Ints, Questions
from vouch.tables.items import ITEMS

_FLIPPED = len(LETTERS) // 2


def states(outcomes: Outcomes, questions: Questions, variation: int) -> str:
    """One letter of LETTERS an item, for one variation; of several prompts a wrong one counts first."""
    chosen = questions.variation == variation
    of = questions.of[chosen]

    def some(marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.bincount(of, marked[chosen], questions.items) > 0

    found = np.full(questions.items, NONE, dtype=np.uint8)
    for state in (UNGRADED, RIGHT, WRONG):
        found[some(outcomes.state == state)] = state
    found[some(outcomes.flipped)] += _FLIPPED
    return np.frombuffer(LETTERS, dtype=np.uint8)[found].tobytes().decode("ascii")


def of_model(name: str, output: str, outcomes: Outcomes, questions: Questions) -> dict[str, Any]:
    """states, by variation; of the original prompts confidence per mille and size, in hundredths, of the LAC
    set (mean of the clean protocol, else the faithful one); -1 for what is not there."""
    first = questions.originals
    size = outcomes.sizes["clean_size_lac"]
    size = np.where(np.isnan(size), outcomes.sizes["size_lac"], size)
    return {
        "model": name,
        "output": output,
        "states": [states(outcomes, questions, number) for number in range(len(questions.variations))],
        "confidence": _of_items(1000 * outcomes.confidence, first),
        "size": _of_items(100 * size, first),
    }


def _of_items(values: NDArray[np.float64], first: Ints) -> list[int]:
    found = np.append(values, np.nan)[first]
    return [int(value) for value in np.where(np.isnan(found), -1, np.rint(found)).tolist()]


class Tally:
    """How many models answer the original prompt of each item, and how many of them rightly."""

    def __init__(self, questions: Questions) -> None:
        self._first = questions.originals
        self.answered = np.zeros(questions.items, dtype=np.int64)
        self.right = np.zeros(questions.items, dtype=np.int64)

    def add(self, outcomes: Outcomes) -> None:
        """Adds one model."""
        state = np.append(outcomes.state, NONE)[self._first]
        self.answered += (state == WRONG) | (state == RIGHT)
        self.right += state == RIGHT


def of_items(path: Path) -> tuple[dict[str, Any], list[int]]:
    """Categories and flags of all items: names, and the number of each item's category and the items of each
    flag; and a CRC-32 of each item's id, by which a link finds its page."""
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
    return _columns(categories, of_category, flags), ids


def _columns(
    categories: Mapping[str, int], of_category: Sequence[int], flags: Mapping[str, Sequence[int]]
) -> dict[str, Any]:
    names = sorted(flags)
    return {
        "categories": list(categories),
        "category": list(of_category),
        "flags": names,
        "flagged": [list(flags[name]) for name in names],
    }

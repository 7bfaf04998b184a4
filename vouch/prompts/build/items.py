"""Rows of the items table become items, with all that a prompt of them can need."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from vouch.pipeline.errors import UserError
from vouch.prompts.build.exchange import Exchanges
from vouch.prompts.build.template import Template
from vouch.prompts.build.variation import Item
from vouch.tables.asked import ACCEPTED, BY_HAND, CLEAN, ITEMS

_LISTS = ("options", "answers", "images", "references", "phrasings")
COLUMNS = ["id", "group", "question", "hint", "kind", *_LISTS, "exchange", "turns"]


def read_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """Rows of the items table in their order, with their place. Raises UserError."""
    found = (
        row
        for batch in ITEMS.open(path).iter_batches(columns=COLUMNS, use_threads=False)
        for row in batch.to_pylist()
    )
    yield from ({**row, "place": place} for place, row in enumerate(found))


def read_items(path: Path, making: "Making") -> Iterator[Item]:
    """Items in their order, a group at a time, those left out too. Raises UserError."""
    for _, group in groupby(read_rows(path), key=lambda row: row["group"]):
        yield from making.items(list(group), path)


class Rewrites:
    """Rows of the rewrites table, to look questions up in."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._cleaned: dict[str, str | None] = {}
        self._others: dict[str, dict[str, str]] = {}
        for row in rows:
            if row["kind"] == CLEAN:
                # what a model proposes is only that until a person decides
                if row["status"] == BY_HAND:
                    self._cleaned[row["original"]] = row["rewrite"]
            elif row["status"] in (ACCEPTED, BY_HAND):
                self._others.setdefault(row["original"], {})[row["kind"]] = row["rewrite"]

    def question(self, original: str) -> str | None:
        """The question as people cleaned it, None where they dropped it."""
        return self._cleaned.get(original, original)

    def others(self, question: str) -> Mapping[str, str]:
        """Kind -> the other words of a question, after cleaning; without those that were rejected."""
        return self._others.get(question, {})


@dataclass(frozen=True)
class Making:
    """What makes items of rows. keeps: whether an item that people did not drop is asked."""

    rewrites: Rewrites
    exchanges: Exchanges
    keeps: Callable[[Item], bool]

    def items(self, rows: Sequence[Mapping[str, Any]], path: Path) -> list[Item]:
        """Items of one group that stand together; each knows those before it in its conversation.

        rows: COLUMNS, and `place`. Raises UserError where a turn is none of the rows before.
        """
        followed = {turn for row in rows for turn in row["turns"] or ()}
        items: dict[str, Item] = {}
        for row in rows:
            gone = next((turn for turn in row["turns"] or () if turn not in items), None)
            if gone is not None:
                raise UserError(
                    f"{path}: item {row['id']} follows {gone}, which is no item of its group right before "
                    "it; correct the dataset's loader: a conversation is one group, its turns in a row"
                )
            turns = tuple(items[turn] for turn in row["turns"] or ())
            items[row["id"]] = self._item(row, turns, goes_on=row["id"] in followed)
        return list(items.values())

    def _item(self, row: Mapping[str, Any], turns: tuple[Item, ...], goes_on: bool) -> Item:
        lists = {name: tuple(row[name] or ()) for name in _LISTS}
        cleaned = self.rewrites.question(row["question"])
        question = row["question"] if cleaned is None else cleaned
        item = Item(
            **{**row, **lists, "question": question, "turns": turns, "exchange": self.exchanges.of(row)},
            goes_on=goes_on,
            kept=cleaned is not None,
            rewrites=self.rewrites.others(question),
        )
        return item if not item.kept or self.keeps(item) else replace(item, kept=False)


def text_cap(template: Template, path: Path) -> int | None:
    """Most tokens of a generated text; 0 where the references decide and no item has any."""
    if not isinstance(template.max_tokens, str):
        return template.max_tokens
    batches = ITEMS.open(path).iter_batches(columns=["references"], use_threads=False)
    references = (texts for batch in batches for texts in batch.column("references").to_pylist())
    words = [len(text.split()) for texts in references for text in texts or ()]
    return max(1, math.ceil(np.percentile(words, 75))) if words else 0

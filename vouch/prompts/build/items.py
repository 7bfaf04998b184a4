"""Rows of the items table become items, with all that a prompt of them can need."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vouch.pipeline.errors import UserError
from vouch.prompts.build.accepted_rewrites import Rewrites
from vouch.prompts.build.exchange import Exchanges
from vouch.prompts.build.variation import Item

_LISTS = ("options", "answers", "images", "references", "phrasings")
COLUMNS = ["id", "group", "question", "hint", "kind", *_LISTS, "exchange", "turns"]


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

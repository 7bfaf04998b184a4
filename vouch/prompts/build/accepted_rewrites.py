"""The rewrites of a dataset as `vary` needs them: the words an item is asked in, and the others it has."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from vouch.prompts.build.variation import Draft
from vouch.tables.rewrites import ACCEPTED, BY_HAND, CLEAN


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


def reworded(draft: Draft, kind: str) -> Draft | None:
    """The draft with its question in other words; None where no rewrite of that kind may be asked."""
    text = draft.item.rewrites.get(kind)
    return None if text is None else replace(draft, item=replace(draft.item, question=text))

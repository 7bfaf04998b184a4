"""Conversations in a source whose lines name the earlier ones they follow."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from vouch.datasets.raw import RawItem, Rejected

Entry = RawItem | Rejected


def together(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The entries in their order, those of a conversation in one group.

    An entry without turns may open a conversation, and those right after it belong to it as long as they
    have turns; others are rejected. A group of their own stays, and must be the same; else the first one's
    id names it.
    """
    talk: list[Entry] = []
    for entry in entries:
        if isinstance(entry, RawItem) and not entry.turns:
            yield from _grouped(talk)
            talk = []
        talk.append(_following(entry, talk) if isinstance(entry, RawItem) else entry)
    yield from _grouped(talk)


def _following(item: RawItem, talk: Sequence[Entry]) -> Entry:
    before = {entry.id: entry for entry in talk}
    for turn in item.turns:
        earlier = before.get(turn)
        reason = ""
        if earlier is None:
            reason = f"turn {turn!r:.80} is no entry of a conversation right before; put its entries in a row"
        elif isinstance(earlier, RawItem) and earlier.group != item.group:
            reason = f"is in another group than its turn {turn!r:.80}; give both the same"
        if reason:
            return Rejected(item.where, item.id, reason)
    return item


def _grouped(talk: Sequence[Entry]) -> Iterable[Entry]:
    if len(talk) < 2:
        return talk
    items = [entry for entry in talk if isinstance(entry, RawItem)]
    if len(items) < 2 or items[0].group is not None:
        return talk
    return [replace(entry, group=items[0].id) if isinstance(entry, RawItem) else entry for entry in talk]

"""Conversations in a source whose lines name the earlier ones they follow."""

from collections.abc import Iterable, Iterator, Mapping

from vouch.datasets.raw import RawItem, Rejected

Entry = RawItem | Rejected


def together(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The entries in their order; turns that are no entries of the same conversation are rejected.

    An entry without turns may open a conversation, and those right after it belong to it as long as they have
    turns. A group of their own must be the same; without one `prepare` gives all of them that of the first.
    """
    talk: dict[str, Entry] = {}
    for entry in entries:
        if isinstance(entry, RawItem) and not entry.turns:
            talk = {}
        said = _following(entry, talk) if isinstance(entry, RawItem) else entry
        talk[said.id] = said
        yield said


def _following(item: RawItem, before: Mapping[str, Entry]) -> Entry:
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

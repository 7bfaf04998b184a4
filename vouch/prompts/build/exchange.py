"""Pictures to exchange, by people's decisions: VS-E of PARC (Schmalfuss et al. 2025), for datasets whose
source names none.

Of a question that several items ask about two pictures, people say for two pictures that lost which of
them would win. An item whose loser would win against another loser can get that one in place of its
winner (`replaced` is WINNER). The mirrored way (LOSER) compares pictures that won: an item can get one
in place of its loser against which its winner would lose.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations
from typing import Any

from vouch.prompts.build.exchange_decisions import FIRST, LOSER, NEITHER, WINNER, Decision, Pair

_SIDES = (("left", "right"), ("first", "second"), ("image 1", "image 2"))
_WORD = re.compile(r"[a-z]+|[0-9]+")
_PICTURE = ("image", "picture", "photo", "photograph")
_IDLE = ("the", "in", "on", "one", "side", "hand")
Row = Mapping[str, Any]


def sides(options: Sequence[str]) -> tuple[int, ...] | None:
    """For each of two options the place, from 0, of the picture it names; None where they name no two.

    They may name left and right, first and second, or image 1 and image 2.
    """
    named = [_side(option) for option in options]
    known = next((names for names in _SIDES if sorted(named) == sorted(names)), None)
    return None if known is None else tuple(known.index(name) for name in named)


def _side(option: str) -> str:
    """`The left picture.` is `left`, `<image 1>` is `image 1`, a number alone stays one."""
    words = [word for word in _WORD.findall(option.casefold()) if word not in _IDLE]
    words = ["image" if word in _PICTURE else word for word in words]
    return " ".join(words if words[-1:] in (["1"], ["2"]) else [word for word in words if word != "image"])


@dataclass(frozen=True)
class Compared:
    """An item with two pictures of which one is the answer. place: of the winner, 0 or 1."""

    id: str
    question: str
    winner: str
    loser: str
    place: int


@dataclass(frozen=True)
class Candidate:
    """Two pictures that a person may compare, and the ids of the items that could get the other one."""

    pair: Pair
    of_first: tuple[str, ...]
    of_second: tuple[str, ...]


def compared(row: Row) -> Compared | None:
    """A row of the items table; None where it compares no two pictures, or its source names others."""
    images, answers = row["images"], row["answers"]
    two = len(images) == len(set(images)) == 2
    places = sides(row["options"]) if two and len(answers) == 1 and not any(row["exchange"] or ()) else None
    if places is None:
        return None
    place = places[answers[0]]
    return Compared(row["id"], row["question"], images[place], images[1 - place], place)


def candidates(items: Iterable[Compared], replaced: str) -> Iterator[Candidate]:
    """Every two pictures that lost (for LOSER: that won) in questions that stand at least twice."""
    asked: dict[str, list[Compared]] = {}
    for item in items:
        asked.setdefault(item.question, []).append(item)
    for question, group in asked.items():
        owners: dict[str, list[str]] = {}
        for item in group:
            owners.setdefault(item.loser if replaced == WINNER else item.winner, []).append(item.id)
        for (first, of_first), (second, of_second) in combinations(owners.items(), 2):
            yield Candidate(Pair(question, replaced, first, second), tuple(of_first), tuple(of_second))


def comparable(rows: Iterable[Row]) -> Mapping[tuple[str, str], set[str]]:
    """(question, replaced) -> the pictures of these items that can be compared."""
    found: dict[tuple[str, str], set[str]] = {}
    for item in filter(None, map(compared, rows)):
        found.setdefault((item.question, WINNER), set()).add(item.loser)
        found.setdefault((item.question, LOSER), set()).add(item.winner)
    return found


class Exchanges:
    """Decisions, to look items up in."""

    def __init__(self, decisions: Iterable[Decision]) -> None:
        self._fitting: dict[tuple[str, str, str], set[str]] = {}
        for one in decisions:
            pair = one.pair
            if one.winner != NEITHER:
                won, lost = pair.images if one.winner == FIRST else pair.images[::-1]
                stays, comes = (won, lost) if pair.replaced == WINNER else (lost, won)
                self._fitting.setdefault((pair.replaced, pair.question, stays), set()).add(comes)

    def of(self, row: Row) -> tuple[str | None, ...]:
        """`exchange` of an item: the source's own, or for each picture one to put in its place, or None."""
        item = compared(row)
        if item is None:
            return tuple(row["exchange"] or ())
        spare = (self._one(item, WINNER), self._one(item, LOSER))
        return spare if item.place == 0 else spare[::-1]

    def _one(self, item: Compared, replaced: str) -> str | None:
        """Of several that fit the item's id decides, so that all come up."""
        stays, goes = (item.loser, item.winner) if replaced == WINNER else (item.winner, item.loser)
        fitting = sorted(self._fitting.get((replaced, item.question, stays), set()) - {goes})
        drawn = int.from_bytes(sha256(f"{item.id}/{replaced}".encode()).digest()[:8])
        return fitting[drawn % len(fitting)] if fitting else None

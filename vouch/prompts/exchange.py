"""People's decisions on which images to exchange, for VS-E of PARC (Schmalfuss et al. 2025).

Some sources do not say which image changes the answer. If several items of such a dataset ask a question on
two images each, people say which of two images that lost would win. An item whose loser would win
against another loser can get that one in place of its winner (`replaced` is WINNER). The mirrored way (LOSER)
compares images that won: an item can get one in place of its loser if its winner would lose against it.

The decisions are in decisions/exchange/DATASET.csv:

question  the question as the dataset has it
replaced  winner: first and second lost in items that ask the question. loser: both won
first, second   SHA-256 digests of the two images
winner    first, second, or neither, which makes no exchange
by, why   who decided, and the reason; optional
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any

from vouch.pipeline.errors import UserError, did_you_mean
from vouch.prompts.variations.images import sides
from vouch.tables.decisions import OPTIONAL, csv_text, decided_rows
from vouch.tables.table import per_dataset

decisions_path = per_dataset("decisions/exchange/{}.csv")
"""The file may be missing."""
NEEDED = ("question", "replaced", "first", "second", "winner")
COLUMNS = (*NEEDED, *OPTIONAL)
WINNER, LOSER = "winner", "loser"
REPLACED = (WINNER, LOSER)
FIRST, SECOND, NEITHER = "first", "second", "neither"
WINNERS = (FIRST, SECOND, NEITHER)


@dataclass(frozen=True)
class ImagePair:
    """Two images and the question about them."""

    question: str
    replaced: str
    first: str
    second: str

    @property
    def images(self) -> tuple[str, str]:
        """Both digests."""
        return self.first, self.second

    @property
    def key(self) -> tuple[str, str, frozenset[str]]:
        """The same key whichever of the two images comes first."""
        return self.question, self.replaced, frozenset(self.images)


@dataclass(frozen=True)
class ExchangeDecision:
    """One row. where: file and line."""

    pair: ImagePair
    winner: str
    by: str
    why: str
    where: str


def _about(row: Mapping[str, str]) -> tuple[tuple[str, str, frozenset[str]], str]:
    pair = ImagePair(row["question"], *(row[name].strip() for name in NEEDED[1:4]))
    return pair.key, f"{pair.first[:12]} and {pair.second[:12]}"


def read_decisions(path: Path, further: Sequence[str] = ()) -> list[ExchangeDecision]:
    """The decisions in a file; rows without a decision are ignored. Raises UserError with file and line.

    further: names of columns that are allowed but not read.
    """
    decisions = []
    for where, row in decided_rows(path, NEEDED, "winner", further, _about):
        replaced, first, second, winner = (row[name].strip() for name in NEEDED[1:])
        for name, value, known in (("replaced", replaced, REPLACED), ("winner", winner, WINNERS)):
            if value not in known:
                raise UserError(f"{where}: {name}: unknown name {value}; {did_you_mean(value, list(known))}")
        if first == second:
            raise UserError(f"{where}: first and second are the same image; name two")
        pair = ImagePair(row["question"], replaced, first, second)
        decisions.append(ExchangeDecision(pair, winner, row.get("by", ""), row.get("why", ""), where))
    return decisions


def check_known(
    decisions: Iterable[ExchangeDecision], images: Mapping[tuple[str, str], Collection[str]], dataset: str
) -> None:
    """Raises UserError if a decision is about a question or an image that nobody could compare.

    images: (question, replaced) -> digests of the images that can be compared.
    """
    for one in decisions:
        known = images.get((one.pair.question, one.pair.replaced))
        if known is None:
            raise UserError(
                f"{one.where}: no question {one.pair.question[:80]!r} that items of {dataset} ask about two "
                "images each; write it exactly as the dataset has it, or remove the line"
            )
        for column, digest in (("first", one.pair.first), ("second", one.pair.second)):
            if digest not in known:
                did = "lost" if one.pair.replaced == WINNER else "won"
                raise UserError(
                    f"{one.where}: {column}: no image {digest[:16]!r} {did} in that question; take the "
                    f"digest from `vouch review exchange {dataset} --export FILE`, or remove the line"
                )


def decisions_text(decisions: Iterable[ExchangeDecision]) -> str:
    """Decisions as CSV, sorted, so that equal decisions give equal files."""
    ordered = sorted(
        decisions, key=lambda one: (one.pair.question, REPLACED.index(one.pair.replaced), *one.pair.images)
    )
    rows = (
        [one.pair.question, one.pair.replaced, *one.pair.images, one.winner, one.by, one.why]
        for one in ordered
    )
    return csv_text(COLUMNS, rows)


Row = Mapping[str, Any]


@dataclass(frozen=True)
class ComparingItem:
    """An item with two images, one of which (the winner) is the answer. index: that of the winner."""

    id: str
    question: str
    winner: str
    loser: str
    index: int


@dataclass(frozen=True)
class Candidate:
    """Two images that a person may compare, and for each the ids of items that could get the other."""

    pair: ImagePair
    of_first: tuple[str, ...]
    of_second: tuple[str, ...]


def compared(row: Row) -> ComparingItem | None:
    """A row of the items table; None if it does not compare two images, or its source names replacements."""
    images, answers = row["images"], row["answers"]
    two = len(images) == len(set(images)) == 2
    named = sides(row["options"]) if two and len(answers) == 1 and not any(row["exchange"] or ()) else None
    if named is None:
        return None
    winner = named[answers[0]]
    return ComparingItem(row["id"], row["question"], images[winner], images[1 - winner], winner)


def candidates(items: Iterable[ComparingItem], replaced: str) -> Iterator[Candidate]:
    """Every pair of images that lost (for LOSER: that won) in items with the same question."""
    asked: dict[str, list[ComparingItem]] = {}
    for item in items:
        asked.setdefault(item.question, []).append(item)
    for question, group in asked.items():
        owners: dict[str, list[str]] = {}
        for item in group:
            owners.setdefault(item.loser if replaced == WINNER else item.winner, []).append(item.id)
        for (first, of_first), (second, of_second) in combinations(owners.items(), 2):
            yield Candidate(ImagePair(question, replaced, first, second), tuple(of_first), tuple(of_second))


def comparable(rows: Iterable[Row]) -> Mapping[tuple[str, str], set[str]]:
    """(question, replaced) -> the images of these items that can be compared."""
    images: dict[tuple[str, str], set[str]] = {}
    for item in filter(None, map(compared, rows)):
        images.setdefault((item.question, WINNER), set()).add(item.loser)
        images.setdefault((item.question, LOSER), set()).add(item.winner)
    return images


class Exchanges:
    """Decisions, for looking up which images can be exchanged."""

    def __init__(self, decisions: Iterable[ExchangeDecision]) -> None:
        self._fitting: dict[tuple[str, str, str], set[str]] = {}
        for one in decisions:
            pair = one.pair
            if one.winner != NEITHER:
                won, lost = pair.images if one.winner == FIRST else pair.images[::-1]
                stays, added = (won, lost) if pair.replaced == WINNER else (lost, won)
                self._fitting.setdefault((pair.replaced, pair.question, stays), set()).add(added)

    def of(self, row: Row) -> tuple[str | None, ...]:
        """`exchange` of an item: the source's own, or for each image a replacement or None."""
        item = compared(row)
        if item is None:
            return tuple(row["exchange"] or ())
        spare = (self._one(item, WINNER), self._one(item, LOSER))
        return spare if item.index == 0 else spare[::-1]

    def _one(self, item: ComparingItem, replaced: str) -> str | None:
        """The replacement, or None. If several fit, the item's id decides, so that all of them come up."""
        stays, removed = (item.loser, item.winner) if replaced == WINNER else (item.winner, item.loser)
        fitting = sorted(self._fitting.get((replaced, item.question, stays), set()) - {removed})
        drawn = int.from_bytes(sha256(f"{item.id}/{replaced}".encode()).digest()[:8])
        return fitting[drawn % len(fitting)] if fitting else None

"""What people decide about pictures to exchange: decisions/exchange/DATASET.csv.

question  the question as the dataset has it
replaced  winner: first and second lost in items that ask it; the one that wins here can make its item's
          answer flip. loser: both won; the one that loses here can
first, second   SHA-256 digests of the two pictures
winner    first, second, or neither, which makes no exchange
by, why   who decided and the reason; optional
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vouch.pipeline.errors import UserError, did_you_mean
from vouch.tables.decisions import OPTIONAL, csv_text, decided_rows

FOLDER = Path("decisions/exchange")
NEEDED = ("question", "replaced", "first", "second", "winner")
COLUMNS = (*NEEDED, *OPTIONAL)
WINNER, LOSER = "winner", "loser"
REPLACED = (WINNER, LOSER)
FIRST, SECOND, NEITHER = "first", "second", "neither"
WINNERS = (FIRST, SECOND, NEITHER)


@dataclass(frozen=True)
class Pair:
    """Two pictures and the question about them."""

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
        """Equal whichever of the two stands first."""
        return self.question, self.replaced, frozenset(self.images)


@dataclass(frozen=True)
class Decision:
    """One row. where: file and line."""

    pair: Pair
    winner: str
    by: str
    why: str
    where: str


def decisions_path(dataset: str) -> Path:
    """Where the decisions about a dataset lie; the file may be missing."""
    return FOLDER / f"{dataset}.csv"


def read_decisions(path: Path, further: Sequence[str] = ()) -> list[Decision]:
    """The decisions in a file, rows without one left out. Raises UserError with file and line.

    further: names of columns that may stand there and are not read.
    """
    found: dict[object, Decision] = {}
    for where, row in decided_rows(path, NEEDED, "winner", further):
        one = _decision(row, where)
        earlier = found.setdefault(one.pair.key, one)
        if earlier is not one:
            raise UserError(
                f"{where}: a second decision about {one.pair.first[:12]} and {one.pair.second[:12]}, first "
                f"at {earlier.where}; keep one"
            )
    return list(found.values())


def _decision(row: Mapping[str, str], where: str) -> Decision:
    replaced, first, second, winner = (row[name].strip() for name in NEEDED[1:])
    for name, value, known in (("replaced", replaced, REPLACED), ("winner", winner, WINNERS)):
        if value not in known:
            raise UserError(f"{where}: {name}: unknown name {value}; {did_you_mean(value, list(known))}")
    if first == second:
        raise UserError(f"{where}: first and second are the same picture; name two")
    pair = Pair(row["question"], replaced, first, second)
    return Decision(pair, winner, row.get("by", ""), row.get("why", ""), where)


def check_known(
    decisions: Iterable[Decision], pictures: Mapping[tuple[str, str], Collection[str]], dataset: str
) -> None:
    """Raises UserError where a decision is about a question or a picture that nobody could compare.

    pictures: (question, replaced) -> digests of the pictures that can be compared.
    """
    for one in decisions:
        known = pictures.get((one.pair.question, one.pair.replaced))
        if known is None:
            raise UserError(
                f"{one.where}: no question {one.pair.question[:80]!r} that items of {dataset} ask about two "
                "pictures each; write it exactly as the dataset has it, or remove the line"
            )
        for column, digest in (("first", one.pair.first), ("second", one.pair.second)):
            if digest not in known:
                did = "lost" if one.pair.replaced == WINNER else "won"
                raise UserError(
                    f"{one.where}: {column}: no picture {digest[:16]!r} {did} in that question; take the "
                    f"digest from `vouch review exchange {dataset} --export FILE`, or remove the line"
                )


def decisions_text(decisions: Iterable[Decision]) -> str:
    """Rows as CSV, sorted, so that the same decisions are the same file."""
    ordered = sorted(
        decisions, key=lambda one: (one.pair.question, REPLACED.index(one.pair.replaced), *one.pair.images)
    )
    rows = (
        [one.pair.question, one.pair.replaced, *one.pair.images, one.winner, one.by, one.why]
        for one in ordered
    )
    return csv_text(COLUMNS, rows)

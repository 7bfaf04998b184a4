"""A known order of pictures (depths, counts, sizes) in place of people's decisions about which to exchange.

A file gives two numbers for an item, of its first and of its second picture: how much each has of what the
question asks for. It is CSV with the columns id, first and second, or, where its name ends in .jsonl, one
JSON object on a line with `id` (its line number where it has none) and `order`, a list of two numbers; lines
without `order` count for nothing, so it can be the file of the items itself. Whether more or less wins is
read off the items' own answers, of each question by itself.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vouch.datasets.raw import Unusable
from vouch.datasets.read.json_line import json_object
from vouch.pipeline.errors import UserError
from vouch.prompts.build.exchange import Candidate, Compared
from vouch.prompts.build.exchange_decisions import FIRST, NEITHER, SECOND, Decision
from vouch.tables.decisions import decided_rows


@dataclass(frozen=True)
class Numbers:
    """Of an item's two pictures, in their order. where: file and line."""

    values: tuple[float, float]
    where: str


def read_order(path: Path) -> dict[str, Numbers]:
    """Item id -> its numbers. Raises UserError with file and line."""
    if not path.is_file():
        raise UserError(f"{path}: no such file; give one with the columns id, first, second, or a .jsonl")
    found: dict[str, Numbers] = {}
    for name, first, second, where in _lines(path) if path.suffix == ".jsonl" else _cells(path):
        numbers = Numbers((_number(first, where), _number(second, where)), where)
        if found.setdefault(name, numbers) is not numbers:
            raise UserError(f"{where}: item {name} stands twice, first at {found[name].where}; keep one")
    if not found:
        raise UserError(f"{path}: orders no item; give the numbers of two pictures for each id")
    return found


def _cells(path: Path) -> Iterator[tuple[str, Any, Any, str]]:
    for where, row in decided_rows(path, ("id", "first", "second"), "first"):
        yield row["id"], row["first"], row["second"], where


def _lines(path: Path) -> Iterator[tuple[str, Any, Any, str]]:
    for number, line in enumerate(path.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines(), start=1):
        where = f"{path} line {number}"
        try:
            values = json_object(line) if line.strip() else {}
        except Unusable as error:
            raise UserError(f"{where}: {error}; correct the file") from None
        order = values.get("order")
        if order is None:
            continue
        if not isinstance(order, list) or len(order) != 2:
            raise UserError(f"{where}: order is no list of two numbers; correct or remove it")
        name = values.get("id")
        yield str(number if name is None else name), *order, where


def _number(value: Any, where: str) -> float:
    """A finite number, from JSON or a cell. Raises UserError."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (ValueError, TypeError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise UserError(f"{where}: {value!r:.40} is no number; correct or remove the line")
    return number


def decided_by_order(
    items: Iterable[Compared], pairs: Iterable[Candidate], order: Mapping[str, Numbers], by: str
) -> list[Decision]:
    """Decisions about the pairs of which both pictures have a number; equal ones make no exchange.

    by: what the decisions say of who decided. Raises UserError where the numbers contradict each other, or
    the items' answers.
    """
    known: dict[tuple[str, str], tuple[float, str]] = {}  # by question and digest of the picture
    more: dict[str, tuple[bool, str]] = {}
    for item in items:
        if item.id in order:
            _learn(item, order[item.id], known, more)
    found = []
    for one in pairs:
        pair = one.pair
        values = [known[pair.question, image][0] for image in pair.images if (pair.question, image) in known]
        if len(values) == 2:
            first, second = values
            larger, smaller = (FIRST, SECOND) if first > second else (SECOND, FIRST)
            winner = larger if more[pair.question][0] else smaller
            said = NEITHER if first == second else winner
            found.append(Decision(pair, said, by, f"{first:g} and {second:g}", by))
    return found


def _learn(
    item: Compared,
    numbers: Numbers,
    known: dict[tuple[str, str], tuple[float, str]],
    more: dict[str, tuple[bool, str]],
) -> None:
    where = f"{numbers.where}: item {item.id}"
    won, lost = numbers.values[item.place], numbers.values[1 - item.place]
    if won == lost:
        raise UserError(f"{where}: both pictures have {won:g}, but one is the answer; remove the line")
    wins, earlier = more.setdefault(item.question, (won > lost, numbers.where))
    if wins != (won > lost):
        raise UserError(
            f"{where}: {won:g} wins against {lost:g}, but by {earlier} the {'larger' if wins else 'smaller'} "
            "number wins that question; correct or remove one of them"
        )
    for image, value in ((item.winner, won), (item.loser, lost)):
        first, earlier = known.setdefault((item.question, image), (value, numbers.where))
        if first != value:
            raise UserError(
                f"{where}: picture {image[:12]} has {value:g}, but {first:g} by {earlier}; keep one number"
            )

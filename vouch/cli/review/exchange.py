"""Say which of two pictures wins, so that one can be exchanged to change the answer (variation vs_e).

Without an option it counts the items that have such a picture. With --export every two pictures that a person
may compare go into a CSV file with a column `winner` to fill in (first, second, neither); with --import such
a file goes into decisions/exchange, which the next run applies. Where an order of the pictures is known
(depths, counts, sizes), --order decides by a file of numbers.

Examples:
  vouch review exchange greys --export review.csv --pictures pages
  vouch review exchange greys --import review.csv
  vouch review exchange greys --order depths.csv
"""

import argparse
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from vouch.cli.printing import file_argument
from vouch.cli.review import project_with
from vouch.cli.review.render import folder_of_pages, write_page
from vouch.datasets.raw import Unusable
from vouch.datasets.read.json_rows import json_object
from vouch.images.opening import render
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import write_text
from vouch.pipeline.intact import intact
from vouch.prompts.build import read_rows
from vouch.prompts.exchange import (
    COLUMNS,
    FIRST,
    LOSER,
    NEITHER,
    SECOND,
    WINNER,
    Candidate,
    Compared,
    Decision,
    Exchanges,
    Row,
    candidates,
    check_known,
    comparable,
    compared,
    decisions_path,
    decisions_text,
    read_decisions,
)
from vouch.tables.asked import ImageStore, images_path, items_path
from vouch.tables.decisions import are_there, csv_text, decided_rows


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


SIDE = 320  # pixels of a thumbnail's longer side
INFORMATION = ("of_first", "of_second")  # columns of an export beside those of decisions


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch review exchange`."""
    parser.add_argument("dataset", help="a dataset of params.yaml")
    parser.add_argument(
        "--mirrored", action="store_true", help="compare pictures that won, to take a loser's place"
    )
    parser.add_argument(
        "--pictures",
        type=file_argument,
        metavar="FOLDER",
        help="with --export: pages with the pictures, to judge by",
    )
    files = parser.add_mutually_exclusive_group()
    files.add_argument(
        "--export", type=file_argument, metavar="FILE", help="write the pairs as CSV, to decide in"
    )
    files.add_argument(
        "--import", dest="decided", type=file_argument, metavar="FILE", help="take its decisions over"
    )
    files.add_argument(
        "--order",
        type=file_argument,
        metavar="FILE",
        help="decide by numbers of an item's two pictures: CSV with id, first, second, or .jsonl with order",
    )


def run(options: argparse.Namespace) -> int:
    """Counts, exports or imports."""
    name = options.dataset
    project_with(name)
    if options.pictures and not options.export:
        raise UserError("--pictures: shows the lines of an --export; give --export FILE as well")
    rows = list(read_rows(intact(items_path(name))))
    path = decisions_path(name)
    decisions = read_decisions(path) if are_there(path) else []
    check_known(decisions, comparable(rows), name)
    if options.decided:
        return _import(options.decided, rows, decisions, name)
    replaced = LOSER if options.mirrored else WINNER
    pairs = list(candidates(filter(None, map(compared, rows)), replaced))
    if options.export:
        return _export(options, pairs, decisions)
    if options.order:
        return _by_order(options, rows, pairs, decisions)
    print(counts(rows, pairs, decisions), end="")
    return 0


def counts(rows: Sequence[Row], pairs: Sequence[Candidate], decisions: Sequence[Decision]) -> str:
    """What there is to decide, what is decided, and what comes of it."""
    found = [item for item in map(compared, rows) if item]
    exchanges = Exchanges(decisions)
    own = sum(any(row["exchange"] or ()) for row in rows)
    decided = sum(any(exchanges.of(row)) for row in rows) - own
    keys = {one.pair.key for one in decisions}
    questions = len({pair.pair.question for pair in pairs})
    done = sum(pair.pair.key in keys for pair in pairs)
    return (
        f"exchange: {len(found)} of {len(rows)} items compare two pictures and name none to exchange\n"
        f"exchange: {questions} of their questions stand at least twice: {len(pairs)} pairs, {done} decided\n"
        f"exchange: {decided} items get a picture by decisions, {own} have one from their source\n"
    )


def exported(pairs: Sequence[Candidate], decisions: Sequence[Decision]) -> str:
    """The pairs as CSV, with the decisions so far; the ids of items stand between semicolons."""
    decided = {one.pair.key: one for one in decisions}
    lines = []
    for one in pairs:
        pair, known = one.pair, decided.get(one.pair.key)
        told = [winner_of(known, one), known.by, known.why] if known else ["", "", ""]
        owners = ["; ".join(ids) for ids in (one.of_first, one.of_second)]
        lines.append([pair.question, pair.replaced, *pair.images, *owners, *told])
    return csv_text([*COLUMNS[:4], *INFORMATION, *COLUMNS[4:]], lines)


def winner_of(decision: Decision, candidate: Candidate) -> str:
    """The decision's winner, where the two may stand the other way round."""
    if decision.winner == NEITHER or decision.pair == candidate.pair:
        return decision.winner
    return {"first": "second", "second": "first"}[decision.winner]


def _export(options: argparse.Namespace, pairs: Sequence[Candidate], decisions: Sequence[Decision]) -> int:
    if not pairs:
        raise UserError(
            f"{items_path(options.dataset)}: nothing to compare; vs_e needs a question that several items "
            "ask about two pictures each, with options that name them (left, right)"
        )
    if options.pictures:
        write_pages(options.pictures, pairs, ImageStore(intact(images_path(options.dataset))))
        print(f"exchange: their pictures are in {options.pictures / 'index.html'}")
    write_text(options.export, exported(pairs, decisions))
    print(f"exchange: {len(pairs)} pairs in {options.export}; fill in `winner`, then --import it")
    return 0


def _import(source: Path, rows: Sequence[Row], decisions: Sequence[Decision], dataset: str) -> int:
    """Takes decisions over; those about other pairs stay."""
    if not source.is_file():
        raise UserError(f"{source}: no such file; write it with --export")
    new = read_decisions(source, INFORMATION)
    check_known(new, comparable(rows), dataset)
    kept: Mapping[object, Decision] = {one.pair.key: one for one in (*decisions, *new)}
    path = decisions_path(dataset)
    write_text(path, decisions_text(kept.values()))
    print(f"exchange: {len(new)} decisions taken over, {len(kept)} in {path}; `dvc repro` applies them")
    return 0


def _by_order(
    options: argparse.Namespace,
    rows: Sequence[Row],
    pairs: Sequence[Candidate],
    decisions: Sequence[Decision],
) -> int:
    """Decides what nobody has decided yet."""
    order, ids = read_order(options.order), {row["id"] for row in rows}
    unknown = next((name for name in order if name not in ids), None)
    if unknown is not None:
        raise UserError(
            f"{order[unknown].where}: no item {unknown[:80]!r} in {options.dataset}; give the ids that "
            f"`vouch review exchange {options.dataset} --export FILE` names"
        )
    keys = {one.pair.key for one in decisions}
    open_pairs = [pair for pair in pairs if pair.pair.key not in keys]
    items = filter(None, map(compared, rows))
    new = decided_by_order(items, open_pairs, order, options.order.name)
    path = decisions_path(options.dataset)
    write_text(path, decisions_text([*decisions, *new]))
    print(
        f"exchange: {len(new)} of {len(pairs)} pairs decided by {options.order.name}, "
        f"{len(decisions)} stay as they were, in {path}; `dvc repro` applies them"
    )
    return 0


def write_pages(folder: Path, pairs: Sequence[Candidate], images: ImageStore) -> None:
    """Writes a page for each question, its pairs side by side, with thumbnails. Raises UserError."""
    by_question: dict[str, list[str]] = {}
    for line, one in enumerate(pairs, start=2):  # as a person counts the lines of the CSV file
        shown = "".join(
            f'<td><img src="{digest}.jpg" loading="lazy" alt="{side}"><br>{side} <code>{digest[:12]}</code>'
            for side, digest in zip(("first", "second"), one.pair.images, strict=True)
        )
        by_question.setdefault(one.pair.question, []).append(f"<tr><td>row {line}{shown}\n")
    index = ""
    with folder_of_pages(folder, "exchange") as made:
        for digest in sorted({digest for one in pairs for digest in one.pair.images}):
            picture = render({"images": [digest], "steps": []}, images.read)  # as models see it
            picture.thumbnail((SIDE, SIDE))
            picture.save(made / f"{digest}.jpg", "JPEG", quality=85)
        for number, (question, rows) in enumerate(by_question.items(), start=1):
            name = f"question-{number}.html"
            write_page(made / name, question, f"<table>\n{''.join(rows)}</table>\n")
            index += f'<li><a href="{name}">{escape(question)}</a> ({len(rows)} pairs)\n'
        write_page(made / "index.html", "Which picture wins?", f"<ol>\n{index}</ol>\n")

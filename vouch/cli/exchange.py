"""`vouch review exchange`: people or numbers decide which of two images wins."""

import argparse
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from vouch.cli.command import argument, command, one_of, path_argument
from vouch.cli.render import folder_of_pages, write_page
from vouch.cli.review import check_source, project_with
from vouch.datasets.raw import Unusable
from vouch.datasets.read.json_rows import json_object
from vouch.images.opening import render
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import write_text
from vouch.pipeline.records import intact
from vouch.prompts.build import read_rows
from vouch.prompts.exchange import (
    COLUMNS,
    FIRST,
    LOSER,
    NEITHER,
    SECOND,
    WINNER,
    Candidate,
    ComparingItem,
    ExchangeDecision,
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
from vouch.tables.decisions import csv_text, decided_rows

SIDE = 320  # pixels of a thumbnail's longer side
INFORMATION = ("of_first", "of_second")  # columns of an export beside those of decisions


@command(
    "review exchange",
    "which of two images wins, so that one can be exchanged to change the answer",
    argument("dataset", names="datasets", help="a dataset of params.yaml"),
    argument("--mirrored", action="store_true", help="compare images that won, to replace one that lost"),
    path_argument("--images", metavar="FOLDER", help="with --export: pages with the images, to judge by"),
    one_of(
        path_argument("--export", metavar="FILE", help="write the pairs as CSV, to decide in"),
        path_argument("--import", dest="decided", metavar="FILE", help="take over its decisions"),
        path_argument(
            "--order",
            metavar="FILE",
            help="decide by numbers of the two images: CSV with id, first, second, or .jsonl with order",
        ),
    ),
)
def run(options: argparse.Namespace) -> int:
    """Decide which of two images wins, so that one can be exchanged to change the answer (variation vs_e).

    Without an option it counts the items that have such an image. With --export every pair of images that a
    person can compare goes into a CSV file with a column `winner` to fill in (first, second, neither). With
    --import that file goes into decisions/exchange, which the next run applies. If the order of the images
    is known (by depths, counts or sizes), --order decides by a file of these numbers.

    Examples:
      vouch review exchange greys --export review.csv --images pages
      vouch review exchange greys --import review.csv
      vouch review exchange greys --order depths.csv
    """
    name = options.dataset
    project_with(name)
    if options.images and not options.export:
        raise UserError("--images shows the lines of an --export; give --export FILE as well")
    rows = list(read_rows(intact(items_path(name))))
    path = decisions_path(name)
    decisions = read_decisions(path)
    check_known(decisions, comparable(rows), name)
    replaced = LOSER if options.mirrored else WINNER
    pairs = list(candidates(filter(None, map(compared, rows)), replaced))
    if options.decided:
        check_source(options.decided)
        new = read_decisions(options.decided, INFORMATION)
        check_known(new, comparable(rows), name)
        kept = {one.pair.key: one for one in (*decisions, *new)}  # decisions about other pairs stay
        write_text(path, decisions_text(kept.values()))
        print(f"exchange: {len(new)} decisions taken over, {len(kept)} in {path}; `dvc repro` applies them")
    elif options.export:
        _export(options, pairs, decisions)
    elif options.order:
        new = _ordered(options, rows, pairs, decisions)
        write_text(path, decisions_text([*decisions, *new]))
        print(
            f"exchange: {len(new)} of {len(pairs)} pairs decided by {options.order.name}, "
            f"{len(decisions)} stay as they were, in {path}; `dvc repro` applies them"
        )
    else:
        print(pair_counts(rows, pairs, decisions), end="")
    return 0


def pair_counts(
    rows: Sequence[Row], pairs: Sequence[Candidate], decisions: Sequence[ExchangeDecision]
) -> str:
    """Text with the numbers of pairs to decide, of decided pairs, and of items that these change."""
    count = sum(compared(row) is not None for row in rows)
    exchanges = Exchanges(decisions)
    own = sum(any(row["exchange"] or ()) for row in rows)
    decided = sum(any(exchanges.of(row)) for row in rows) - own
    keys = {one.pair.key for one in decisions}
    questions = len({pair.pair.question for pair in pairs})
    done = sum(pair.pair.key in keys for pair in pairs)
    return (
        f"exchange: {count} of {len(rows)} items compare two images and name none to exchange\n"
        f"exchange: {questions} of their questions occur at least twice: {len(pairs)} pairs, {done} decided\n"
        f"exchange: {decided} items get an image by decisions, {own} have one from their source\n"
    )


def _export(
    options: argparse.Namespace, pairs: Sequence[Candidate], decisions: Sequence[ExchangeDecision]
) -> None:
    if not pairs:
        raise UserError(
            f"{items_path(options.dataset)}: nothing to compare; vs_e needs a question that several items "
            "ask about two images each, with options that name them (left, right)"
        )
    if options.images:
        write_pages(options.images, pairs, ImageStore(intact(images_path(options.dataset))))
        print(f"exchange: their images are in {options.images / 'index.html'}")
    write_text(options.export, exported_pairs(pairs, decisions))
    print(f"exchange: {len(pairs)} pairs in {options.export}; fill in `winner`, then --import it")


def exported_pairs(pairs: Sequence[Candidate], decisions: Sequence[ExchangeDecision]) -> str:
    """The pairs as CSV, with the decisions so far; the ids of items are separated by semicolons."""
    decided = {one.pair.key: one for one in decisions}
    lines = []
    for one in pairs:
        pair, known = one.pair, decided.get(one.pair.key)
        decision = [_winner(known, one), known.by, known.why] if known else ["", "", ""]
        owners = ["; ".join(ids) for ids in (one.of_first, one.of_second)]
        lines.append([pair.question, pair.replaced, *pair.images, *owners, *decision])
    return csv_text([*COLUMNS[:4], *INFORMATION, *COLUMNS[4:]], lines)


def _winner(decision: ExchangeDecision, candidate: Candidate) -> str:
    """The decision's winner, even if the candidate has the two images in the other order."""
    if decision.winner == NEITHER or decision.pair == candidate.pair:
        return decision.winner
    return {FIRST: SECOND, SECOND: FIRST}[decision.winner]


def write_pages(folder: Path, pairs: Sequence[Candidate], images: ImageStore) -> None:
    """Writes a page of thumbnails for each question, the images of a pair side by side. Raises UserError."""
    by_question: dict[str, list[str]] = {}
    for line, one in enumerate(pairs, start=2):  # as a person counts the lines of the CSV file
        shown = "".join(
            f'<td><img src="{digest}.jpg" loading="lazy" alt="{side}"><br>{side} <code>{digest[:12]}</code>'
            for side, digest in zip((FIRST, SECOND), one.pair.images, strict=True)
        )
        by_question.setdefault(one.pair.question, []).append(f"<tr><td>row {line}{shown}\n")
    index = ""
    with folder_of_pages(folder, "exchange") as made:
        for digest in sorted({digest for one in pairs for digest in one.pair.images}):
            image = render({"images": [digest], "steps": []}, images.read)  # as models see it
            image.thumbnail((SIDE, SIDE))
            image.save(made / f"{digest}.jpg", "JPEG", quality=85)
        for number, (question, rows) in enumerate(by_question.items(), start=1):
            name = f"question-{number}.html"
            write_page(made / name, question, f"<table>\n{''.join(rows)}</table>\n")
            index += f'<li><a href="{name}">{escape(question)}</a> ({len(rows)} pairs)\n'
        write_page(made / "index.html", "Which image wins?", f"<ol>\n{index}</ol>\n")


def _ordered(
    options: argparse.Namespace,
    rows: Sequence[Row],
    pairs: Sequence[Candidate],
    decisions: Sequence[ExchangeDecision],
) -> list[ExchangeDecision]:
    """Decisions from a file of numbers, for the pairs that are not decided yet."""
    order, ids = read_order(options.order), {row["id"] for row in rows}
    unknown = next((name for name in order if name not in ids), None)
    if unknown is not None:
        raise UserError(
            f"{order[unknown].where}: no item {unknown[:80]!r} in {options.dataset}; give the ids that "
            f"`vouch review exchange {options.dataset} --export FILE` names"
        )
    keys = {one.pair.key for one in decisions}
    undecided = [pair for pair in pairs if pair.pair.key not in keys]
    return decided_by_order(filter(None, map(compared, rows)), undecided, order, options.order.name)


class ImageNumbers(NamedTuple):
    """The numbers of an item's two images, in their order. where: file and line."""

    values: tuple[float, float]
    where: str


def read_order(path: Path) -> dict[str, ImageNumbers]:
    """The numbers of each item, by its id. Raises UserError with file and line."""
    if not path.is_file():
        raise UserError(f"{path}: no such file; give one with the columns id, first, second, or a .jsonl")
    order: dict[str, ImageNumbers] = {}
    for name, first, second, where in _lines(path) if path.suffix == ".jsonl" else _cells(path):
        numbers = ImageNumbers((_number(first, where), _number(second, where)), where)
        if order.setdefault(name, numbers) is not numbers:
            raise UserError(f"{where}: item {name} is a duplicate of {order[name].where}; keep one")
    if not order:
        raise UserError(f"{path}: has no item; give the numbers of two images for each id")
    return order


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
            raise UserError(f"{where}: order is not a list of two numbers; correct or remove it")
        name = values.get("id")
        yield str(number if name is None else name), *order, where


def _number(value: Any, where: str) -> float:
    """A finite number, from JSON or a cell. Raises UserError."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (ValueError, TypeError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise UserError(f"{where}: {value!r:.40} is not a number; correct or remove the line")
    return number


def decided_by_order(
    items: Iterable[ComparingItem], pairs: Iterable[Candidate], order: Mapping[str, ImageNumbers], by: str
) -> list[ExchangeDecision]:
    """Decisions about the pairs in which both images have a number; equal numbers exchange nothing.

    by: the name under which the decisions are recorded. Raises UserError if the numbers contradict each other
    or the items' answers.
    """
    known: dict[tuple[str, str], tuple[float, str]] = {}  # by question and digest of the image
    larger_wins: dict[str, tuple[bool, str]] = {}  # by question
    for item in items:
        if item.id in order:
            _learn(item, order[item.id], known, larger_wins)
    decisions = []
    for one in pairs:
        pair = one.pair
        values = [known[pair.question, image][0] for image in pair.images if (pair.question, image) in known]
        if len(values) == 2:
            first, second = values
            winner = FIRST if (first > second) == larger_wins[pair.question][0] else SECOND
            decision = NEITHER if first == second else winner
            decisions.append(ExchangeDecision(pair, decision, by, f"{first:g} and {second:g}", by))
    return decisions


def _learn(
    item: ComparingItem,
    numbers: ImageNumbers,
    known: dict[tuple[str, str], tuple[float, str]],
    larger_wins: dict[str, tuple[bool, str]],
) -> None:
    where = f"{numbers.where}: item {item.id}"
    won, lost = numbers.values[item.index], numbers.values[1 - item.index]
    if won == lost:
        raise UserError(f"{where}: both images have {won:g}, but one is the answer; remove the line")
    wins, earlier = larger_wins.setdefault(item.question, (won > lost, numbers.where))
    if wins != (won > lost):
        raise UserError(
            f"{where}: {won:g} wins against {lost:g}, but by {earlier} the {'larger' if wins else 'smaller'} "
            "number wins that question; correct or remove one of them"
        )
    for image, value in ((item.winner, won), (item.loser, lost)):
        first, earlier = known.setdefault((item.question, image), (value, numbers.where))
        if first != value:
            raise UserError(
                f"{where}: image {image[:12]} has {value:g}, but {first:g} by {earlier}; keep one number"
            )

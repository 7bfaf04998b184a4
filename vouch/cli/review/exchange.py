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
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from vouch.cli.printing import file_argument
from vouch.cli.review import project_with
from vouch.cli.review.exchange_order import decided_by_order, read_order
from vouch.cli.review.pages import folder_of_pages, write_page
from vouch.images.pictures import render
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import write_text
from vouch.pipeline.intact import intact
from vouch.prompts.build.exchange import Candidate, Exchanges, Row, candidates, comparable, compared
from vouch.prompts.build.exchange_decisions import (
    COLUMNS,
    LOSER,
    NEITHER,
    WINNER,
    Decision,
    check_known,
    decisions_path,
    decisions_text,
    read_decisions,
)
from vouch.prompts.build.items import read_rows
from vouch.tables.decisions import are_there, csv_text
from vouch.tables.images import ImageStore, images_path
from vouch.tables.items import items_path

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

"""Images that a person looks at.

`vouch review render` writes those of a variation. `vouch review exchange` collects which of two images wins.
"""

import argparse
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from vouch.cli.command import argument, command, one_of, path_argument
from vouch.cli.printing import long_name, plain
from vouch.cli.review import project_with
from vouch.datasets.cleaning.config import DatasetEntry
from vouch.datasets.raw import Unusable
from vouch.datasets.read.json_rows import json_object
from vouch.images.opening import render
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import replacing_folder, write_text
from vouch.pipeline.records import intact
from vouch.prompts.build import Before, ItemBuilder, Prompts, Rewrites, read_items, read_rows
from vouch.prompts.combination import load_variation
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
from vouch.prompts.template import read_template
from vouch.tables.asked import ORIGINAL, REWRITES, ImageStore, images_path, items_path, rewrites_path
from vouch.tables.decisions import are_there, csv_text, decided_rows

_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>'
    "body{{font:16px sans-serif;margin:2em}}img{{max-width:320px;border:1px solid #ccc}}"
    "td{{vertical-align:top;padding:.5em;max-width:45em}}pre{{white-space:pre-wrap;margin:.3em 0}}"
    "</style><h1>{title}</h1>\n{body}"
)


def check_folder(folder: Path, command: str) -> None:
    """Raises UserError if the folder holds files that the command did not make."""
    if folder.exists() and not _signature(folder, command).is_file() and not _is_empty(folder):
        raise UserError(
            f"{folder}: exists, and `vouch review {command}` did not make it; name another folder"
        )


@contextmanager
def folder_of_pages(folder: Path, command: str) -> Iterator[Path]:
    """A folder to fill, which replaces one that the command made earlier. Raises UserError."""
    check_folder(folder, command)
    with replacing_folder(folder) as made:
        yield made
        _signature(made, command).write_text(
            f"made by `vouch review {command}`; written anew each time\n", "utf-8"
        )


def write_page(file: Path, title: str, body: str) -> None:
    """Writes a page. title: text; body: HTML."""
    file.write_text(_PAGE.format(title=escape(title), body=body), encoding="utf-8")


def _signature(folder: Path, command: str) -> Path:
    """The file that says which command made a folder."""
    return folder / f"{command}.txt"


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


FOLDER = Path("renders")
PromptRow = Mapping[str, Any]


@command(
    "review render",
    "write the images of a variation as files, to look at",
    argument("dataset", names="datasets", help="a dataset of params.yaml"),
    argument(
        "variation", names="variations", help="code of a variation, such as vr_b_5 or option_order+jpeg"
    ),
    argument("--items", type=int, default=12, metavar="N", help="how many items (default: 12)"),
    path_argument("--into", metavar="FOLDER", help="default: renders/DATASET/VARIATION"),
)
def run_render(options: argparse.Namespace) -> int:
    """Write the images of a variation as files, to look at.

    For the first items that the variation applies to, each image as a model would get it is written as a PNG
    file, beside those of `original`, with a page that shows the prompts and the correct options. The
    variation need not be in params.yaml. The dataset's items, images and rewrites must be there (`dvc repro
    rewrite@DATASET`).

    Examples:
      vouch review render kites vr_b_5
      vouch review render kites option_order+jpeg --items 3 --into seen
    """
    name, variation = options.dataset, options.variation
    project = project_with(name)
    if options.items < 1:
        raise UserError(f"--items: give a number of items from 1, not {options.items}")
    folder = options.into or FOLDER / name / variation
    check_folder(folder, "render")
    by_item = prompts(name, project.datasets[name], variation)
    first = [rows for _, rows in zip(range(options.items), by_item, strict=False)]
    if not first:
        raise UserError(f"{variation}: no item of {name} gets such a prompt; docs/variations.md says why")
    images, body, written = ImageStore(intact(images_path(name))), "", 0
    with folder_of_pages(folder, "render") as made:
        for number, rows in enumerate(first, start=1):
            files = write_images(rows, number, images, made)
            cells = "".join(f"<td>{_prompt_cell(row, files)}" for row in rows)
            body += f"<h2>{escape(rows[0]['item'])}</h2>\n<table><tr>{cells}</table>\n"
            written += len(files)
        write_page(made / "index.html", f"{name}: {long_name(variation)}", body)
    print(f"render: {len(first)} items, {written} images in {plain(folder)}")
    return 0


def prompts(name: str, entry: DatasetEntry, variation: str) -> Iterator[Sequence[PromptRow]]:
    """For each item that the variation applies to: its original prompt, then those of the variation."""
    names = dict.fromkeys((ORIGINAL, variation))
    template = read_template(entry.template, entry.variant)
    all_prompts = Prompts([load_variation(each) for each in names], template, entry.template, None)
    path = decisions_path(name)
    builder = ItemBuilder(
        Rewrites(REWRITES.read(intact(rewrites_path(name))).to_pylist()),
        Exchanges(read_decisions(path) if are_there(path) else []),
        lambda _: True,
    )
    group, before = None, Before()
    for item in read_items(intact(items_path(name)), builder):
        if item.group != group:
            group, before = item.group, {}
        rows = list(all_prompts.rows(item, before)) if item.kept else []
        if rows and rows[-1]["variation"] == variation:
            yield rows


def write_images(rows: Sequence[PromptRow], number: int, images: ImageStore, folder: Path) -> dict[str, str]:
    """Writes the images of an item's prompts; returns file names by recipe (`repr`). number: of the item."""
    files: dict[str, str] = {}
    for row in rows:
        for position, recipe in enumerate(row["images"], start=1):
            if repr(recipe) not in files:
                prompt = row["id"].removeprefix(f"{row['item']}/").replace("/", ".")
                files[repr(recipe)] = f"{number:03}.{prompt}.{position}.png"
                render(recipe, images.read).save(folder / files[repr(recipe)], "PNG")
    return files


def _prompt_cell(row: PromptRow, files: Mapping[str, str]) -> str:
    images = ""
    for recipe in row["images"]:
        steps = (f"{step['operation']} {step['severity'] or ''}".strip() for step in recipe["steps"])
        operations = escape(", ".join(steps) or "as it is")
        images += f'<p><img src="{escape(files[repr(recipe)])}" alt="{operations}"><br>{operations}'
    context = [row["system"], *(text for turn in row["turns"] for text in (turn["question"], turn["answer"]))]
    words = "".join(f"<pre>{escape(text)}</pre>" for text in [*context, row["text"], row["response"]] if text)
    correct = "; ".join(row["options"][index] for index in row["answers"]) or "none of its options"
    return f"<p><b>{escape(row['id'])}</b>{images}{words}<p>Correct ({row['effect']}): {escape(correct)}\n"


@dataclass(frozen=True)
class ImageNumbers:
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
    items: Iterable[Compared], pairs: Iterable[Candidate], order: Mapping[str, ImageNumbers], by: str
) -> list[Decision]:
    """Decisions about the pairs whose two images both have a number; equal numbers make no exchange.

    by: who decided, as the decisions name it. Raises UserError if the numbers contradict each other or the
    items' answers.
    """
    known: dict[tuple[str, str], tuple[float, str]] = {}  # by question and digest of the image
    direction: dict[str, tuple[bool, str]] = {}
    for item in items:
        if item.id in order:
            _learn(item, order[item.id], known, direction)
    decisions = []
    for one in pairs:
        pair = one.pair
        values = [known[pair.question, image][0] for image in pair.images if (pair.question, image) in known]
        if len(values) == 2:
            first, second = values
            larger, smaller = (FIRST, SECOND) if first > second else (SECOND, FIRST)
            winner = larger if direction[pair.question][0] else smaller
            decision = NEITHER if first == second else winner
            decisions.append(Decision(pair, decision, by, f"{first:g} and {second:g}", by))
    return decisions


def _learn(
    item: Compared,
    numbers: ImageNumbers,
    known: dict[tuple[str, str], tuple[float, str]],
    direction: dict[str, tuple[bool, str]],
) -> None:
    where = f"{numbers.where}: item {item.id}"
    won, lost = numbers.values[item.index], numbers.values[1 - item.index]
    if won == lost:
        raise UserError(f"{where}: both images have {won:g}, but one is the answer; remove the line")
    wins, earlier = direction.setdefault(item.question, (won > lost, numbers.where))
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
def run_exchange(options: argparse.Namespace) -> int:
    """Decide which of two images wins, so that one can be exchanged to change the answer (variation vs_e).

    Without an option it counts the items that have such an image. With --export every pair of images that a
    person can compare goes into a CSV file with a column `winner` to fill in (first, second, neither). With
    --import that file goes into decisions/exchange, which the next run applies. Where the order of the images
    is known (depths, counts, sizes), --order decides by a file of numbers.

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
    decisions = read_decisions(path) if are_there(path) else []
    check_known(decisions, comparable(rows), name)
    if options.decided:
        return _import_winners(options.decided, rows, decisions, name)
    replaced = LOSER if options.mirrored else WINNER
    pairs = list(candidates(filter(None, map(compared, rows)), replaced))
    if options.export:
        return _export_pairs(options, pairs, decisions)
    if options.order:
        return _by_order(options, rows, pairs, decisions)
    print(pair_counts(rows, pairs, decisions), end="")
    return 0


def pair_counts(rows: Sequence[Row], pairs: Sequence[Candidate], decisions: Sequence[Decision]) -> str:
    """How many pairs there are to decide, how many are decided, and how many items that changes."""
    items = [item for item in map(compared, rows) if item]
    exchanges = Exchanges(decisions)
    own = sum(any(row["exchange"] or ()) for row in rows)
    decided = sum(any(exchanges.of(row)) for row in rows) - own
    keys = {one.pair.key for one in decisions}
    questions = len({pair.pair.question for pair in pairs})
    done = sum(pair.pair.key in keys for pair in pairs)
    return (
        f"exchange: {len(items)} of {len(rows)} items compare two images and name none to exchange\n"
        f"exchange: {questions} of their questions occur at least twice: {len(pairs)} pairs, {done} decided\n"
        f"exchange: {decided} items get an image by decisions, {own} have one from their source\n"
    )


def exported_pairs(pairs: Sequence[Candidate], decisions: Sequence[Decision]) -> str:
    """The pairs as CSV, with the decisions so far; the ids of items are separated by semicolons."""
    decided = {one.pair.key: one for one in decisions}
    lines = []
    for one in pairs:
        pair, known = one.pair, decided.get(one.pair.key)
        decision = [winner_of(known, one), known.by, known.why] if known else ["", "", ""]
        owners = ["; ".join(ids) for ids in (one.of_first, one.of_second)]
        lines.append([pair.question, pair.replaced, *pair.images, *owners, *decision])
    return csv_text([*COLUMNS[:4], *INFORMATION, *COLUMNS[4:]], lines)


def winner_of(decision: Decision, candidate: Candidate) -> str:
    """The decision's winner, also if the candidate has the two images in the other order."""
    if decision.winner == NEITHER or decision.pair == candidate.pair:
        return decision.winner
    return {"first": "second", "second": "first"}[decision.winner]


def _export_pairs(
    options: argparse.Namespace, pairs: Sequence[Candidate], decisions: Sequence[Decision]
) -> int:
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
    return 0


def _import_winners(source: Path, rows: Sequence[Row], decisions: Sequence[Decision], dataset: str) -> int:
    """Takes over decisions; those about other pairs stay."""
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
    """Decides the pairs that nobody has decided yet."""
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
            image = render({"images": [digest], "steps": []}, images.read)  # as models see it
            image.thumbnail((SIDE, SIDE))
            image.save(made / f"{digest}.jpg", "JPEG", quality=85)
        for number, (question, rows) in enumerate(by_question.items(), start=1):
            name = f"question-{number}.html"
            write_page(made / name, question, f"<table>\n{''.join(rows)}</table>\n")
            index += f'<li><a href="{name}">{escape(question)}</a> ({len(rows)} pairs)\n'
        write_page(made / "index.html", "Which image wins?", f"<ol>\n{index}</ol>\n")

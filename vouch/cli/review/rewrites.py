"""Review the reworded questions of a dataset: counts, what was rejected and why.

With --export the table becomes a CSV file with a column `decision` to fill in: accept, reject, use (your own
words, in `text`), and for the kind `clean` drop. With --import such a file goes into decisions/rewrites,
which the next run applies.

Examples:
  vouch review rewrites kites --kind ls_n --all
  vouch review rewrites kites --export review.csv
  vouch review rewrites kites --import review.csv
"""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vouch.cli.printing import file_argument, table
from vouch.cli.review import project_with
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import write_text
from vouch.pipeline.intact import intact
from vouch.prompts.rewrites.table import (
    ACCEPT,
    COLUMNS,
    Decision,
    Task,
    decisions_path,
    decisions_text,
    read_decisions,
)
from vouch.tables.asked import KINDS, REJECTED, REWRITES, rewrites_path
from vouch.tables.decisions import are_there, csv_text

INFORMATION = ("status", "reason", "rewrite")  # columns of an export beside those of decisions
Row = Mapping[str, Any]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch review rewrites`."""
    parser.add_argument("dataset", help="a dataset of params.yaml")
    parser.add_argument("--kind", choices=KINDS, help="only this kind")
    parser.add_argument("--all", action="store_true", help="list every rewrite, not only those rejected")
    files = parser.add_mutually_exclusive_group()
    files.add_argument(
        "--export", type=file_argument, metavar="FILE", help="write the table as CSV, to decide in"
    )
    files.add_argument(
        "--import", dest="decided", type=file_argument, metavar="FILE", help="take its decisions over"
    )


def run(options: argparse.Namespace) -> int:
    """Lists, exports or imports."""
    project_with(options.dataset)
    if options.decided:
        return _import(options.dataset, options.decided)
    rows = REWRITES.read(intact(rewrites_path(options.dataset))).to_pylist()
    rows = [row for row in rows if options.kind in (None, row["kind"])]
    path = decisions_path(options.dataset)
    decided = {one.task: one for one in read_decisions(path)} if are_there(path) else {}
    if options.export:
        write_text(options.export, exported(rows, decided))
        print(f"rewrites: {len(rows)} in {options.export}; fill in `decision`, then --import it")
        return 0
    print(listing(rows, options.all), end="")
    return 0


def listing(rows: Sequence[Row], everything: bool) -> str:
    """Counts by kind and status, then the rewrites that were rejected, or all of them."""
    if not rows:
        return "rewrites: none; no variation of this profile needs them\n"
    counts = Counter((row["kind"], row["status"]) for row in rows)
    shown = [row for row in rows if everything or row["status"] == REJECTED]
    lines = [[kind, status, str(count)] for (kind, status), count in sorted(counts.items())]
    text = table(["kind", "status", "questions"], lines, right={2})
    if shown:
        cells = [
            [row["kind"], row["status"], row["original"], row["rewrite"] or "", row["reason"]]
            for row in sorted(shown, key=lambda row: (row["kind"], row["reason"]))
        ]
        text += "\n" + table(["kind", "status", "question", "rewrite", "because"], cells)
    return text


def exported(rows: Sequence[Row], decided: Mapping[Task, Decision]) -> str:
    """The table as CSV, with the decisions so far."""
    lines = []
    for row in rows:
        one = decided.get(Task(row["original"], row["kind"]))
        information = [row["status"], row["reason"], row["rewrite"] or ""]
        decision = [one.decision, one.text, one.by, one.why] if one else ["", "", "", ""]
        lines.append([row["original"], row["kind"], *information, *decision])
    return csv_text(["question", "kind", *INFORMATION, *COLUMNS[2:]], lines)


def _import(dataset: str, source: Path) -> int:
    """Takes decisions over; those about other questions and kinds stay."""
    if not source.is_file():
        raise UserError(f"{source}: no such file; write it with --export")
    rows = REWRITES.read(intact(rewrites_path(dataset))).to_pylist()
    words = {Task(row["original"], row["kind"]): row["rewrite"] for row in rows}
    new = read_decisions(source, INFORMATION)
    for one in new:
        if one.task not in words:
            raise UserError(
                f"{one.where}: no {one.task.kind} of {one.task.question[:80]!r} in "
                f"{rewrites_path(dataset)}; export it anew"
            )
    path = decisions_path(dataset)
    kept = {one.task: one for one in read_decisions(path)} if are_there(path) else {}
    kept |= {one.task: _with_words(one, words[one.task]) for one in new}
    write_text(path, decisions_text(kept.values()))
    print(f"rewrites: {len(new)} decisions taken over, {len(kept)} in {path}; `dvc repro` applies them")
    return 0


def _with_words(one: Decision, words: str | None) -> Decision:
    """An accepted rewrite with its words, so that another rewriter changes nothing."""
    if one.decision != ACCEPT or one.text:
        return one
    if words is None:
        raise UserError(f"{one.where}: nothing to accept; write use and the words in text")
    return replace(one, text=words)

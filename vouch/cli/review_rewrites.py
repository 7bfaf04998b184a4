"""`vouch review rewrites`: which reworded questions are asked."""

import argparse
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from vouch.cli.command import argument, command, number, one_of, path_argument
from vouch.cli.printing import Column, table, wrapped
from vouch.cli.review import check_source, project_with
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import write_text
from vouch.pipeline.records import intact
from vouch.prompts.rewrites.checks import doubt
from vouch.prompts.rewrites.table import (
    ACCEPT,
    COLUMNS,
    RewriteDecision,
    RewriteTask,
    check_words,
    decisions_path,
    decisions_text,
    read_decisions,
)
from vouch.tables.asked import ACCEPTED, KINDS, REJECTED, REWRITES, rewrites_path
from vouch.tables.decisions import csv_text

INFORMATION = ("doubt", "status", "reason", "rewrite")  # further columns of an export
Row = Mapping[str, Any]
Decisions = Mapping[RewriteTask, RewriteDecision]


@command(
    "review rewrites",
    "the reworded questions: accept, reject or replace them",
    argument("dataset", names="datasets", help="a dataset of params.yaml"),
    argument("--kind", choices=KINDS, help="only this kind"),
    argument("--all", action="store_true", help="list every rewrite, not only those rejected"),
    one_of(
        path_argument("--export", metavar="FILE", help="write the table as CSV, to decide in"),
        path_argument("--import", dest="decided", metavar="FILE", help="take over its decisions"),
        argument("--accept-checked", action="store_true", help="accept what passes every check, undecided"),
        argument("--undo-checked", action="store_true", help="take back what --accept-checked accepted"),
    ),
    argument(
        "--doubt",
        type=number(float, 0),
        metavar="MOST",
        help="--accept-checked accepts up to this doubt only",
    ),
)
def run_rewrites(options: argparse.Namespace) -> int:
    """Review the reworded questions of a dataset: how many there are, which were rejected, and why.

    With --export the table becomes a CSV file with a column `decision` to fill in: accept, reject, use (your
    own words, in `text`), and for the kind `clean` also drop. Undecided rows come first, the most doubtful on
    top: `doubt` is the number of checks that the rewrite fails, plus the share of content words that only it
    or the question has. With --import that file goes into decisions/rewrites, which the next run applies.
    Decide as far as you get, import, and export again to go on.

    --accept-checked accepts what passes every check and has no decision yet; --undo-checked takes that back.

    Examples:
      vouch review rewrites kites --kind ls_n --all
      vouch review rewrites kites --export review.csv
      vouch review rewrites kites --import review.csv
      vouch review rewrites kites --kind clean --accept-checked --doubt 0.2
    """
    if options.doubt is not None and not options.accept_checked:
        raise UserError("--doubt: belongs to --accept-checked")
    project_with(options.dataset)
    if options.decided:
        return _import_rewrites(options.dataset, options.decided)
    rows = REWRITES.read(intact(rewrites_path(options.dataset))).to_pylist()
    path = decisions_path(options.dataset)
    decided = {one.task: one for one in read_decisions(path)}
    rows = by_doubt([row for row in rows if options.kind in (None, row["kind"])], decided)
    if options.export:
        print(_export_rewrites(options.export, rows, decided))
    elif options.accept_checked:
        print(_accept_checked(path, rows, decided, inf if options.doubt is None else options.doubt))
    elif options.undo_checked:
        print(_undo_checked(path, rows, decided))
    else:
        print(listing(rows, options.all, _undecided(rows, decided)), end="")
    return 0


def _undecided(rows: Sequence[Row], decided: Decisions) -> int:
    return sum(_task(row) not in decided for row in rows)


def _export_rewrites(target: Path, rows: Sequence[Row], decided: Decisions) -> str:
    """Writes the file to decide in; returns what to say about it."""
    _check_nothing_lost(target, decided)
    write_text(target, exported_rewrites(rows, decided))
    return (
        f"rewrites: {len(rows)} in {target}, {_undecided(rows, decided)} of them undecided, which come "
        "first; fill in `decision`, then --import it"
    )


def _accept_checked(path: Path, rows: Sequence[Row], decided: Decisions, most: float) -> str:
    """Accepts what passes every check and has no decision, up to this doubt; returns what to say about it."""
    waiting = [row for row in rows if _task(row) not in decided and _doubt(row) <= most]
    new = {_task(row): _accepted(row) for row in waiting if _is_checked(row)}
    _write(path, decided, {**decided, **new})
    return (
        f"rewrites: {len(new)} accepted that pass every check, {_undecided(rows, decided) - len(new)} "
        f"undecided; `dvc repro` applies {path}, --undo-checked takes it back"
    )


def _undo_checked(path: Path, rows: Sequence[Row], decided: Decisions) -> str:
    """Takes back what --accept-checked accepted among the rows; returns what to say about it."""
    words = {_task(row): row["rewrite"] for row in rows}
    kept = {task: one for task, one in decided.items() if not _by_checks(one, words.get(task))}
    _write(path, decided, kept)
    return f"rewrites: {len(decided) - len(kept)} taken back, {len(kept)} decisions left in {path}"


def _write(path: Path, before: Decisions, after: Decisions) -> None:
    """Writes the decisions, if they changed; without any, the file goes."""
    if not after:
        path.unlink(missing_ok=True)
    elif after != before:
        write_text(path, decisions_text(after.values()))


CHECKS, PASSES = "checks", "passes every check"
"""`by` and the beginning of `why` of a decision of --accept-checked."""
_WHY = re.compile(rf"{PASSES}, doubt \d+\.\d\d")


def _task(row: Row) -> RewriteTask:
    return RewriteTask(row["original"], row["kind"])


def _doubt(row: Row) -> float:
    return doubt(row["kind"], row["original"], row["rewrite"], row["failed"] or ())


def _is_checked(row: Row) -> bool:
    return row["status"] == ACCEPTED and row["rewrite"] is not None


def _accepted(row: Row) -> RewriteDecision:
    return RewriteDecision(
        _task(row), ACCEPT, row["rewrite"], CHECKS, f"{PASSES}, doubt {_doubt(row):.2f}", ""
    )


def _says_checks(one: RewriteDecision) -> bool:
    return (one.decision, one.by) == (ACCEPT, CHECKS) and bool(_WHY.fullmatch(one.why))


def _by_checks(one: RewriteDecision, words: str | None) -> bool:
    """Whether --accept-checked made a decision, and nobody changed it. words: the rewrite in the table."""
    return _says_checks(one) and words is not None and one.text == words.strip()


def by_doubt(rows: Sequence[Row], decided: Decisions) -> list[Row]:
    """The undecided ones first, each part with the most doubtful on top."""
    return sorted(rows, key=lambda row: (_task(row) in decided, -_doubt(row)))


def _check_nothing_lost(path: Path, decided: Decisions) -> None:
    """Raises UserError if an export would overwrite decisions that were not taken over."""
    for one in read_decisions(path, INFORMATION):
        known = decided.get(one.task)
        if known is None or replace(_recorded(one, known.text, known), where=known.where) != known:
            raise UserError(
                f"{one.where}: a decision that was not taken over; --import it, or remove the file"
            )


def listing(rows: Sequence[Row], everything: bool, undecided: int) -> str:
    """Counts by kind and status, then the rewrites that were rejected, or all of them, in the order given."""
    if not rows:
        return "rewrites: none; no variation of this profile needs them\n"
    counts = Counter((row["kind"], row["status"]) for row in rows)
    shown = [row for row in rows if everything or row["status"] == REJECTED]
    lines = [[kind, status, str(count)] for (kind, status), count in sorted(counts.items())]
    text = table([Column("kind"), Column("status"), Column("questions", right=True)], lines)
    if shown:
        for row in sorted(shown, key=lambda row: KINDS.index(row["kind"])):
            text += "\n" + wrapped(
                f"{row['kind']}, {row['status']}, doubt {_doubt(row):.2f}: {row['reason']}"
            )
            text += wrapped(f"question: {row['original']}", "  ")
            text += wrapped(f"rewrite: {row['rewrite']}", "  ") if row["rewrite"] else ""
    return f"{text}\nrewrites: {len(rows)}, {undecided} of them without a decision\n"


def exported_rewrites(rows: Sequence[Row], decided: Decisions) -> str:
    """The rows as CSV, with the decisions so far."""
    lines = []
    for row in rows:
        one = decided.get(_task(row))
        information = [f"{_doubt(row):.2f}", row["status"], row["reason"], row["rewrite"] or ""]
        decision = [one.decision, one.text, one.by, one.why] if one else ["", "", "", ""]
        lines.append([row["original"], row["kind"], *information, *decision])
    return csv_text(["question", "kind", *INFORMATION, *COLUMNS[2:]], lines)


def _import_rewrites(dataset: str, source: Path) -> int:
    """Adds decisions from a file; earlier ones about other questions and kinds stay."""
    check_source(source)
    rows = REWRITES.read(intact(rewrites_path(dataset))).to_pylist()
    words = {RewriteTask(row["original"], row["kind"]): row["rewrite"] for row in rows}
    new = read_decisions(source, INFORMATION)
    for one in new:
        if one.task not in words:
            raise UserError(
                f"{one.where}: no {one.task.kind} of {one.task.question[:80]!r} in "
                f"{rewrites_path(dataset)}; export it again"
            )
    path = decisions_path(dataset)
    kept = {one.task: one for one in read_decisions(path)}
    kept |= {one.task: _recorded(one, words[one.task], kept.get(one.task)) for one in new}
    write_text(path, decisions_text(kept.values()))
    print(f"rewrites: {len(new)} decisions taken over, {len(kept)} in {path}; `dvc repro` applies them")
    return 0


def _recorded(one: RewriteDecision, words: str | None, before: RewriteDecision | None) -> RewriteDecision:
    """A decision of a file as decisions/rewrites takes it over.

    An accepted rewrite gets its words, so that another rewriter changes nothing. Words that a person changed
    are not those that the checks accepted, so that --undo-checked leaves them. words: the rewrite in the
    table. before: the decision so far.
    """
    if one.decision == ACCEPT and not one.text:
        if words is None:
            raise UserError(f"{one.where}: there is no rewrite to accept; write use, and the words in text")
        one = replace(one, text=words)
    elif one.decision == ACCEPT and one.text != (words or "").strip():
        check_words(one.task.question, one.text, one.where)
    if _says_checks(one) and not (_by_checks(one, words) and (before is None or _says_checks(before))):
        one = replace(one, by="", why="")
    return one

"""What people decide about rewrites: decisions/rewrites/DATASET.csv, under version control.

question  the question as the dataset has it (for other kinds than `clean`: as cleaning left it)
kind      one of KINDS
decision  accept: take the rewriter's words, whatever checks say. reject: make no prompt.
          use: take the words in `text`. drop (of `clean`): no prompt at all of this question
text      the words; with `accept` those that were accepted, so that another rewriter changes nothing
by, why   who decided and the reason; optional
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stages.contracts.rewrites import CLEAN, KINDS
from stages.rewrite.engine import Task
from stages.runtime.errors import UserError, did_you_mean

FOLDER = Path("decisions/rewrites")
NEEDED = ("question", "kind", "decision", "text")
COLUMNS = (*NEEDED, "by", "why")
ACCEPT, REJECT, USE, DROP = "accept", "reject", "use", "drop"
DECISIONS = (ACCEPT, REJECT, USE, DROP)


@dataclass(frozen=True)
class Decision:
    """One row. where: file and line."""

    task: Task
    decision: str
    text: str
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
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{path}: not UTF-8 text; save it as CSV in UTF-8") from None
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    found: dict[Task, Decision] = {}
    try:
        _check_columns(reader.fieldnames or (), further, path)
        for row in reader:
            where = f"{path} line {reader.line_num}"
            if None in row or None in row.values():
                raise UserError(f"{where}: has not as many fields as the first line; quote texts with commas")
            if row["decision"].strip():
                one = _decision(row, where)
                if one.task in found:
                    raise UserError(
                        f"{where}: a second decision about {_short(one.task)}, first at "
                        f"{found[one.task].where}; keep one"
                    )
                found[one.task] = one
    except csv.Error as error:
        raise UserError(f"{path} line {reader.line_num}: not CSV ({error}); correct its quotes") from None
    return list(found.values())


def _check_columns(names: Iterable[str], further: Sequence[str], path: Path) -> None:
    names = list(names)
    for name in names:
        if name not in (*COLUMNS, *further):
            raise UserError(f"{path}: unknown column {name}; {did_you_mean(name, [*COLUMNS])}")
    for name in NEEDED:
        if names.count(name) != 1:
            raise UserError(f"{path}: needs one column {name}; give it {', '.join(COLUMNS)}")


def _decision(row: Mapping[str, str], where: str) -> Decision:
    kind, decision, text = (row[name].strip() for name in ("kind", "decision", "text"))
    if kind not in KINDS:
        raise UserError(f"{where}: unknown kind {kind}; {did_you_mean(kind, list(KINDS))}")
    if decision not in DECISIONS:
        raise UserError(f"{where}: unknown decision {decision}; {did_you_mean(decision, list(DECISIONS))}")
    if decision == USE and not text:
        raise UserError(f"{where}: use needs words in text; write them, or reject")
    if decision == DROP and kind != CLEAN:
        raise UserError(f"{where}: only cleaning drops a question; reject this rewrite instead")
    task = Task(row["question"], kind)
    return Decision(task, decision, text, row.get("by", ""), row.get("why", ""), where)


def check_known(decisions: Iterable[Decision], questions: Mapping[str, object], kinds: Sequence[str]) -> None:
    """Raises UserError where a decision of these kinds is about a question that nobody asks."""
    for one in decisions:
        if one.task.kind in kinds and one.task.question not in questions:
            raise UserError(
                f"{one.where}: no question {one.task.question[:80]!r} in this dataset; write it exactly "
                "as the dataset has it (kinds other than clean: as cleaning left it), or remove the line"
            )


def write_decisions(decisions: Iterable[Decision], sink: io.TextIOBase) -> None:
    """Writes rows as CSV, sorted, so that the same decisions are the same file."""
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in sorted(decisions, key=lambda one: (one.task.question, KINDS.index(one.task.kind))):
        writer.writerow([one.task.question, one.task.kind, one.decision, one.text, one.by, one.why])


def _short(task: Task) -> str:
    return f"{task.kind} of {task.question[:60]!r}"

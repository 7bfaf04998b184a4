"""What people decide about rewrites: decisions/rewrites/DATASET.csv, under version control.

question  the question as the dataset has it (for other kinds than `clean`: as cleaning left it)
kind      one of KINDS
decision  accept: take the rewriter's words, whatever checks say. reject: make no prompt.
          use: take the words in `text`. drop (of `clean`): no prompt at all of this question
text      the words; with `accept` those that were accepted, so that another rewriter changes nothing
by, why   who decided and the reason; optional
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vouch.pipeline.errors import UserError, did_you_mean
from vouch.prompts.rewrites.instruction import Task
from vouch.tables.decisions import OPTIONAL, csv_text, decided_rows
from vouch.tables.rewrites import CLEAN, KINDS

FOLDER = Path("decisions/rewrites")
NEEDED = ("question", "kind", "decision", "text")
COLUMNS = (*NEEDED, *OPTIONAL)
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
    found: dict[Task, Decision] = {}
    for where, row in decided_rows(path, NEEDED, "decision", further):
        one = _decision(row, where)
        if one.task in found:
            raise UserError(
                f"{where}: a second decision about {_short(one.task)}, first at "
                f"{found[one.task].where}; keep one"
            )
        found[one.task] = one
    return list(found.values())


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


def decisions_text(decisions: Iterable[Decision]) -> str:
    """Rows as CSV, sorted, so that the same decisions are the same file."""
    ordered = sorted(decisions, key=lambda one: (one.task.question, KINDS.index(one.task.kind)))
    rows = ([one.task.question, one.task.kind, one.decision, one.text, one.by, one.why] for one in ordered)
    return csv_text(COLUMNS, rows)


def _short(task: Task) -> str:
    return f"{task.kind} of {task.question[:60]!r}"

"""What people decide about answers that a judge read: decisions/judgements/DATASET.csv.

key       the answer as `vouch review judge` names it: digest of question, text, and references or options
          with which of them are right
question, reference, answer   what the person saw; for readers, not read again
decision  correct or incorrect
by, why   who decided and the reason; optional
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from vouch.pipeline.errors import UserError, did_you_mean
from vouch.tables.decisions import OPTIONAL, are_there, csv_text, decided_rows
from vouch.tables.judged import CORRECT, INCORRECT

FOLDER = Path("decisions/judgements")
NEEDED = ("key", "question", "reference", "answer", "decision")
COLUMNS = (*NEEDED, *OPTIONAL)
DECISIONS = (CORRECT, INCORRECT)

Decided = Mapping[str, Mapping[str, str]]
"""Rows of the file by key, those that hold a decision."""


def judgements_path(dataset: str) -> Path:
    """Where the decisions about a dataset lie; the file may be missing."""
    return FOLDER / f"{dataset}.csv"


def read_judgements(path: Path) -> Decided:
    """The decisions in a file, none where there is no file. Raises UserError with file and line."""
    found: dict[str, Mapping[str, str]] = {}
    first: dict[str, str] = {}
    for where, row in decided_rows(path, NEEDED, "decision") if are_there(path) else ():
        key, decision = row["key"].strip(), row["decision"].strip().casefold()
        if decision not in DECISIONS:
            raise UserError(
                f"{where}: unknown decision {decision:.60}; {did_you_mean(decision, list(DECISIONS))}"
            )
        if key in found:
            raise UserError(
                f"{where}: a second decision about answer {key:.12}, first at {first[key]}; keep one"
            )
        found[key], first[key] = dict(row) | {"key": key, "decision": decision}, where
    return found


def judgements_text(rows: Sequence[Mapping[str, str]]) -> str:
    """Rows as CSV."""
    return csv_text(COLUMNS, ([row.get(name, "") for name in COLUMNS] for row in rows))

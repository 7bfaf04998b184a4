"""People's decisions, as CSV files in decisions/, under version control.

A file has the columns of its kind; rows without a decision are ignored, and so are columns that have neither
a name nor a cell. `by` and `why` (who decided and the reason) are optional. People open these files in
spreadsheets, which run a cell that begins with one of `= + - @`, a tab or a line end: such a cell is written
with an apostrophe in front, which is taken off on reading.

decisions/judgements/DATASET.csv holds decisions about answers that a judge read:

key       the answer as `vouch review judge` names it: digest of question, text, and references or options
          together with which of them are correct
question, reference, answer   what the person saw; not read again
decision  correct or incorrect
"""

import csv
import io
import os
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from vouch.pipeline.errors import UserError, did_you_mean
from vouch.tables.answered import CORRECT, INCORRECT
from vouch.tables.table import per_dataset

OPTIONAL = ("by", "why")
LONGEST_CELL = 1_000_000
Row = Mapping[str, str]


def decided_rows(
    path: Path,
    needed: Sequence[str],
    decision: str,
    further: Sequence[str] = (),
    about: Callable[[Row], tuple[Hashable, str]] | None = None,
) -> Iterator[tuple[str, Row]]:
    """(file and line, row) of each row with a decision, none if there is no file. Raises UserError with
    file and line.

    decision: the column that holds it. further: names of columns that are allowed but not read.
    about: the subject of a row's decision, and its name in messages; two rows about the same are refused.
    """
    if not are_there(path):
        return
    decided: dict[Hashable, str] = {}
    try:
        text = path.read_bytes().decode("utf-8-sig")  # line ends inside of texts stay as they are
    except UnicodeDecodeError:
        raise UserError(f"{path}: not UTF-8 text; save it as CSV in UTF-8") from None
    csv.field_size_limit(LONGEST_CELL)
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        unnamed = _name_unnamed(reader)
        names = [name for name in reader.fieldnames or () if name not in unnamed]
        _check_columns(names, needed, further, path)
        for row in reader:
            where = f"{path} line {reader.reader.line_num}"
            if None in row or None in row.values():
                raise UserError(f"{where}: has not as many fields as the first line; quote texts with commas")
            if any(row[name].strip() for name in unnamed):
                raise UserError(f"{where}: has a cell in a column without a name; remove it")
            if not row[decision].strip():
                continue
            row = {name: as_it_was(row[name]) for name in names}
            key, named = about(row) if about else (where, "")
            if key in decided:
                raise UserError(
                    f"{where}: a second decision about {named}, first at {decided[key]}; keep one"
                )
            decided[key] = where
            yield where, row
    except csv.Error as error:
        first, last = reader.line_num + 1, reader.reader.line_num  # of the broken row
        where = f"line {last}" if first >= last else f"lines {first} to {last}"
        raise UserError(
            f"{path} {where}: not CSV ({error}); close its quotes, or shorten its cells"
        ) from None


def are_there(path: Path) -> bool:
    """Whether the file of decisions exists. Raises UserError if something else has its name."""
    if path.is_file():
        return True
    if os.path.lexists(path):
        raise UserError(f"{path}: is no file; put the CSV file of decisions there, or remove it")
    return False


def _name_unnamed(reader: "csv.DictReader[str]") -> set[str]:
    """Gives columns without a name, which spreadsheets add, names that no column has; returns these."""
    names = list(reader.fieldnames or ())
    blank = [at for at, name in enumerate(names) if not name.strip()]
    unnamed = {at: " " * (at + 1) for at in blank}
    reader.fieldnames = [unnamed.get(at, name) for at, name in enumerate(names)]
    return set(unnamed.values())


def _check_columns(names: Iterable[str], needed: Sequence[str], further: Sequence[str], path: Path) -> None:
    names, known = list(names), [*needed, *OPTIONAL]
    if len(names) == 1 and any(between in names[0] for between in ";\t"):
        raise UserError(f"{path}: its first line is {names[0]!r:.80}; save it as CSV with commas, in UTF-8")
    for name in names:
        if name not in (*known, *further):
            raise UserError(f"{path}: unknown column {name}; {did_you_mean(name, known)}")
    for name in needed:
        if names.count(name) != 1:
            raise UserError(f"{path}: needs one column {name}; give it {', '.join(known)}")


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A CSV file with a line of column names; no spreadsheet runs its cells."""
    return "".join(_line(row) for row in (columns, *([guarded(cell) for cell in row] for row in rows)))


def _line(row: Sequence[str]) -> str:
    """One row and a line feed. csv quotes a carriage return in a text only if its own lines end in one."""
    sink = io.StringIO()
    csv.writer(sink, lineterminator="\r\n").writerow(row)
    return sink.getvalue().removesuffix("\r\n") + "\n"


_ACTIVE = re.compile(r"'*[=+\-@\t\r\n]")
_GUARDED = re.compile(r"'+[=+\-@\t\r\n]")


def guarded(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if _ACTIVE.match(cell) else cell


def as_it_was(cell: str) -> str:
    """The inverse of `guarded`; a cell that was not guarded stays as it is."""
    return cell[1:] if _GUARDED.match(cell) else cell


NEEDED = ("key", "question", "reference", "answer", "decision")
COLUMNS = (*NEEDED, *OPTIONAL)
DECISIONS = (CORRECT, INCORRECT)

Decided = Mapping[str, Row]
"""The rows of the file that hold a decision, by key."""


judgements_path = per_dataset("decisions/judgements/{}.csv")


def read_judgements(path: Path) -> Decided:
    """The decisions in a file, none if there is no file. Raises UserError with file and line."""

    def about(row: Row) -> tuple[str, str]:
        return row["key"].strip(), f"answer {row['key'].strip():.12}"

    decided: dict[str, Row] = {}
    for where, row in decided_rows(path, NEEDED, "decision", about=about):
        key, decision = row["key"].strip(), row["decision"].strip().casefold()
        if decision not in DECISIONS:
            raise UserError(
                f"{where}: unknown decision {decision:.60}; {did_you_mean(decision, list(DECISIONS))}"
            )
        decided[key] = {**row, "key": key, "decision": decision}
    return decided


def judgements_text(rows: Sequence[Row]) -> str:
    """Rows as CSV."""
    return csv_text(COLUMNS, ([row.get(name, "") for name in COLUMNS] for row in rows))

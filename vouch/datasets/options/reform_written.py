"""Wrong options that a model or a person wrote, in the file wrong-options.csv of the source.

Columns id, wrong_1, wrong_2, wrong_3. `vouch review distract` lets a model write it, as ReForm-Eval did for
its VQA sets (Li et al. 2023, A.4 and A.8); it is there to be read and corrected, with cells guarded as those
of decisions are.
"""

import csv
from collections.abc import Sequence
from pathlib import Path

from vouch.datasets.options.building import WRONG, Asked, is_yes_no
from vouch.datasets.options.choice import key
from vouch.pipeline.errors import UserError
from vouch.tables.spreadsheets import as_it_was

FILE = "wrong-options.csv"
COLUMNS = ("id", *(f"wrong_{number}" for number in range(1, WRONG + 1)))


def built(rows: Sequence[Asked], _seed: int, folder: Path) -> list[Sequence[str]]:
    """Wrong options of each question. Raises UserError where some are missing, or no wrong ones."""
    path = folder / FILE
    written = read_written(path)
    missing = [asked.id for asked in rows if asked.id not in written and not is_yes_no(asked)]
    if missing:
        raise UserError(f"{path}: no line for {len(missing)} questions ({missing[0]!r:.80}, ...); add them")
    for asked in rows:
        spelt = [key(asked.answer), *map(key, written.get(asked.id, ()))]
        if len(set(spelt)) < len(spelt):
            raise UserError(
                f"{path}: {asked.id!r:.80}: two options are the same, or one is the answer "
                f"{asked.answer!r:.60}; correct the line"
            )
    return [written.get(asked.id, ()) for asked in rows]


def read_written(path: Path) -> dict[str, list[str]]:
    """Wrong options by id. Raises UserError, with the line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            table = csv.DictReader(lines, strict=True)
            if tuple(table.fieldnames or ()) != COLUMNS:
                raise UserError(f"{path}: its first line must be {','.join(COLUMNS)}; correct it")
            found: dict[str, list[str]] = {}
            for row in table:
                name, *cells = (as_it_was(row[column] or "") for column in COLUMNS)
                wrong = [cell.strip() for cell in cells]
                if None in row or not all(wrong) or name in found:
                    raise UserError(
                        f"{path} line {table.line_num}: must have an id of its own and {WRONG} texts; "
                        "correct it"
                    )
                found[name] = wrong
            return found
    except FileNotFoundError:
        raise UserError(
            f"{path}: no such file; write it, or have it written by `vouch review distract`"
        ) from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: not readable as CSV in UTF-8 ({error!s:.120}); correct it") from None

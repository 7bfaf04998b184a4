"""Items as others released them with their models' logits: tables without images.

source is a folder with
  items-DATASET.parquet     id, question, hint, A, B, C, ... (null if the source lacks an option),
                            answer (a letter), category or, in its place, situation (OODCV-VQA); other columns
                            are ignored
  published-DATASET.csv     dataset, model, metric, value: the authors' published numbers; may be missing
Rows keep the file's order, because the authors' calibration split is drawn over it. An item's id is the id of
its row as text, so that released logits join on it. Circular copies of a question (the same question with its
options rotated) have ids that are equal modulo `copies_modulus`.
"""

import csv
import math
from collections.abc import Iterator, Mapping
from string import ascii_uppercase
from typing import Any

from pydantic import Field

from vouch.datasets.raw import LoaderSettings, RawItem, Rejected, Unusable
from vouch.datasets.read.files import File, Row, SourceFiles, lines
from vouch.datasets.read.forms import count_rows, rows, table_columns
from vouch.pipeline.errors import UserError
from vouch.tables.results import model_slug

_NEEDED = ("id", "question", "A", "B", "answer")
CATEGORY = ("category", "situation")


class Settings(LoaderSettings):
    """dataset: its name in the file names, by default the entry's. copies_modulus: null if there are none."""

    dataset: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][\w.-]*$")
    copies_modulus: int | None = Field(default=1_000_000, gt=0)


def count(source: SourceFiles, name: str, settings: Settings) -> int:
    return count_rows(_table(source, name, settings))


def read(source: SourceFiles, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    table = _table(source, name, settings)
    columns = table_columns(table)
    letters = ascii_uppercase[: next((n for n, c in enumerate(ascii_uppercase) if c not in columns), 26)]
    row = None
    for row in rows(table, _NEEDED, ("hint", *letters[2:], *CATEGORY)):
        known = "" if row.values["id"] is None else str(row.values["id"])
        try:
            yield _item(row, letters, settings.copies_modulus)
        except Unusable as error:
            yield Rejected(row.where, known, str(error))
    if row is None:
        raise UserError(f"{table.path}: has no rows; fetch it again")


def published(source: SourceFiles, name: str, settings: Settings) -> Iterator[dict[str, Any]]:
    dataset = settings.dataset or name
    path = source.path / f"published-{dataset}.csv"
    if not path.is_file():
        return
    names: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    try:
        with path.open(encoding="utf-8", newline="") as text:
            table = csv.DictReader(lines(text, path))
            missing = {"dataset", "model", "metric", "value"} - set(table.fieldnames or ())
            if missing:
                raise UserError(f"{path}: no column {', '.join(sorted(missing))}; fetch it again")
            for row in table:
                if row["dataset"] != dataset:
                    continue
                where = f"{path} line {table.line_num}"
                number = _published(row, where, names)
                cell = (number["model"], number["metric"])
                if cell in seen:
                    raise UserError(f"{where}: duplicate {number['metric']} of {number['name']}; keep one")
                seen.add(cell)
                yield number
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: not readable as CSV in UTF-8 ({error}); fetch it again") from None


def _published(row: Mapping[str, str | None], where: str, names: dict[str, str]) -> dict[str, Any]:
    name, metric = row["model"] or "", row["metric"] or ""
    try:
        value = float(row["value"] or "")
    except ValueError:
        value = math.nan
    if not name or not metric or not math.isfinite(value):
        raise UserError(f"{where}: needs a model, a metric and a number as value; correct the line")
    slug = model_slug(name, f"{where}: model name")
    if names.setdefault(slug, name) != name:
        raise UserError(f"{where}: models {names[slug]} and {name} would both be named {slug}; rename one")
    return {"model": slug, "name": name, "metric": metric, "value": value}


def _table(source: SourceFiles, name: str, settings: Settings) -> SourceFiles:
    path = source.path / f"items-{settings.dataset or name}.parquet"
    if not path.is_file():
        raise UserError(f"{path}: no such file; correct datasets.{name}.source or .settings.dataset")
    return SourceFiles(path, (File(path.name, path, source.path),))


def _item(row: Row, letters: str, modulus: int | None) -> RawItem:
    name = row.values["id"]
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise Unusable(f"id {name!r:.40} is neither an integer nor a text")
    if modulus is not None and not isinstance(name, int):
        raise Unusable(f"id {name!r:.40} is not an integer; set settings.copies_modulus: null")
    texts = {column: row.values.get(column) for column in ("question", "hint", "answer", *letters, *CATEGORY)}
    for column, text in texts.items():
        if not isinstance(text, str | None):
            raise Unusable(f"{column} is a {type(text).__name__}, not a text")
    if (answer := texts["answer"]) not in [*letters]:
        raise Unusable(f"answer {answer!r:.40} is not one of the letters {letters[0]} to {letters[-1]}")
    return RawItem(
        id=str(name),
        where=row.where,
        question=texts["question"] or "",
        hint=texts["hint"],
        options=[texts[letter] for letter in letters],
        answers=[letters.index(str(answer))],
        category=texts["category"] or texts["situation"] or "",
        group=None if modulus is None else str(name % modulus),
    )

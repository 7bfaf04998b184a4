"""Items as others released them with their models' logits: tables without images.

source is a folder with
  items-DATASET.parquet     id, question, hint, A, B, C, ... (null where the source lacks an option),
                            answer (a letter), category, or situation in its place (OODCV-VQA); others are
                            ignored
  published-DATASET.csv     dataset, model, metric, value: what the authors printed; may be missing
Rows keep the file's order, because the authors' calibration split is drawn over it. An item's id is
the id of its row as text, so that released logits join on it. Circular copies of a question (the same
question with its options rotated) have ids that are equal modulo `copies_modulus`.
"""

import csv
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from vouch.datasets.raw import LoaderSettings, RawItem, Rejected, Unusable
from vouch.datasets.read.files import Source
from vouch.pipeline.errors import UserError
from vouch.tables.published import model_slug

_BATCH = 1024
CATEGORY = ("category", "situation")


class Settings(LoaderSettings):
    """dataset: the name in the file names, by default the entry's own. copies_modulus: null for no copies."""

    dataset: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][\w.-]*$")
    copies_modulus: int | None = Field(default=1_000_000, gt=0)


def count(source: Source, name: str, settings: Settings) -> int:
    """Rows of the table."""
    return int(_open(_items_path(source.path, name, settings), name).metadata.num_rows)


def read(source: Source, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    """One entry per row, in the order of the file."""
    path = _items_path(source.path, name, settings)
    file = _open(path, name)
    columns = file.schema_arrow.names
    letters = _option_columns(file.schema_arrow, path)
    wanted = [c for c in ("id", "question", "hint", *letters, "answer", *CATEGORY) if c in columns]
    number = 0
    try:
        for batch in file.iter_batches(batch_size=_BATCH, columns=wanted, use_threads=False):
            for row in batch.to_pylist():
                number += 1
                yield _entry(row, f"{path} row {number}", letters, settings.copies_modulus)
    except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: text that is not UTF-8
        raise UserError(f"{path}: damaged after row {number} ({error}); fetch it again") from None
    if not number:
        raise UserError(f"{path}: has no rows; fetch it again")


def published(source: Source, name: str, settings: Settings) -> Iterator[dict[str, Any]]:
    """Rows of the table of published numbers that belong to this dataset."""
    dataset = settings.dataset or name
    path = source.path / f"published-{dataset}.csv"
    if not path.is_file():
        return
    names: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            table = csv.DictReader(lines)
            missing = {"dataset", "model", "metric", "value"} - set(table.fieldnames or ())
            if missing:
                raise UserError(f"{path}: no column {', '.join(sorted(missing))}; fetch it again")
            for row in table:
                if row["dataset"] == dataset:
                    where = f"{path} line {table.line_num}"
                    found = _published(row, where, names)
                    cell = (found["model"], found["metric"])
                    if cell in seen:
                        raise UserError(
                            f"{where}: {found['name']} has {found['metric']} a second time; keep one"
                        )
                    seen.add(cell)
                    yield found
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
    slug = model_slug(name)
    if names.setdefault(slug, name) != name:
        raise UserError(f"{where}: models {names[slug]} and {name} would both be called {slug}; rename one")
    return {"model": slug, "name": name, "metric": metric, "value": value}


def _items_path(source: Path, name: str, settings: Settings) -> Path:
    return source / f"items-{settings.dataset or name}.parquet"


def _open(path: Path, name: str) -> pq.ParquetFile:
    if not path.is_file():
        raise UserError(f"{path}: no such file; correct datasets.{name}.source or .settings.dataset")
    try:
        file = pq.ParquetFile(path)
        _ = file.schema_arrow.names
        return file
    except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: a name that is not UTF-8
        raise UserError(f"{path}: not readable as parquet ({error}); fetch it again") from None


def _option_columns(schema: pa.Schema, path: Path) -> list[str]:
    """The option columns A, B, ... up to the first letter that is no column. Raises UserError."""
    missing = [column for column in ("id", "question", "A", "B", "answer") if column not in schema.names]
    if missing:
        raise UserError(f"{path}: no column {', '.join(missing)}; it has {', '.join(schema.names)[:200]}")
    letters: list[str] = []
    for letter in ascii_uppercase:
        if letter not in schema.names:
            break
        letters.append(letter)
    for column in ("question", "hint", "answer", *CATEGORY, *letters):
        kind = schema.field(column).type if column in schema.names else pa.null()
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)):
            raise UserError(f"{path}: column {column} holds {kind}, not text; write it as text")
    return letters


def _entry(row: Mapping[str, Any], where: str, letters: list[str], modulus: int | None) -> RawItem | Rejected:
    name = "" if row["id"] is None else str(row["id"])
    try:
        if isinstance(row["id"], bool) or not isinstance(row["id"], str | int):
            raise Unusable(f"id {row['id']!r:.40} is neither an integer nor a text")
        answer = row["answer"]
        if answer not in letters:
            raise Unusable(f"answer {answer!r:.40} is not one of the letters {letters[0]} to {letters[-1]}")
        return RawItem(
            id=name,
            where=where,
            question=row["question"] or "",
            hint=row.get("hint"),
            options=[row[letter] for letter in letters],
            answers=[letters.index(answer)],
            category=next((row[name] for name in CATEGORY if row.get(name)), ""),
            group=None if modulus is None else _group(row["id"], modulus),
        )
    except Unusable as error:
        return Rejected(where, name, str(error))


def _group(value: int | str, modulus: int) -> str:
    if not isinstance(value, int):
        raise Unusable(f"id {value!r:.40} is not an integer; set settings.copies_modulus: null")
    return str(value % modulus)

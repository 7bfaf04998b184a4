"""Tables of answers: one answer per row, in CSV, TSV, XLSX, parquet or JSON.

id, text     the item and its answer; answers.yaml may name other columns. A null text means no answer
model        whose answer it is, if a file holds those of several models; compared as a slug
sample       0 (or missing) for the answer that is scored; 1, 2, ... for further ones
temperature  at which these were drawn, 1 if it is missing

Other columns are ignored.
"""

import math
from pathlib import Path
from typing import Any

from vouch.models.released.logits import MAX_ROWS, id_text
from vouch.models.released.rows import READERS, Row
from vouch.models.released.samples import LogSample, sound
from vouch.pipeline.errors import UserError
from vouch.tables.results import model_slug


def table_samples(
    data: bytes, where: str, model: str, key: str | None, column: str | None
) -> list[LogSample]:
    """The answers of a model. key, column: the columns of ids and texts, `id` and `text` by default.

    Raises UserError naming file, row and id of the first problem.
    """
    key, column = key or "id", column or "text"
    samples: list[LogSample] = []
    first: dict[tuple[str, int, float], str] = {}
    models: set[str] = set()
    read = READERS.get(Path(where).suffix.lower())
    if read is None:
        raise UserError(f"{where}: a table ends in {', '.join(READERS)}; rename or convert it")
    for location, row in read(data, where):
        if row.get("model") not in (None, ""):
            models.add(slug := model_slug(str(row["model"]), f"{where} {location}: model name"))
            if slug != model:
                continue
        sample = _sample(row, location, where, key, column)
        name = (sample.name, sample.number, sample.temperature)
        if first.setdefault(name, location) != location:
            raise UserError(f"{where} {location}: id {sample.name} stands already in {first[name]}; keep one")
        samples.append(sample)
        if len(samples) > MAX_ROWS:
            raise UserError(f"{where}: more than {MAX_ROWS:,} rows; split the file")
    if not samples:
        others = f" of {model}, only of {', '.join(sorted(models)[:5])}" if models else ""
        raise UserError(f"{where}: holds no answers{others}; correct the file, or the name in params.yaml")
    return samples


def _sample(row: Row, location: str, where: str, key: str, column: str) -> LogSample:
    for name in (key, column):
        if name not in row:
            known = ", ".join(map(str, row))[:200] or "none"
            raise UserError(
                f"{where} {location}: no column {name}, it has {known}; name them in answers.yaml, e.g. "
                "`{file: answers.xlsx, form: table, key: index, text: prediction}`"
            )
    name = id_text(row[key], f"{where} {location}")
    here = f"{where} {location}: id {name}"
    text = row[column]
    if not isinstance(text, str | None):
        raise UserError(f"{here}: {column} is a {type(text).__name__}, not a text; write it in quotes")
    number = _number(row.get("sample"), 0, f"{here}: sample")
    drawn = _number(row.get("temperature"), 1, f"{here}: temperature") if number else 0.0
    if number != int(number) or (number and not drawn):
        raise UserError(
            f"{here}: sample {number:g} at temperature {drawn:g}; number them 0, 1, ..., 1 and more above 0"
        )
    if text is not None:
        sound(text, here)
    return LogSample(location, -1, name, (), text, int(number), drawn)


def _number(value: Any, default: float, what: str) -> float:
    """A cell that may be missing; at least 0."""
    if value is None or value == "":
        return default
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 <= number < 2**31:
        raise UserError(f"{what} is {str(value)[:40]!r}, not a number from 0; correct the file")
    return number

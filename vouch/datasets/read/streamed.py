"""CSV, JSON and Arrow row by row, as Hugging Face's `datasets` reads them: it fetches and keeps nothing."""

import glob
import logging
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pandas.errors import ParserWarning

from vouch.datasets.read.files import LONGEST_LINE, File, lines
from vouch.datasets.read.rows import check_columns
from vouch.pipeline.errors import UserError

_JSON = {
    "parse_agent_traces": False,
    "on_mixed_types": None,
}  # else texts beside numbers get quotes of their own
FORMS: Mapping[str, tuple[str, dict[str, Any]]] = {
    ".csv": ("csv", {"chunksize": 100, "keep_default_na": False, "index_col": False}),
    ".jsonl": ("json", _JSON),
    ".json": ("json", _JSON),
    ".arrow": ("arrow", {}),
}
"""Ending of a file -> the builder of `datasets` and its options. In CSV `None` and `NA` are options' texts,
and the first cell of a row is no row's name.

Parquet is read by `rows`: of 4,000 pictures of 100 kB `datasets` holds 514 MiB in memory, `rows` 172."""
_MAX_JSON = 1 << 28  # bytes of a JSON file, which is read whole
_LONGEST = {".csv": LONGEST_LINE, ".jsonl": LONGEST_LINE, ".json": _MAX_JSON}
_MAX_COLUMNS, _MAX_CELLS = 1000, 1 << 20  # commas in the first line of a CSV file, and in any
_KEY = re.compile(rb'"([^"\\]{1,100})"\s*:')


def streamed(file: File, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The cells of these columns, row by row; pictures as bytes and path. Raises UserError."""
    number, form = 0, FORMS[file.path.suffix.lower()][0]
    try:
        with TemporaryDirectory() as cache:
            for values in _stream(file, columns, cache):
                number += 1
                yield {column: values[column] for column in columns}
    except (UserError, GeneratorExit):
        raise
    except Exception as error:  # every builder has its own
        said = " ".join(str(error.__cause__ or error).split())
        raise UserError(
            f"{file.path}: not readable as {form} after row {number} ({said:.160}); correct the file"
        ) from None


def _stream(file: File, columns: Sequence[str], cache: str) -> Iterator[dict[str, Any]]:
    import datasets  # of all loaders this one alone needs it, and it takes seconds

    warnings.filterwarnings("error", category=ParserWarning)  # of cells that are left out
    datasets.utils.logging.set_verbosity(logging.CRITICAL)  # what it logs, it raises as well
    path = file.checked()
    ending = path.suffix.lower()
    if ending == ".json" and path.stat().st_size > _MAX_JSON:
        raise UserError(
            f"{path}: larger than {_MAX_JSON:,} bytes, which are read whole; write it as JSON lines"
        )
    if ending in _LONGEST:
        _check_lines(path)
    form, options = FORMS[ending]
    if form == "csv":
        options = {**options, "converters": dict.fromkeys(columns, str)}  # `007` is a text
    stream = datasets.load_dataset(
        form, data_files=[glob.escape(str(path))], split="train", streaming=True, cache_dir=cache, **options
    )
    if stream.features is not None:  # a builder that does not know them makes no pictures
        stream = stream.decode(False)
    for number, values in enumerate(stream):
        if number == 0:
            check_columns(file, columns, (), list(values))
        yield values


def _check_lines(path: Path) -> None:
    """Raises UserError for what pandas and pyarrow would take all memory or hours for: lines without end, and
    columns without number."""
    ending, keys = path.suffix.lower(), set[bytes]()
    with path.open("rb") as text:
        for number, line in enumerate(lines(text, path, _LONGEST[ending]), start=1):
            if ending != ".csv":
                keys.update(key[1] for key in _KEY.finditer(line))
            most = _MAX_CELLS if number > 1 and not keys else _MAX_COLUMNS
            if max(len(keys), line.count(b",") if ending == ".csv" else 0) > most:
                raise UserError(
                    f"{path} line {number}: more than {most:,} columns; leave out what is not meant"
                )

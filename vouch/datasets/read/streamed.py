"""CSV, JSON and Arrow row by row, as Hugging Face's `datasets` reads them: it fetches and keeps nothing."""

import glob
import warnings
from collections.abc import Iterator, Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import Any

from pandas.errors import ParserWarning

from vouch.datasets.read.files import File, lines
from vouch.datasets.read.rows import check_columns
from vouch.pipeline.errors import UserError

FORMS: Mapping[str, tuple[str, dict[str, Any]]] = {
    ".csv": ("csv", {"chunksize": 100, "keep_default_na": False, "index_col": False}),
    ".jsonl": ("json", {"parse_agent_traces": False}),
    ".json": ("json", {"parse_agent_traces": False}),
    ".arrow": ("arrow", {}),
}
"""Ending of a file -> the builder of `datasets` and its options. In CSV `None` and `NA` are options' texts,
and the first cell of a row is no row's name.

Parquet is read by `rows`: of 4,000 pictures of 100 kB `datasets` holds 514 MiB in memory, `rows` 172."""
_LINES = (".csv", ".jsonl")
_MAX_JSON = 1 << 28  # bytes of a JSON file, which is read whole


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
    datasets.utils.logging.set_verbosity_error()
    path = file.checked()
    ending = path.suffix.lower()
    if ending in _LINES:
        with path.open("rb") as text:
            next(
                lines(text, path), None
            )  # a first line without end is refused here; pandas would fill memory
    elif ending == ".json" and path.stat().st_size > _MAX_JSON:
        raise UserError(
            f"{path}: larger than {_MAX_JSON:,} bytes, which are read whole; write it as JSON lines"
        )
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

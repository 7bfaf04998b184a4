"""The work cache: answers looked up by the content of their prompt, outside every stage output.

A key (packs.py) covers all that can change an answer: the text and option labels of the prompt and of those
asked together with it, its images' recipes and source digests, the model's pin (which covers the dtype), the
settings of the forward pass, the REVISION of the engine and that of image operations. It covers no name of a
dataset or prompt, so a prompt that two datasets share is asked once. It never covers code, so an edited
comment repeats no work. The kernels of a CPU are recorded in the answer's `device` instead: when a key is
looked up, nobody knows yet whether a GPU will answer, and answers of a GPU keep their keys. Images enter by
the digest of their encoded bytes: a run whose answers are all known decodes none.

Answers are in small parquet files, shards, each named after the SHA-256 of its own bytes. A shard that was
cut short or damaged no longer matches its name: it is left out, and its answers are asked again. Each
dataset's run writes into a folder of its own and reads those of its siblings, so that a model's datasets can
run side by side.
"""

import hashlib
import io
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from vouch.pipeline.errors import UserError
from vouch.pipeline.files import replacing
from vouch.pipeline.locks import locked
from vouch.tables.answered import schema
from vouch.tables.asked import LETTERS, LIKELIHOOD, TEXT

if TYPE_CHECKING:
    from vouch.models.engine import Answered, Decoding

# Columns that follow from the prompt and the decoding are not kept with an answer.
_OF_PROMPT = ("prompt", "engine", "option", "bytes", "temperature", "sample")
_LISTS = {"nll": pa.list_(pa.float64()), "tokens": pa.list_(pa.int32())}  # one answer scores all options
ROOT = Path(".vouch/work")
KEY_BYTES = 32
FLUSH_ANSWERS = 256  # a killed run repeats at most this many answers
FLUSH_SECONDS = 20.0  # and, once an answer is there, at most this much time
PATIENCE_SECONDS = 12 * 3600.0
_SHARDS_HELD = 4  # decoded shards kept, for answers fetched a few at a time


class WorkCache:
    """The answers of one kind that one model gave under one engine and setting.

    folder: where new shards go; the folders beside it are read as well. fields: columns of an answer.
    excluded_devices: those whose answers count as unknown. clock: seconds, to flush by. `damaged` names the
    shards that were left out.
    """

    def __init__(
        self,
        folder: Path,
        fields: pa.Schema,
        excluded_devices: Collection[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._excluded, self._clock = folder, excluded_devices, clock
        self._schema = pa.schema([("key", pa.binary(KEY_BYTES)), *fields])
        self._index: dict[bytes, tuple[Path, int]] = {}
        self._pending: dict[bytes, Mapping[str, Any]] = {}
        self._flushed = clock()
        self._shard = lru_cache(_SHARDS_HELD)(self._whole)
        self.damaged: list[str] = []

    def __contains__(self, key: object) -> bool:
        return key in self._index or key in self._pending

    def look_up(self, wanted: Collection[bytes]) -> None:
        """Finds which of the wanted keys have an answer on disk.

        This dataset's own answer takes precedence: its responses may have been written from it.
        """
        self._index.clear()
        self.damaged.clear()
        columns = ["key", "device"] if self._excluded else ["key"]
        paths = self._folder.parent.glob("*/*.parquet")
        for path in sorted(paths, key=lambda path: (path.parent != self._folder, path)):
            table = self._read(path, columns)
            if table is None:
                self.damaged.append(path.name)
                continue
            for row, answer in enumerate(table.to_pylist()):
                if answer["key"] in wanted and answer.get("device") not in self._excluded:
                    self._index.setdefault(answer["key"], (path, row))

    def add(self, key: bytes, answer: Mapping[str, Any]) -> None:
        """Adds an answer; it is on disk after the next flush, which happens automatically."""
        if not self._pending:
            self._flushed = self._clock()
        self._pending[key] = {"key": key, **answer}
        if len(self._pending) >= FLUSH_ANSWERS or self._clock() - self._flushed >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Writes the pending answers as one shard."""
        if not self._pending:
            return
        table = pa.Table.from_pylist(list(self._pending.values()), schema=self._schema)
        sink = io.BytesIO()
        pq.write_table(table, sink, compression="zstd", store_schema=False)
        data = sink.getvalue()
        path = self._folder / f"{hashlib.sha256(data).hexdigest()}.parquet"
        with replacing(path) as temporary:
            temporary.write_bytes(data)
        self._index.update({key: (path, row) for row, key in enumerate(self._pending)})
        self._pending.clear()

    def fetch(self, keys: Sequence[bytes]) -> list[dict[str, Any]]:
        """The answers of some keys, in their order, flushed or not; each shard is read once per call.

        Raises UserError if a shard was damaged after it was looked up.
        """
        wanted: dict[Path, list[tuple[int, int]]] = {}
        answers: list[dict[str, Any]] = [{} for _ in keys]
        for index, key in enumerate(keys):
            if key in self._pending:
                answers[index] = {name: self._pending[key].get(name) for name in self._schema.names[1:]}
            else:
                path, row = self._index[key]
                wanted.setdefault(path, []).append((index, row))
        for path, wanted_rows in sorted(wanted.items()):
            table = self._shard(path)
            rows = table.take(pa.array([row for _, row in wanted_rows])).drop_columns(["key"]).to_pylist()
            for (index, _), answer in zip(wanted_rows, rows, strict=True):
                answers[index] = answer
        return answers

    def _whole(self, path: Path) -> pa.Table:
        """A shard that was looked up. Raises UserError if it was damaged since."""
        table = self._read(path)
        if table is None:
            raise UserError(f"{path}: damaged while in use; run the stage again to repeat its answers")
        return table

    def _read(self, path: Path, columns: list[str] | None = None) -> pa.Table | None:
        """Columns of a shard (all), None if it does not match its name or holds something else.

        Raises OSError if it cannot be read: answers that may still be intact are not asked again.
        """
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            if hashlib.sha256(data).hexdigest() != path.stem:
                return None
            file = pq.ParquetFile(io.BytesIO(data))
            if file.schema_arrow.names != self._schema.names:
                return None
            return file.read(columns, use_threads=False)
        except (OSError, pa.ArrowException):
            return None

    @contextmanager
    def claim(self, patience: float = PATIENCE_SECONDS) -> Iterator[None]:
        """Holds the folder, so that two runs at once do not answer the same prompts.

        A second run says that it waits, and gives up with a UserError after `patience` seconds. The
        claim of a killed run ends with its process.
        """
        line = f"{self._folder}: another run is asking this model; waiting for it"
        tell = partial(print, line, file=sys.stderr)
        with locked(self._folder / ".lock", patience, str(self._folder), "asking this model", tell):
            for leftover in self._folder.glob(".*.part"):
                leftover.unlink(missing_ok=True)
            yield


def remembered(output: str, reasoning: bool = False) -> pa.Schema:
    """Columns that the work cache keeps of an answer. reasoning: of a model that thinks."""
    fields = [field for field in schema(output, reasoning) if field.name not in _OF_PROMPT]
    if output == LIKELIHOOD:
        fields = [pa.field(field.name, _LISTS.get(field.name, field.type)) for field in fields]
    return pa.schema(fields)


def to_remember(answered: "Answered", pixels: str, device: str) -> dict[str, Any]:
    """The row of the work cache for an answer."""
    return {
        **vars(answered.answer),
        "pixels": pixels,
        "device": device,
        "mode": answered.mode,
        "rows": answered.rows,
        "flags": list(answered.flags),
    }


def refused(output: str, problem: str) -> dict[str, Any]:
    """The row for a prompt that was not asked."""
    return {**dict.fromkeys(remembered(output).names), "pixels": "", "flags": [], "problem": problem}


def rows_of(
    output: str,
    prompt: Mapping[str, Any],
    answers: Sequence[Mapping[str, Any]],
    decodings: Sequence["Decoding"],
    engine: str,
) -> Iterator[dict[str, Any]]:
    """The rows of a response table for one prompt, from its answers in the work cache."""
    same = {"prompt": prompt["id"], "engine": engine}
    if output == LETTERS:
        yield {**same, **answers[0]}
    elif output == LIKELIHOOD:
        (answer,) = answers
        for option, shown in enumerate(prompt["options"]):
            values = {name: answer[name][option] if answer[name] else None for name in _LISTS}
            yield {**same, **answer, **values, "option": option, "bytes": len(shown.encode())}
    else:
        for decoding, answer in zip(decodings, answers, strict=True):
            yield {**same, **answer, "temperature": decoding.temperature, "sample": decoding.sample}


def answers_of(
    output: str,
    prompt: Mapping[str, Any],
    rows: Iterator[Mapping[str, Any]],
    decodings: Sequence["Decoding"],
    engine: str,
    reasoning: bool = False,
) -> list[dict[str, Any]]:
    """The reverse of `rows_of`; draws as many rows as belong to the prompt.

    Raises ValueError if they are not the rows of this prompt, or another engine gave them.
    """
    count = {LETTERS: 1, LIKELIHOOD: len(prompt["options"]), TEXT: len(decodings)}[output]
    drawn = list(islice(rows, count))
    if [(row["prompt"], row["engine"]) for row in drawn] != [(prompt["id"], engine)] * count:
        raise ValueError(f"not the answers of {engine} to prompt {prompt['id']}")
    answers = [{name: row[name] for name in remembered(output, reasoning).names} for row in drawn]
    if output != LIKELIHOOD or not answers:
        return answers
    lists = {
        name: None if answers[0]["problem"] is not None else [answer[name] for answer in answers]
        for name in _LISTS
    }
    return [{**answers[0], **lists}]

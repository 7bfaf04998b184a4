"""Answers that others released, as the response tables of one model and dataset."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa

from vouch.models.released.files import INDEX, Answers, answer_files, form_of, relative
from vouch.models.released.join import join_samples, letters, likelihood_rows, text_rows
from vouch.models.released.samples import read_samples
from vouch.pipeline.errors import UserError
from vouch.tables.items import ITEMS, items_path
from vouch.tables.pins import Pin, file_digest
from vouch.tables.prompts import LETTERS, LIKELIHOOD, PROMPTS, TEXT, prompts_path
from vouch.tables.responses import RESPONSES

_OF = {"key": "logs of samples and tables", "filter": "logs of samples", "text": "tables"}


def write_released(pin: Pin, dataset: str) -> int:
    """Writes the three tables, all or none; how many rows. Logits become letters, logs of samples the others.

    A dataset that the released files do not answer gets tables without rows. Raises UserError where a file is
    not as it was pinned, or does not answer exactly the items of the dataset.
    """
    folder = Path(pin.source.path or "")
    answers = answer_files(folder, pin.model).get(dataset)
    table: pa.Table = RESPONSES[LETTERS].table.schema.empty_table()
    rows: dict[str, Iterator[dict[str, Any]]] = {}
    if answers is not None:
        data = _read(answers.path, pin.files.get(relative(answers.path, folder)), pin.model)
        table, rows = _answers(answers, data, dataset, pin.model)
    with ExitStack() as stack:
        count = int(table.num_rows)
        for output, (contract, place) in RESPONSES.items():
            schema = table.schema if output == LETTERS else contract.schema
            writer = stack.enter_context(contract.writer(place(pin.model, dataset), schema))
            if output == LETTERS:
                writer.table(table)
            for row in rows.get(output, ()):
                writer.row(row)
                count += 1
    return count


def _answers(
    answers: Answers, data: bytes, dataset: str, model: str
) -> tuple[pa.Table, dict[str, Iterator[dict[str, Any]]]]:
    """The letters table, and rows of the others by output."""
    where, form = str(answers.path), form_of(answers.path, answers.form)
    prompts = PROMPTS.read(prompts_path(dataset), ["id", "item", "variation", "options"])
    empty = RESPONSES[LETTERS].table.schema.empty_table()
    log, texts = hasattr(form, "responses"), hasattr(form, "samples")
    given = {"key": log or texts, "filter": log, "text": texts}
    for name, fits in given.items():
        if getattr(answers, name) and not fits:
            raise UserError(f"{where}: {name} is for {_OF[name]} only; leave it out of {INDEX}")
    if log or texts:
        items = ITEMS.read(items_path(dataset), ["id", "source_id"]).to_pylist()
        if log:
            samples = read_samples(data, where, form, answers.key, answers.filter)
        else:
            samples = form.samples(data, where, model, answers.key, answers.text)
        keyed = texts or answers.key is not None
        pairs = join_samples(samples, prompts.to_pylist(), items, keyed, where, dataset)
        if any(sample.choices for sample in samples):
            return empty, {LIKELIHOOD: likelihood_rows(pairs)}
        return empty, {TEXT: text_rows(pairs)}
    return letters(form.parse(data, where), prompts, empty.schema, where, dataset), {}


def _read(path: Path, digest: str | None, model: str) -> bytes:
    """The whole file. Raises UserError where it is not the one that was pinned."""
    if not path.is_file():
        raise UserError(f"{path}: no such file; restore it, or correct models.{model} in params.yaml")
    if file_digest(path) != digest:
        raise UserError(
            f"{path}: not as pinned; restore it, or pin what it holds now with "
            f"`dvc repro --force --single-item pin@{model}`"
        )
    return path.read_bytes()

"""Answers that others released, as the response tables of one model and dataset.

A row belongs to the prompt whose item has the row's id: loaders of released items use the row's id, as text,
as the item's id, so the join needs no third table. Only the variation `original` was asked.
"""

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from vouch.models.released.files import INDEX, AnswerFile, answer_files, form_of, relative
from vouch.models.released.logits import LogitRows, parse_parquet, parse_pickle
from vouch.models.released.samples import HARNESSES, LogSample, read_samples
from vouch.models.released.tables import table_samples
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import file_digest
from vouch.tables.answered import RESPONSES, Pin
from vouch.tables.asked import ITEMS, LETTERS, LIKELIHOOD, PROMPTS, TEXT, items_path, prompts_path

VARIATION = "original"
LAYOUT = 6  # logits of a row as VLM-Uncertainty-Bench releases them, A to F, however many options are shown
CONSTANT = {"engine": "released/1", "device": "released", "pixels": "", "flags": []}
"""Columns that are the same in every row of a released file."""
ABSENT = "the released file has no answer"
NAMES = ("id", "source_id")
Prompt = Mapping[str, Any]
_CALLED = {"samples": "logs of samples", "table": "tables"}
_SETTINGS = {"key": ("samples", "table"), "filter": ("samples",), "text": ("table",)}
"""Settings of answers.yaml, and the kind of file that each is for."""


def write_released(pin: Pin, dataset: str) -> int:
    """Writes the three tables, all or none; how many rows. Logits become letters, logs of samples the others.

    A dataset that the released files do not answer gets tables without rows. Raises UserError if a file is
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
        for output, (contract, path_of) in RESPONSES.items():
            schema = table.schema if output == LETTERS else contract.schema
            writer = stack.enter_context(contract.writer(path_of(pin.model, dataset), schema))
            if output == LETTERS:
                writer.table(table)
            for row in rows.get(output, ()):
                writer.row(row)
                count += 1
    return count


def _answers(
    answers: AnswerFile, data: bytes, dataset: str, model: str
) -> tuple[pa.Table, dict[str, Iterator[dict[str, Any]]]]:
    """The letters table, and the rows of the other tables by output."""
    where, (name, form) = str(answers.path), form_of(answers.path, answers.form)
    prompts = PROMPTS.read(prompts_path(dataset), ["id", "item", "variation", "options"])
    empty = RESPONSES[LETTERS].table.schema.empty_table()
    for setting, kinds in _SETTINGS.items():
        if getattr(answers, setting) and form.holds not in kinds:
            known = " and ".join(_CALLED[kind] for kind in kinds)
            raise UserError(f"{where}: {setting} is for {known} only; leave it out of {INDEX}")
    if form.holds == "logits":
        parse = parse_parquet if name == "parquet" else parse_pickle
        return letters(parse(data, where), prompts, empty.schema, where, dataset), {}
    items = ITEMS.read(items_path(dataset), ["id", "source_id"]).to_pylist()
    if form.holds == "samples":
        samples = read_samples(data, where, HARNESSES[name], answers.key, answers.filter)
    else:
        samples = table_samples(data, where, model, answers.key, answers.text)
    keyed = form.holds == "table" or answers.key is not None
    pairs = join_samples(samples, prompts.to_pylist(), items, keyed, where, dataset)
    if any(sample.choices for sample in samples):
        return empty, {LIKELIHOOD: likelihood_rows(pairs)}
    return empty, {TEXT: text_rows(pairs)}


def _read(path: Path, digest: str | None, model: str) -> bytes:
    """The whole file. Raises UserError if it is not the one that was pinned."""
    if not path.is_file():
        raise UserError(f"{path}: no such file; restore it, or correct models.{model} in params.yaml")
    if file_digest(path) != digest:
        raise UserError(
            f"{path}: not as pinned; restore it, or pin what it holds now with "
            f"`dvc repro --force --single-item pin@{model}`"
        )
    return path.read_bytes()


def letters(rows: LogitRows, prompts: pa.Table, schema: pa.Schema, where: str, dataset: str) -> pa.Table:
    """The letters table, rows in the order of the prompts, logits in the dtype of `rows`.

    prompts: columns id, item, variation, options of the prompts table. schema: of the letters table.
    Raises UserError if ids do not match, or if rows have neither as many logits as the longest prompt
    has options, nor the six of VLM-Uncertainty-Bench.
    """
    asked = asked_prompts(prompts.to_pylist(), where, dataset)
    items = [prompt["item"] for prompt in asked]
    known = set(items)
    extra = [(number, name) for number, name in enumerate(rows.ids, start=1) if name not in known]
    if extra:
        number, name = extra[0]
        raise UserError(
            f"{where} row {number}: id {name} is no item of {dataset}, like {len(extra)} of the file's "
            f"{len(rows.ids)} ids; the file must answer exactly the items"
        )
    row_of = {name: row for row, name in enumerate(rows.ids)}
    _check_whole(items, row_of, f"{where}: no logits", "file", dataset)
    size, most = rows.logits.shape[1], max(len(prompt["options"]) for prompt in asked)
    if most > size:
        name = next(prompt["item"] for prompt in asked if len(prompt["options"]) == most)
        raise UserError(
            f"{where} row {row_of[name] + 1}: id {name}: {size} logits, its prompt shows {most} "
            f"options; give {dataset} the prompt template that the model was asked with"
        )
    if size == most + 1:
        raise UserError(
            f"{where}: {size} logits per row, the prompts of {dataset} show {most} options at most; the "
            f"authors' code appends the id of the most likely token: keep the first {most} values"
        )
    if size not in (most, LAYOUT):
        raise UserError(
            f"{where}: {size} logits per row, the prompts of {dataset} show {most} options at most; give "
            f"{most}, or {LAYOUT} for A to F as VLM-Uncertainty-Bench does; or correct the template"
        )
    order = np.array([row_of[item] for item in items])
    return _table(rows.logits[order], [prompt["id"] for prompt in asked], schema)


def asked_prompts(prompts: Sequence[Mapping[str, Any]], where: str, dataset: str) -> list[Mapping[str, Any]]:
    """The prompts of the variation that others asked. Raises UserError if there are none."""
    asked = [prompt for prompt in prompts if prompt["variation"] == VARIATION]
    if not asked:
        raise UserError(
            f"{where}: {dataset} has no prompts of variation {VARIATION}; name it in params.yaml, variations"
        )
    return asked


def _check_whole(
    items: Sequence[str], answered: Container[str], problem: str, what: str, dataset: str
) -> None:
    missing = [item for item in items if item not in answered]
    if missing:
        raise UserError(
            f"{problem} for item {missing[0]} of {dataset}, like {len(missing)} of its {len(items)} items; "
            f"the {what} must answer exactly the items"
        )


def _table(logits: npt.NDArray[Any], prompts: list[str], schema: pa.Schema) -> pa.Table:
    count, size = logits.shape
    kind = pa.list_(pa.from_numpy_dtype(logits.dtype))
    offsets = pa.array(np.arange(count + 1, dtype=np.int32) * size)
    columns: dict[str, Any] = {
        "prompt": pa.array(prompts, pa.string()),
        "logits": pa.ListArray.from_arrays(offsets, pa.array(logits.ravel()), type=kind),
    }
    fields = [field.with_type(kind) if field.name == "logits" else field for field in schema]
    arrays = [
        columns.get(field.name, pa.array([CONSTANT.get(field.name)] * count, field.type)) for field in fields
    ]
    return pa.table(arrays, schema=pa.schema(fields))


def join_samples(
    samples: Sequence[LogSample],
    prompts: Sequence[Prompt],
    items: Sequence[Mapping[str, str]],
    keyed: bool,
    where: str,
    dataset: str,
) -> list[tuple[Prompt, LogSample]]:
    """Every prompt with its samples, in the order of the prompts and of the samples' numbers.

    prompts: id, item, variation, options. items: id and source_id. keyed: samples name their items.
    Raises UserError if samples (of number 0) and items do not match one to one, or if choices and
    options differ.
    """
    asked = asked_prompts(prompts, where, dataset)
    order = [prompt["item"] for prompt in asked]
    scored = [sample for sample in samples if not sample.number]
    names = _by_name(scored, items, where, dataset) if keyed else _by_doc_id(scored, order, where, dataset)
    answered = {name: [sample] for name, sample in zip(names, scored, strict=True)}
    _check_whole(order, answered, f"{where}: no sample", "log", dataset)
    if further := [sample for sample in samples if sample.number]:
        own = {sample.name: name for name, sample in zip(names, scored, strict=True)}
        for sample in sorted(further, key=lambda one: (one.temperature, one.number)):
            if sample.name not in own:
                raise UserError(f"{where} {sample.location}: {sample.name!r} has no sample 0; add it")
            answered[own[sample.name]].append(sample)
    pairs = [(prompt, sample) for prompt in asked for sample in answered[prompt["item"]]]
    for prompt, sample in pairs:
        if sample.choices and len(sample.choices) != len(prompt["options"]):
            raise UserError(
                f"{where} {sample.location}: {len(sample.choices)} choices, "
                f"prompt {prompt['id']} shows {len(prompt['options'])} options; give {dataset} a "
                "prompt template that adds none, or a log of the same options"
            )
    return pairs


def _by_doc_id(samples: Sequence[LogSample], order: Sequence[str], where: str, dataset: str) -> list[str]:
    if sorted(sample.doc_id for sample in samples) != list(range(len(order))):
        last = max(sample.doc_id for sample in samples)
        raise UserError(
            f"{where}: {len(samples)} samples up to doc_id {last}, {dataset} has {len(order)} items: their "
            "order is not known; give the log's field that names the item as key, e.g. `key: doc.id`"
        )
    return [order[sample.doc_id] for sample in samples]


def _by_name(
    samples: Sequence[LogSample], items: Sequence[Mapping[str, str]], where: str, dataset: str
) -> list[str]:
    """The item of each sample: by the one column of names in which every sample has an item of its own."""
    names = [sample.name for sample in samples]
    fitting: list[list[str]] = []
    for column in NAMES:
        count = Counter(item[column] for item in items)
        ids = {item[column]: item["id"] for item in items}
        if len(set(names)) == len(names) and all(count[name] == 1 for name in names):
            fitting.append([ids[name] for name in names])
    if not fitting:
        raise UserError(_unmatched(samples, items, where, dataset))
    for sample, *matches in zip(samples, *fitting, strict=True):
        if len(set(matches)) > 1:
            raise UserError(
                f"{where} {sample.line}: {sample.name!r} is the id of one item of {dataset} and the "
                "source_id of another; use a key that names items in one way only"
            )
    return fitting[0]


def _unmatched(
    samples: Sequence[LogSample], items: Sequence[Mapping[str, str]], where: str, dataset: str
) -> str:
    """Why no column of names fits: the first sample that names no item, several, or one named before."""
    count = Counter(name for item in items for name in {item[column] for column in NAMES})
    first: dict[str, str] = {}
    for sample in samples:
        here = f"{where} {sample.location}: names {sample.name!r}"
        if count[sample.name] != 1:
            what = f"{count[sample.name]} items" if sample.name in count else "no item"
            return f"{here}, which is {what} of {dataset}; use a key that names one item each"
        if first.setdefault(sample.name, sample.line) != sample.line:
            return f"{here}, which {first[sample.name]} names already; keep one, or use another key"
    return f"{where}: names items of {dataset} now by id, now by source_id; use a key of one kind"


def likelihood_rows(pairs: Sequence[tuple[Prompt, LogSample]]) -> Iterator[dict[str, Any]]:
    """Rows of LIKELIHOOD; the tokens of the choices are unknown, so tokens and bytes are null."""
    for prompt, sample in pairs:
        for option in range(len(prompt["options"])):
            nll = 0.0 - sample.choices[option] if sample.choices else None
            problem = None if sample.choices else ABSENT
            yield {"prompt": prompt["id"], "option": option, "nll": nll, "problem": problem, **CONSTANT}


def text_rows(pairs: Sequence[tuple[Prompt, LogSample]]) -> Iterator[dict[str, Any]]:
    """Rows of TEXT, the texts of each prompt; a missing text gets a problem instead."""
    for prompt, sample in pairs:
        own = {"prompt": prompt["id"], "temperature": sample.temperature, "sample": sample.number}
        yield own | {"text": sample.text, "problem": None if sample.text is not None else ABSENT} | CONSTANT

"""Released rows meet the prompts that they answer.

A row belongs to the prompt whose item has the row's id: loaders of released items use the row's id,
as text, as the item's id, so the join needs no third table. Only the variation `original` was asked.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from vouch.models.released.rows import Rows
from vouch.pipeline.errors import UserError

VARIATION = "original"
CONSTANT = {"engine": "released/1", "device": "released", "pixels": "", "flags": []}
"""What every row of a released file says of its making."""


def letters(rows: Rows, prompts: pa.Table, schema: pa.Schema, where: str, dataset: str) -> pa.Table:
    """The letters table, rows in the order of the prompts, logits in the dtype of `rows`.

    prompts: columns id, item, variation, options of the prompts table. schema: of the letters table.
    Raises UserError where ids do not match or a row has fewer logits than its prompt has options.
    """
    asked = asked_prompts(prompts.to_pylist(), where, dataset)
    items = [prompt["item"] for prompt in asked]
    order = _match(rows, items, where, dataset)
    _check_letters(rows, items, [len(prompt["options"]) for prompt in asked], where, dataset)
    return _table(rows.logits[order], [prompt["id"] for prompt in asked], schema)


def asked_prompts(prompts: Sequence[Mapping[str, Any]], where: str, dataset: str) -> list[Mapping[str, Any]]:
    """Those of the variation that others asked. Raises UserError where there is none."""
    asked = [prompt for prompt in prompts if prompt["variation"] == VARIATION]
    if not asked:
        raise UserError(
            f"{where}: {dataset} has no prompts of variation {VARIATION}; name it in params.yaml, variations"
        )
    return asked


def _match(rows: Rows, items: list[str], where: str, dataset: str) -> npt.NDArray[Any]:
    """For each item the number of its row."""
    known = set(items)
    extra = [(number, name) for number, name in enumerate(rows.ids, start=1) if name not in known]
    if extra:
        number, name = extra[0]
        raise UserError(
            f"{where} row {number}: id {name} is no item of {dataset}, like {len(extra)} of the file's "
            f"{len(rows.ids)} ids; the file must answer exactly the items"
        )
    place = {name: row for row, name in enumerate(rows.ids)}
    missing = [item for item in items if item not in place]
    if missing:
        raise UserError(
            f"{where}: no logits for item {missing[0]} of {dataset}, like {len(missing)} of its {len(items)} "
            "items; the file must answer exactly the items"
        )
    return np.array([place[item] for item in items])


def _check_letters(rows: Rows, items: list[str], options: list[int], where: str, dataset: str) -> None:
    size, most = rows.logits.shape[1], max(options)
    if most > size:
        name = items[options.index(most)]
        raise UserError(
            f"{where} row {rows.ids.index(name) + 1}: id {name}: {size} logits, its prompt shows {most} "
            f"options; give {dataset} the prompt template that the model was asked with"
        )
    if size == most + 1:
        raise UserError(
            f"{where}: {size} logits per row, the prompts of {dataset} show {most} options at most; the "
            f"authors' code appends the id of the most likely token: keep the first {most} values"
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

"""Outputs of stages that nobody ran: random rows in their real tables, to judge files and not numbers by."""

import functools
import random
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from vouch.pipeline.dag import is_folder
from vouch.tables.answered import Pin, Source, folder_digests, write_pin
from vouch.tables.table import Table


@functools.cache
def tables() -> list[Table]:
    """All tables of vouch/tables."""
    names = sorted(path.stem for path in (Path(__file__).parents[1] / "vouch/tables").glob("*.py"))
    found = [import_module(f"vouch.tables.{name}") for name in names]
    return [value for module in found for value in vars(module).values() if isinstance(value, Table)]


def table_of(out: Path) -> Table:
    """The table of a path: data/KIND/NAME, NAME.KIND, or KIND alone."""
    by_name = {table.name: table for table in tables()}
    return next(
        by_name[name] for name in (*reversed(out.stem.split(".")), out.parent.name) if name in by_name
    )


def write(out: Path, rows: int) -> None:
    """One output of its kind, always the same for a path. A pin is that of the trained model, if any."""
    dice, folder = random.Random(str(out)), Path("data/trained") / out.stem
    if is_folder(str(out)):
        out.mkdir(parents=True)
        for name in ("model.safetensors", "config.json", "tokenizer.json"):
            (out / name).write_text(f'{{"{name}": "{dice.random()}"}}\n')
    elif out.suffix == ".parquet":
        table = table_of(out)
        table.write(out, [{field.name: _value(field, dice) for field in table.schema} for _ in range(rows)])
    elif out.parent.name == "models" and folder.is_dir():
        source = Source(kind="folder", path=str(folder))
        write_pin(
            out, Pin(model=out.stem, engine="transformers", source=source, files=folder_digests(folder))
        )
    else:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(f'{{"value": {dice.random()}}}\n')


def _value(field: pa.Field, dice: random.Random) -> Any:
    """A random value of a column; what a prompt is asked for has few."""
    return ["letters"] if field.name == "outputs" else _of_type(field.type, dice)


def _of_type(kind: pa.DataType, dice: random.Random) -> Any:
    """A random value of an arrow type."""
    if pa.types.is_list(kind):
        return [_of_type(kind.value_type, dice) for _ in range(dice.randrange(1, 4))]
    if pa.types.is_struct(kind):
        return {field.name: _of_type(field.type, dice) for field in kind}
    if pa.types.is_binary(kind):
        return dice.randbytes(9)
    if pa.types.is_boolean(kind):
        return dice.random() < 0.5
    if pa.types.is_integer(kind):
        return dice.randrange(100)
    return dice.random() if pa.types.is_floating(kind) else f"text {dice.randrange(10**6)}"

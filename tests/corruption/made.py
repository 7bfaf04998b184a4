"""A project in which every stage has left its outputs and its receipt: a few random rows in every table."""

import random
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from vouch.models.decoder.mode_store import keep_mode
from vouch.models.requests.work_cache import ROOT, WorkCache
from vouch.pipeline.dag import Dag, is_folder, read_dag
from vouch.pipeline.digests import Digests
from vouch.pipeline.freshness import present, write_receipt
from vouch.tables.pins import Pin, Source, folder_digests, write_pin
from vouch.tables.table import Table

CHECKOUT = Path(__file__).parents[2]
ROWS = 5


def make(folder: Path) -> Dag:
    """Writes it; the present folder is `folder`."""
    for name in ("stages", "vouch", "docs", "dvc.yaml", "models.lock"):
        (folder / name).symlink_to(CHECKOUT / name)
    (folder / "params.yaml").write_bytes((CHECKOUT / "profiles/small.yaml").read_bytes())
    (folder / "decisions/rewrites").mkdir(parents=True)
    (folder / "decisions/exchange").mkdir()
    (folder / "decisions/rewrites/left.csv").write_text("question,kind,decision,text\nWhat?,ls_n,accept,\n")
    dag, dice = read_dag(), random.Random(3)
    for out in sorted(dag.maker, key=lambda out: not is_folder(out)):  # a pin names its folder's files
        write(Path(out), dice)
    cache = WorkCache(ROOT / "letters-2/engine-1/asked/left", pa.schema([("logits", pa.list_(pa.float32()))]))
    cache.add(dice.randbytes(32), {"logits": [0.5, 1.5]})
    cache.flush()
    keep_mode(ROOT / "modes/model-1.json", ("trie", {"in": "float32"}))
    digests = Digests()
    for stage in dag.stages.values():
        write_receipt(stage, present(stage, digests))
    digests.save()
    return dag


def write(out: Path, dice: random.Random) -> None:
    """One output of its kind."""
    if is_folder(str(out)):
        out.mkdir(parents=True)
        for name in ("model.safetensors", "config.json", "tokenizer.json"):
            (out / name).write_text(f'{{"{name}": "{dice.random()}"}}\n')
    elif out.suffix == ".parquet":
        table = table_of(out)
        table.write(
            out, [{field.name: value(field.type, dice) for field in table.schema} for _ in range(ROWS)]
        )
    elif out.parent == Path("data/models"):
        folder = out.with_suffix("")
        source = Source(kind="folder", path=str(folder))
        write_pin(
            out, Pin(model=out.stem, engine="transformers", source=source, files=folder_digests(folder))
        )
    else:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(f'{{"value": {dice.random()}}}\n')


def table_of(out: Path) -> Table:
    """The contract of a path: data/KIND/NAME, NAME.KIND, or KIND alone."""
    found = [import_module(f"vouch.tables.{path.stem}") for path in Path("vouch/tables").glob("*.py")]
    tables = {one.name: one for module in found for one in vars(module).values() if isinstance(one, Table)}
    return next(tables[name] for name in (*reversed(out.stem.split(".")), out.parent.name) if name in tables)


def value(kind: pa.DataType, dice: random.Random) -> Any:
    """A random value of an arrow type."""
    if pa.types.is_list(kind):
        return [value(kind.value_type, dice) for _ in range(dice.randrange(1, 4))]
    if pa.types.is_struct(kind):
        return {field.name: value(field.type, dice) for field in kind}
    if pa.types.is_binary(kind):
        return dice.randbytes(9)
    if pa.types.is_boolean(kind):
        return dice.random() < 0.5
    if pa.types.is_integer(kind):
        return dice.randrange(100)
    return dice.random() if pa.types.is_floating(kind) else f"text {dice.randrange(10**6)}"

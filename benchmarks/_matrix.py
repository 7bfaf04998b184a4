"""A checkout of the full matrix, every stage of it fresh: its outputs are simulated, in their real contracts.

Tables hold a few rows of made-up values, different in every file; folders and pins one small file. Nothing
was run: the receipts say what stages that made these files would say.
"""

from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.checkouts.checkout import Checkout
from tests.checkouts.small import small
from tools.scale import VARIATIONS
from vouch.pipeline.dag import is_folder, read_dag
from vouch.pipeline.digests import Digests
from vouch.pipeline.files import write_json
from vouch.pipeline.freshness import present, write_receipt
from vouch.pipeline.yaml12 import load
from vouch.tables import compared, distances, rankings
from vouch.tables.defects import DEFECTS
from vouch.tables.embeddings import EMBEDDINGS
from vouch.tables.images import IMAGES
from vouch.tables.items import ITEMS
from vouch.tables.label_free import LABEL_FREE
from vouch.tables.letters import LETTERS
from vouch.tables.likelihood import LIKELIHOOD
from vouch.tables.likeness import LIKENESS
from vouch.tables.metrics import METRICS
from vouch.tables.outcomes import OUTCOMES
from vouch.tables.prompts import PROMPTS
from vouch.tables.published import PUBLISHED
from vouch.tables.rejects import REJECTS
from vouch.tables.rewrites import REWRITES
from vouch.tables.table import Table
from vouch.tables.text import TEXT

ROWS = 48
_OF_COMPARE = {
    "leaderboard": compared.LEADERBOARD,
    "differences": compared.DIFFERENCES,
    "reproduced": compared.REPRODUCED,
    "variations": compared.VARIATIONS,
    "dimensions": compared.DIMENSIONS,
    "distances": distances.DISTANCES,
    "trends": distances.TRENDS,
    "rankings": rankings.RANKINGS,
    "ranked": rankings.RANKED,
}
_TABLES: Mapping[str, Table] = {
    **{f"compare/{name}": table for name, table in _OF_COMPARE.items()},
    "defects": DEFECTS,
    "embeddings": EMBEDDINGS,
    "images": IMAGES,
    "items": ITEMS,
    "likeness": LIKENESS,
    "letters": LETTERS,
    "likelihood": LIKELIHOOD,
    "metrics": METRICS,
    "outcomes": OUTCOMES,
    "prompts": PROMPTS,
    "published": PUBLISHED,
    "rejects": REJECTS,
    "rewrites": REWRITES,
    "label_free": LABEL_FREE,
    "text": TEXT,
}


def matrix(path: Path, models: int, datasets: int) -> Checkout:
    """A checkout with so many models of the hub and datasets; nothing is recorded in dvc.lock yet."""
    checkout = Checkout(path)
    locked = load(path / "models.lock")["models"]
    names = [name for name, entry in locked.items() if entry["source"]["kind"] == "hub"][:models]
    one = {"loader": "shapes", "source": "vouch/demo/scenes", "template": "kostumov"}
    one |= {"settings": {"seed": 0, "items": 100}}
    pins, sets = dict.fromkeys(names, "models.lock"), [f"set_{number:02d}" for number in range(datasets)]
    text = small(
        train=(),
        pin=pins,
        unpinned=names,
        datasets=dict.fromkeys(sets, one),
        variations=VARIATIONS,
        profile="matrix",
    )
    (path / "params.yaml").write_text(text, "utf-8")
    checkout.commit("the full matrix")
    with chdir(path):
        _simulate()
    return checkout


def _simulate() -> None:
    """Writes every output of the checkout in the working directory, and the receipts."""
    dag, digests = read_dag(), Digests()
    for stage in dag.ordered():
        for out in stage.outs:
            _write(Path(out))
        write_receipt(stage, present(stage, digests))
    digests.save()


def _write(path: Path) -> None:
    if is_folder(str(path)):
        _write(path / "index.html")
    elif path.suffix == ".parquet":
        table = _table(path)
        columns = {field.name: [_value(field, path, row) for row in range(ROWS)] for field in table.schema}
        table.write(path, pa.table(columns, schema=table.schema))
    else:
        write_json(path, {"simulated": str(path)})


def _table(path: Path) -> Table:
    """data/items/D -> items; data/responses/M/D.letters and data/scores/M.metrics -> letters, metrics."""
    parts = path.with_suffix("").relative_to("data")
    suffix = parts.suffix.removeprefix(".")
    return next(_TABLES[key] for key in (str(parts), suffix, parts.parts[0]) if key in _TABLES)


def _value(field: pa.Field, path: Path, row: int) -> Any:
    """Some value of a column, the ask of a prompt a real one."""
    if field.name == "outputs":
        return ["letters"]
    return _of_type(field.type, f"{path.stem} {field.name} {row}", row)


def _of_type(kind: pa.DataType, text: str, row: int) -> Any:
    if pa.types.is_list(kind):
        return [_of_type(kind.value_type, f"{text}, {place}", row + place) for place in range(4)]
    if pa.types.is_struct(kind):
        return {field.name: _of_type(field.type, text, row) for field in kind}
    if pa.types.is_boolean(kind):
        return row % 2 == 0
    if pa.types.is_string(kind):
        return text
    if pa.types.is_binary(kind):
        return text.encode()
    return row % 100

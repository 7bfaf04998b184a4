"""Simulated responses and tables for the tests."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from vouch.metrics.config import ScoreConfig
from vouch.metrics.metric import Figure
from vouch.metrics.responses import Responses
from vouch.pipeline.dag import read_dag
from vouch.pipeline.run import Run
from vouch.tables.answered import LETTERS, Pin, Source, pin_path, write_pin
from vouch.tables.asked import ITEMS, PROMPTS

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared/reference/vlm-uncertainty-bench"
CONFIG = ScoreConfig(alpha=0.1, calibration=0.5, seed=42, splits=20, bins=15)


def config(**changes: Any) -> ScoreConfig:
    """CONFIG with other values."""
    return ScoreConfig(**(CONFIG.model_dump() | changes))


def simulate(
    seed: int, count: int, letters: int = 6, step: float = 0.125, dtype: Any = np.float32, copies: int = 1
) -> Responses:
    """Logits on a grid of `step`, so that they tie often; `copies` rows in a row share a group.

    The last two letters stand for the options that a template adds and are never correct.
    """
    random = np.random.RandomState(seed)
    labels = random.randint(0, max(letters - 2, 1), count)
    logits = random.standard_normal((count, letters)) * 1.5
    logits[np.arange(count), labels] += 1.5
    logits = np.asfortranarray(np.round(logits / step) * step, dtype=dtype)
    answers = np.zeros((count, letters), dtype=bool, order="F")
    answers[np.arange(count), labels] = True
    roles = np.tile(np.array([*range(letters - 2), -1, -2][:letters], dtype=np.int32), (count, 1))
    full = np.full(count, letters)
    return Responses(
        logits=logits,
        answers=answers,
        roles=np.asfortranarray(roles),
        letters=full,
        options=full,
        groups=np.arange(count) // copies,
        categories=np.zeros(count, dtype=np.int64),
        noise=np.random.RandomState(seed + 1).rand(count),
        defective=np.zeros(count, dtype=bool),
    )


def labels_of(responses: Responses) -> list[int]:
    """Index of each row's only answer."""
    return [int(label) for label in responses.answers.argmax(axis=1)]


def by_name(figures: list[Figure]) -> dict[tuple[str, str], Figure]:
    """Figures by score and metric."""
    return {(figure.score, figure.metric): figure for figure in figures}


def values(figures: list[Figure]) -> dict[tuple[str, str], float]:
    """Values by score and metric."""
    return {name: figure.value for name, figure in by_name(figures).items()}


def tables(
    responses: Responses,
    variation: str = "original",
    outputs: tuple[str, ...] = ("letters",),
    categories: tuple[str, ...] = ("",),
) -> tuple[pa.Table, pa.Table, pa.Table]:
    """letters, prompts and items that join to these responses."""
    items, prompts, letters = [], [], []
    for row in range(len(responses)):
        options = int(responses.options[row])
        items.append(
            {
                "id": str(row),
                "group": f"g{responses.groups[row]:06d}",
                "category": categories[row % len(categories)],
                "flags": ["missing_option"] if responses.defective[row] else [],
            }
        )
        prompts.append(
            {
                "id": f"{row}/{variation}",
                "item": str(row),
                "variation": variation,
                "options": [f"option {k}" for k in range(options)],
                "order": responses.roles[row, :options].tolist(),
                "answers": np.flatnonzero(responses.answers[row]).tolist(),
                "outputs": outputs,
            }
        )
        logits = responses.logits[row, : responses.letters[row]].tolist()
        letters.append({"prompt": f"{row}/{variation}", "logits": logits})
    return tuple(
        pa.Table.from_pylist([dict(row) for row in rows], schema=schema)
        for rows, schema in (
            (letters, _with_dtype(responses)),
            (prompts, PROMPTS.schema),
            (items, ITEMS.schema),
        )
    )


def _with_dtype(responses: Responses) -> pa.Schema:
    kind = pa.list_(pa.from_numpy_dtype(responses.logits.dtype))
    schema = LETTERS.schema
    return schema.set(schema.get_field_index("logits"), pa.field("logits", kind))


def project_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, module: str, *keys: str, profile: str | None = None
) -> Run:
    """The run of a stage in a folder that has this project's DAG and a profile, `small` by default."""
    shutil.copy(ROOT / "dvc.yaml", folder)
    shutil.copy(ROOT / "models.lock", folder)
    (folder / "params.yaml").write_text(profile or (ROOT / "profiles/small.yaml").read_text("utf-8"), "utf-8")
    for code in ("stages", "vouch"):
        if not (folder / code).exists():
            (folder / code).symlink_to(ROOT / code)
    monkeypatch.chdir(folder)
    for model in ("tiny_a", "tiny_b"):
        source = Source(kind="folder", path=f"data/trained/{model}")
        write_pin(pin_path(model), Pin(model=model, engine="transformers", source=source, files={}))
    dag = read_dag()
    return Run(dag, dag.by_command(" ".join([f"python -m stages.{module}", *keys])), list(keys))


def replace_row(table: pa.Table, row: int, changes: Mapping[str, Any]) -> pa.Table:
    """The table with some values of one row changed."""
    rows = table.to_pylist()
    rows[row] |= changes
    return pa.Table.from_pylist(rows, schema=table.schema)

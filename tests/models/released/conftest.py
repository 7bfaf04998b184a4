"""A project folder for released answers, with prompts of a small dataset, and a way to run it there."""

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vouch.models.pins import pinned
from vouch.models.released.answers import write_released
from vouch.tables.answered import LETTERS, letters_path
from vouch.tables.asked import ITEMS, PROMPTS, items_path, prompts_path

SHARED = Path(__file__).resolve().parents[4] / "shared" / "reference"


class Project:
    """tmp_path as the repository root, with items 5, 3 and 9, whose prompts show 4, 3 and 4 options."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.rows = 0

    def prompts(self, shown: dict[str, int], *variations: str, sources: Sequence[str] = ()) -> None:
        """Writes items and prompts: item -> number of options shown; sources: source_ids, or the ids."""
        ITEMS.write(
            items_path("toy"),
            [{"id": name, "source_id": source} for name, source in zip(shown, sources or shown, strict=True)],
        )
        PROMPTS.write(
            prompts_path("toy"),
            [
                {"id": f"{name}/{variation}", "item": name, "variation": variation, "options": ["o"] * count}
                for name, count in shown.items()
                for variation in variations
            ],
        )

    def parquet(self, ids: Sequence[Any], logits: Any, kind: pa.DataType | None = None, **more: Any) -> Path:
        """Writes a released file in the parquet form."""
        column = pa.array(logits, kind or pa.list_(pa.float32()))
        path = self.root / "logits.parquet"
        pq.write_table(pa.table({"id": pa.array(ids), "logits": column, **more}), path)
        return path

    def log(self, *samples: Any, name: str = "samples.jsonl") -> Path:
        """Writes a log of samples: objects, or bytes as they stand."""
        lines = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in samples]
        path = self.root / name
        data = b"".join(line + b"\n" for line in lines)
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    def ingest(self, file: Path | str, **more: str) -> pa.Table:
        """Pins a file of answers, with more keys in its entry of answers.yaml, writes the tables, reads letters."""
        index = {"toy": {"file": Path(file).name, **more}}
        (self.root / "answers.yaml").write_text(json.dumps(index), "utf-8")
        self.rows = write_released(pinned("m", str(self.root), {}), "toy")
        return LETTERS.read(letters_path("m", "toy"))

    def written(self) -> list[str]:
        """Every file of the responses, half-written ones included."""
        return sorted(path.name for path in (self.root / "data" / "responses").rglob("*") if path.is_file())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    project = Project(tmp_path)
    project.prompts({"5": 4, "3": 3, "9": 4}, "original", "rotated")
    return project


@pytest.fixture
def rows() -> Callable[..., list[dict[str, Any]]]:
    """Rows as the authors pickle them, answering the toy prompts in another order."""

    def make(dtype: str = "f4", letters: int = 4) -> list[dict[str, Any]]:
        values = np.random.default_rng(7).normal(size=(3, letters)).astype(dtype)
        extra = {"question": "q", "hint": float("nan"), "answer": "B", "index": 241_000_000, "big": 10**6}
        return [{**extra, "id": i, "logits": row.copy()} for i, row in zip((9, 5, 3), values, strict=True)]

    return make


@pytest.fixture(scope="session")
def released() -> Path:
    """The folder of the released logits, or a skip."""
    path = SHARED / "vlm-uncertainty-bench"
    if not path.exists():
        pytest.skip("reference data vlm-uncertainty-bench is not on this machine")
    return path

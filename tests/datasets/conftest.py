"""A project folder for `prepare` and a way to run it there."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from PIL import Image

from stages.prepare import main
from vouch.pipeline.dag import Dag, Stage
from vouch.pipeline.run import Run
from vouch.tables.asked import DEFECTS, IMAGES, ITEMS, REJECTS
from vouch.tables.results import PUBLISHED

SHARED = Path(__file__).resolve().parents[3] / "shared" / "reference"
TEMPLATES = Path(__file__).resolve().parents[2] / "vouch/prompts/templates"


class Project:
    """tmp_path as the repository root, with one dataset `toy` whose source is the folder `toy`."""

    def __init__(self, root: Path) -> None:
        self.root, self.source = root, root / "toy"
        self.source.mkdir()
        (root / "vouch/prompts").mkdir(parents=True)
        (root / "vouch/prompts/templates").symlink_to(TEMPLATES)
        self.notes: dict[str, Any] = {}
        self.entry: dict[str, Any] = {}  # further keys of the dataset's entry

    def image(
        self, name: str, mode: str = "RGB", size: tuple[int, int] = (4, 3), form: str = "PNG", shade: int = 0
    ) -> bytes:
        """Writes an image below the source and returns its bytes."""
        data = io.BytesIO()
        Image.new(mode, size, shade).save(data, form)
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.getvalue())
        return data.getvalue()

    def lines(self, *lines: Any, name: str = "items.jsonl") -> Path:
        """Writes items: bytes as they are, anything else as JSON."""
        encoded = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
        path = self.source / name
        path.write_bytes(b"\n".join(encoded) + b"\n")
        return path

    def run(self, loader: str = "jsonl", source: str = "toy", **settings: Any) -> Run:
        """What the stage is given."""
        entry = {"loader": loader, "source": source, "template": "plain", "settings": settings, **self.entry}
        params = {"params.yaml": {"datasets.toy": entry}}
        stage = Stage("prepare@toy", "python -m stages.prepare toy", (), (), params)
        return Run(Dag([stage]), stage, ["toy"])

    def prepare(self, loader: str = "jsonl", source: str = "toy", **settings: Any) -> dict[str, pa.Table]:
        """Runs the stage and reads back its five tables."""
        run = self.run(loader, source, **settings)
        main(run)
        self.notes = run.notes
        return {
            table.name: table.read(Path(f"data/{table.name}/toy.parquet"))
            for table in (ITEMS, IMAGES, DEFECTS, REJECTS, PUBLISHED)
        }

    def written(self) -> list[str]:
        """Every file under data/, half-written ones included."""
        return sorted(str(path) for path in (self.root / "data").rglob("*") if path.is_file())

    def contents(self) -> dict[str, bytes]:
        """Those files' bytes."""
        return {path: Path(path).read_bytes() for path in self.written()}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """A folder of the reference data, or a skip."""

    def find(name: str) -> Path:
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"reference data {name} is not on this machine")
        return path

    return find


@pytest.fixture
def item() -> Callable[..., dict[str, Any]]:
    """A good line of items.jsonl with changes; a value of `...` removes the key."""

    def make(**changes: Any) -> dict[str, Any]:
        values = {
            "id": "q1",
            "question": "What is shown?",
            "options": ["a kite", "a hat", "a cat"],
            "answer": 1,
            "image": "one.png",
            **changes,
        }
        return {key: value for key, value in values.items() if value is not ...}

    return make

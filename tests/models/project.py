"""A small project in a temporary folder: the real dvc.yaml and stages, its own params, model and tables."""

import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from PIL import Image

from tests.models.tiny import sentence
from vouch.tables.answered import RESPONSES
from vouch.tables.asked import IMAGES, LETTERS, OUTPUTS, PROMPTS, images_path, prompts_path

ROOT = Path(__file__).parents[2]
MODEL, DATASET = "tiny", "quiz"
PARAMS = {
    "profile": "test",
    "datasets": {
        name: {
            "loader": "shapes",
            "source": "vouch/demo/scenes",
            "template": "kostumov",
            "settings": {"seed": 1, "items": 1},
        }
        for name in (DATASET, "other")
    },
    "variations": ["original"],
    "train": {},
    "helpers": {},
    "extract": {"batch": 4, "bucket": 8, "threads": 1, "device": "cpu", "max_tokens": 4},
}


class Project:
    """One project; the tests' working folder is its root."""

    def __init__(self, path: Path, model: Path) -> None:
        self.path, self.model = path, model
        self.further: dict[str, Path] = {}
        self.params: dict[str, Any] = json.loads(json.dumps(PARAMS))
        self.entry: dict[str, Any] = {"source": {"kind": "folder", "path": str(model)}}
        (path / "dvc.yaml").write_bytes((ROOT / "dvc.yaml").read_bytes())
        (path / "stages").symlink_to(ROOT / "stages")
        (path / "vouch").symlink_to(ROOT / "vouch")
        committed = yaml.safe_load((ROOT / "params.yaml").read_text("utf-8"))
        self.params.update({key: committed[key] for key in committed if key not in self.params})
        self.save()

    def save(self) -> None:
        """Writes params.yaml and models.lock."""
        entries = {MODEL: self.entry} | {
            name: {"source": {"kind": "folder", "path": str(path)}} for name, path in self.further.items()
        }
        self.params["models"] = {
            name: entry["source"].get("path", "models.lock") for name, entry in entries.items()
        }
        (self.path / "params.yaml").write_text(yaml.safe_dump(self.params), "utf-8")
        (self.path / "models.lock").write_text(yaml.safe_dump({"models": entries}), "utf-8")

    def stage(self, name: str, *keys: str) -> Any:
        """Runs a stage's main in this process; its Run, with the notes."""
        import importlib

        from vouch.pipeline.dag import read_dag
        from vouch.pipeline.run import Run

        self.save()
        dag = read_dag()
        run = Run(dag, dag.by_command(" ".join([f"python -m stages.{name}", *keys])), keys)
        importlib.import_module(f"stages.{name}").main(run)
        return run

    def pin(self) -> Any:
        return self.stage("pin", MODEL)

    def extract(self, dataset: str = DATASET) -> Any:
        return self.stage("extract", MODEL, dataset)

    def start(self, name: str, *keys: str) -> subprocess.Popen[str]:
        """Starts a stage as its command does."""
        self.save()
        return subprocess.Popen(
            [sys.executable, "-m", f"stages.{name}", *keys],
            cwd=self.path,
            env={**os.environ, "PYTHONPATH": str(self.path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ask(
        self, prompts: Iterable[Mapping[str, Any]], images: Iterable[bytes], dataset: str = DATASET
    ) -> None:
        """Writes the tables that extract reads."""
        PROMPTS.write(prompts_path(dataset), prompts)
        IMAGES.write(
            images_path(dataset), [{"digest": sha256(data).hexdigest(), "bytes": data} for data in images]
        )

    def rows(self, output: str, dataset: str = DATASET) -> list[dict[str, Any]]:
        """A response table."""
        rows: list[dict[str, Any]] = pq.read_table(RESPONSES[output].path(MODEL, dataset)).to_pylist()
        return rows

    def letters(self, dataset: str = DATASET) -> list[dict[str, Any]]:
        return self.rows(LETTERS, dataset)

    def bytes(self, dataset: str = DATASET) -> dict[str, bytes]:
        """The bytes of every response table."""
        return {output: RESPONSES[output].path(MODEL, dataset).read_bytes() for output in OUTPUTS}

    def shards(self) -> list[Path]:
        return sorted(self.path.glob(".vouch/work/**/*.parquet"))


def image(seed: int, size: tuple[int, int] = (40, 24)) -> bytes:
    """A PNG of coloured noise."""
    rng = random.Random(seed)
    image = Image.frombytes("RGB", size, rng.randbytes(3 * size[0] * size[1]))
    sink = io.BytesIO()
    image.save(sink, "PNG")
    return sink.getvalue()


def recipe(*images: bytes) -> dict[str, Any]:
    digests = [sha256(data).hexdigest() for data in images]
    return {"images": digests, "steps": []}


def prompt(
    id: str,
    text: str,
    images: Sequence[bytes] = (),
    labels: str = "ABCD",
    outputs: Sequence[str] = (LETTERS,),
    turns: Sequence[tuple[str, str]] = (),
    earlier: Sequence[Sequence[str]] = (),
    **columns: Any,
) -> dict[str, Any]:
    """A row of PROMPTS; `id` is ITEM/VARIATION or ITEM/VARIATION/NUMBER."""
    item, variation, *_ = id.split("/")
    return {
        "id": id,
        "item": item,
        "variation": variation,
        "template": "plain",
        "turns": [{"question": question, "answer": answer} for question, answer in turns],
        "text": text,
        "earlier": earlier,
        "options": [f"red {label} cat"[: 7 if index % 2 else 5] for index, label in enumerate(labels)],
        "order": list(range(len(labels))),
        "labels": list(labels),
        "answers": [0],
        "images": [recipe(image) for image in images],
        "outputs": outputs,
        **columns,
    }


def quiz(
    count: int,
    images: int = 3,
    seed: int = 0,
    outputs: Sequence[str] = (LETTERS,),
    variations: Sequence[str] = ("original",),
) -> tuple[list[dict[str, Any]], list[bytes]]:
    """Prompts of different lengths about a few images, `count` for each variation."""
    rng = random.Random(seed)
    shown = [image(index) for index in range(images)]
    prompts = [
        prompt(
            f"q{index}/{variation}",
            f"{sentence(rng, rng.randint(2, 30))} {index % 3}",
            [shown[index % images]],
            outputs=outputs,
        )
        for index in range(count)
        for variation in variations
    ]
    return prompts, shown


def letters_table(rows: Iterable[Mapping[str, Any]]) -> dict[str, pa.Table]:
    return {row["prompt"]: row["logits"] for row in rows}

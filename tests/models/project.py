"""A small project in a temporary folder: the real dvc.yaml and stages, its own params, model and tables."""

import io
import json
import os
import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from PIL import Image

from tests.models.tiny import sentence
from vouch.models.config import ExtractConfig
from vouch.models.engine import (
    ENGINES,
    Answered,
    Decoding,
    LetterAnswer,
    LikelihoodAnswer,
    Pack,
    Question,
    Refusal,
    TextAnswer,
)
from vouch.tables.answered import RESPONSES, Pin
from vouch.tables.asked import (
    EARLIER_OPTIONS,
    IMAGES,
    LETTERS,
    MODEL_PROMPTS,
    OUTPUTS,
    PROMPTS,
    images_path,
    prompts_path,
    prompts_schema,
)

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

    def ask(
        self, prompts: Iterable[Mapping[str, Any]], images: Iterable[bytes], dataset: str = DATASET
    ) -> None:
        """Writes the tables that extract reads."""
        rows = list(prompts)
        further = (any(column.name in row for row in rows) for column in (EARLIER_OPTIONS, MODEL_PROMPTS))
        schema = prompts_schema(*further)
        PROMPTS.write(prompts_path(dataset), pa.Table.from_pylist(rows, schema=schema))
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


HANGS, PACE = (
    "HANGS_AFTER",
    "SECONDS_AN_ANSWER",
)  # variables: after how many answers Quick hangs, how slow it is
BUSY: dict[str, None] = {}  # questions that it does not answer now


class Quick:
    """An engine without a model: its answers are made of the questions. It refuses long ones for good."""

    device = "cpu"

    def __init__(self) -> None:
        self.notes: dict[str, Any] = {}
        self._left, self._pace = int(os.environ.get(HANGS, "-1")), float(os.environ.get(PACE, "0"))

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        for pack in packs:
            for question in pack.questions:
                for decoding in question.decodings or (None,):
                    if self._left == 0:
                        Path("hangs").touch()
                        time.sleep(600)
                    self._left -= 1
                    time.sleep(self._pace)
                    yield Answered(question.id, self._answer(question, decoding), decoding)

    def _answer(
        self, question: Question, decoding: Decoding | None
    ) -> LetterAnswer | LikelihoodAnswer | TextAnswer | Refusal:
        said = sha256(f"{question.turns} {question.text} {decoding}".encode()).digest()
        if question.id in BUSY:
            return Refusal("busy", transient=True)
        if len(question.text.split()) > 250:
            return Refusal("too long")
        if question.labels:
            return LetterAnswer([float(byte) for byte in said[: len(question.labels)]])
        if question.options:
            nll = [float(byte) for byte in said[: len(question.options)]]
            return LikelihoodAnswer(nll, [1] * len(nll))
        return TextAnswer(said.hex()[: question.max_tokens], [-1.0] * question.max_tokens, [0.5], None)


def load(pin: Pin, config: ExtractConfig) -> Quick:
    return Quick()


QUICK = replace(ENGINES["transformers"], module=__name__)

"""embed: `python -m stages.embed NAME` writes a dataset's pictures and questions as numbers of an encoder.

Inputs   data/items/NAME.parquet, data/images/NAME.parquet, the encoder (a file, or the pin of a model)
Outputs  data/embeddings/NAME.images.parquet, data/embeddings/NAME.questions.parquet; schema-only where the
         encoder cannot encode these
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from PIL import Image

from vouch.images.pictures import decode
from vouch.models.encoders.config import Config
from vouch.models.encoders.encoder import Encoder, Vectors
from vouch.params.start import run_stage
from vouch.pipeline.errors import UserError
from vouch.pipeline.stage import Run
from vouch.tables.embeddings import EMBEDDINGS, IMAGES, QUESTIONS, embeddings_path
from vouch.tables.images import ImageStore, images_path
from vouch.tables.items import ITEMS, items_path
from vouch.tables.pins import read_pin

T = TypeVar("T")
Row = dict[str, Any]
AT_ONCE = 64
"""Batches of questions that are sorted by their length together."""


def main(run: Run) -> None:
    """Writes both tables."""
    (name,) = run.keys
    config = Config.model_validate(run.params["embed"])
    pictures, questions = _shown(items_path(name))
    encoder = _encoder(config)
    store = ImageStore(images_path(name))

    def opened(digest: str) -> Image.Image:
        try:
            return decode(store.read(digest))
        except (OSError, ValueError) as error:
            raise UserError(
                f"{images_path(name)}: image {digest[:12]} cannot be decoded ({error}); correct the dataset"
            ) from None

    rows = _rows(pictures, encoder.images, opened, encoder.name, config.batch)
    EMBEDDINGS.write(embeddings_path(name, IMAGES), run.progress(rows, len(pictures), f"embed {name}"))
    rows = _rows(questions, encoder.questions, str, encoder.name, AT_ONCE * config.batch)
    EMBEDDINGS.write(
        embeddings_path(name, QUESTIONS), ({**row, "digest": _digest(row["digest"])} for row in rows)
    )
    run.note("encoder", encoder.name)
    run.measure("encoder", encoder.notes)


def _encoder(config: Config) -> Encoder:
    if config.model is None:
        found: Encoder = import_module(f"vouch.models.encoders.{Path(config.encoder).stem}").load()
        return found
    from vouch.models.encoders.pinned import load

    return load(read_pin(Path(config.encoder)), config)


def _shown(path: Path) -> tuple[Counter[str], Counter[str]]:
    """Digests of pictures, and questions, with the number of items that have them, in the items' order."""
    pictures, questions = Counter[str](), Counter[str]()
    for batch in ITEMS.open(path).iter_batches(columns=["images", "question"], use_threads=False):
        for row in batch.to_pylist():
            pictures.update(list(dict.fromkeys(row["images"] or ())))
            questions[row["question"]] += 1
    return pictures, questions


def _rows(
    counts: Mapping[str, int],
    encode: Callable[[Sequence[T]], Vectors] | None,
    read: Callable[[str], T],
    name: str,
    size: int,
) -> Iterator[Row]:
    """Rows of EMBEDDINGS, `digest` being the key; a batch at a time is in memory."""
    if encode is None:
        return
    every = list(counts)
    for start in range(0, len(every), size):
        keys = every[start : start + size]
        for key, vector in zip(keys, encode([read(key) for key in keys]), strict=True):
            yield {"digest": key, "items": counts[key], "encoder": name, "embedding": vector.tolist()}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    run_stage("embed", main)

"""Encoders, and the rows of embeddings that they make of a dataset's distinct pictures and questions.

An encoder is a file of vouch/models/encoders or a pinned model. Rows come in the order of the items.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vouch.images.opening import decode
from vouch.models.encoders.config import Pictures
from vouch.pipeline.errors import UserError
from vouch.tables.answered import read_pin
from vouch.tables.asked import ITEMS, ImageStore, images_path, items_path

T = TypeVar("T")
Row = dict[str, Any]
Vectors = NDArray[np.float32]
ROOM = 1 << 30  # bytes of decoded pictures
AT_ONCE = 64
"""Batches of questions that are sorted by their length together."""


@dataclass(frozen=True)
class Encoder:
    """name: for the tables. images, questions: n of them -> [n, width]; None where it cannot encode these.

    notes: measures for the run record.
    """

    name: str
    images: Callable[[Sequence[Image.Image]], Vectors] | None = None
    questions: Callable[[Sequence[str]], Vectors] | None = None
    notes: dict[str, Any] = field(default_factory=dict)


def encoder_of(config: Pictures) -> Encoder:
    """The encoder that the parameters name. Raises UserError."""
    if config.model is None:
        found: Encoder = import_module(f"vouch.models.encoders.{Path(config.encoder).stem}").load()
        return found
    from vouch.models.encoders.pinned import load

    return load(read_pin(Path(config.encoder)), config)


def picture_rows(dataset: str, encoder: Encoder, batch: int) -> tuple[Iterator[Row], int]:
    """Rows of EMBEDDINGS for the pictures, a batch at a time in memory, and how many there will be."""
    store = ImageStore(images_path(dataset))

    def opened(digest: str) -> Image.Image:
        try:
            return decode(store.read(digest))
        except (OSError, ValueError) as error:
            raise UserError(
                f"{images_path(dataset)}: image {digest[:12]} cannot be decoded ({error}); "
                "correct the dataset"
            ) from None

    counts = Counter[str]()
    for row in _items(dataset, "images"):
        counts.update(list(dict.fromkeys(row["images"] or ())))
    parts = _of_room(counts, batch, store.decoded_bytes)
    return _rows(counts, encoder.images, opened, encoder.name, parts), len(counts)


def question_rows(dataset: str, encoder: Encoder, batch: int) -> Iterator[Row]:
    """Rows of EMBEDDINGS for the questions."""
    counts = Counter(row["question"] for row in _items(dataset, "question"))
    parts = _of_room(counts, AT_ONCE * batch, len)
    for row in _rows(counts, encoder.questions, str, encoder.name, parts):
        yield {**row, "digest": hashlib.sha256(row["digest"].encode()).hexdigest()}


def _items(dataset: str, column: str) -> Iterator[Row]:
    for batch in ITEMS.open(items_path(dataset)).iter_batches(columns=[column], use_threads=False):
        yield from batch.to_pylist()


def _of_room(keys: Iterable[str], size: int, weigh: Callable[[str], int]) -> Iterator[list[str]]:
    """Up to `size` keys at a time, fewer where they weigh more than ROOM together."""
    part: list[str] = []
    taken = 0
    for key in keys:
        weight = weigh(key)
        if len(part) == size or (part and taken + weight > ROOM):
            yield part
            part, taken = [], 0
        part.append(key)
        taken += weight
    if part:
        yield part


def _rows(
    counts: Mapping[str, int],
    encode: Callable[[Sequence[T]], Vectors] | None,
    read: Callable[[str], T],
    name: str,
    parts: Iterable[Sequence[str]],
) -> Iterator[Row]:
    """`digest` is the key of `counts`: how many items have it. parts: of the keys, for one pass each."""
    if encode is None:
        return
    for keys in parts:
        for key, vector in zip(keys, encode([read(key) for key in keys]), strict=True):
            yield {"digest": key, "items": counts[key], "encoder": name, "embedding": vector.tolist()}

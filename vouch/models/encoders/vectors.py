"""A dataset through an encoder: embeddings of its images and questions, similarities of its texts.

An encoder is a file of vouch/models/encoders, or a pinned model. Rows come in the order of the items. The
similarity of a model's sampled texts to its greedy text is measured token by token (F1) and by their mean
vectors (cosine).
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from PIL import Image

from vouch.images.opening import decode
from vouch.models.encoders.config import ImageEncoderConfig
from vouch.pipeline.errors import UserError
from vouch.tables import SIMILARITIES
from vouch.tables.answered import TEXT, read_pin
from vouch.tables.asked import ITEMS, ORIGINAL, PROMPTS, ImageStore, images_path, items_path, prompts_path

if TYPE_CHECKING:
    from vouch.models.encoders.pinned import TextEncoder

T = TypeVar("T")
Row = dict[str, Any]
Vectors = NDArray[np.float32]
ROOM = 1 << 30  # bytes of decoded images
AT_ONCE = 64
"""How many batches of questions are sorted by length together."""
Floats = NDArray[np.floating]
TEXTS_SUFFIX = ".text.parquet"
PROMPTS_AT_ONCE = 256
"""How many prompts' texts are encoded together, to limit the memory needed."""


@dataclass(frozen=True)
class Encoder:
    """name: for the tables. images, questions: n of them -> [n, width]; None if it cannot encode these.

    notes: measures for the run record.
    """

    name: str
    images: Callable[[Sequence[Image.Image]], Vectors] | None = None
    questions: Callable[[Sequence[str]], Vectors] | None = None
    notes: dict[str, Any] = field(default_factory=dict)


def encoder_of(config: ImageEncoderConfig) -> Encoder:
    """The encoder that the parameters name. Raises UserError."""
    if config.model is None:
        encoder: Encoder = import_module(f"vouch.models.encoders.{Path(config.encoder).stem}").load()
        return encoder
    from vouch.models.encoders.pinned import load

    return load(read_pin(Path(config.encoder)), config)


def image_rows(dataset: str, encoder: Encoder, batch: int) -> tuple[Iterator[Row], int]:
    """Rows of EMBEDDINGS for the images, a batch at a time in memory, and how many there will be."""
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
    """Up to `size` keys at a time, fewer if together they weigh more than ROOM."""
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
    """Rows of EMBEDDINGS. counts: how many items have each key (digest). parts: the keys of each pass."""
    if encode is None:
        return
    for keys in parts:
        for key, vector in zip(keys, encode([read(key) for key in keys]), strict=True):
            yield {"digest": key, "items": counts[key], "encoder": name, "embedding": vector.tolist()}


@dataclass(frozen=True)
class Sampled:
    """One prompt at one temperature. texts: the greedy one, and the samples in the order of their numbers."""

    prompt: str
    temperature: float
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    options: tuple[str, ...]


def similarities(path: Path, encoder: "TextEncoder") -> Iterator[dict[str, Any]]:
    """Rows of TEXT_SIMILARITY. path: the texts of one model and dataset."""
    dataset, model = path.parent.name, path.name.removesuffix(TEXTS_SUFFIX)
    texts = TEXT.read(path, ("prompt", "temperature", "sample", "text"))
    prompts = PROMPTS.read(prompts_path(dataset), ("id", "variation", "labels", "options"))
    prompts_sampled = sampled(texts, prompts.filter(pc.equal(prompts["variation"], ORIGINAL)))
    common = {"model": model, "dataset": dataset, "encoder": encoder.name}
    for start in range(0, len(prompts_sampled), PROMPTS_AT_ONCE):
        part = prompts_sampled[start : start + PROMPTS_AT_ONCE]
        for one, values in zip(part, _of_part(part, encoder), strict=True):
            # float32 as it is stored says 0.699999988
            at = {"prompt": one.prompt, "temperature": round(one.temperature, 6)}
            yield common | at | dict(zip(SIMILARITIES, values, strict=True))


def _of_part(part: Sequence[Sampled], encoder: "TextEncoder") -> Iterator[tuple[float, float, float]]:
    """The SIMILARITIES of each prompt."""
    expanded = [tuple(_expanded(text, one) for text in one.texts) for one in part]
    texts = sorted({text for one in [*(one.texts for one in part), *expanded] for text in one})
    vectors = dict(zip(texts, encoder.encode(texts), strict=True))

    def mean(texts: Sequence[str], measure: Callable[[Encoded, Encoded], float]) -> float:
        greedy, *samples = (vectors[text] for text in texts)
        return float(np.mean([measure(sample, greedy) for sample in samples]))

    for one, wider in zip(part, expanded, strict=True):
        yield mean(one.texts, f1), mean(wider, f1), mean(one.texts, cosine)


def sampled(texts: pa.Table, prompts: pa.Table) -> list[Sampled]:
    """The samples of the prompts, in their order; prompts without a greedy text are left out.

    texts: columns prompt, temperature, sample, text of TEXT. prompts: id, labels, options of PROMPTS.
    """
    greedy: dict[str, str] = {}
    drawn: dict[tuple[str, float], list[tuple[int, str]]] = {}
    columns = (texts[name].to_pylist() for name in ("prompt", "temperature", "sample", "text"))
    for prompt, temperature, number, text in zip(*columns, strict=True):
        if text is None:
            continue
        if temperature == 0:
            greedy[prompt] = text
        else:
            drawn.setdefault((prompt, temperature), []).append((number, text))
    temperatures = sorted({temperature for _, temperature in drawn})
    return [
        Sampled(
            row["id"],
            temperature,
            (greedy[row["id"]], *(text for _, text in sorted(drawn[row["id"], temperature]))),
            tuple(row["labels"] or ()),
            tuple(row["options"] or ()),
        )
        for row in prompts.to_pylist()
        for temperature in temperatures
        if row["id"] in greedy and (row["id"], temperature) in drawn
    ]


_LETTER = re.compile(r"\W*(\w)\W*")


def _expanded(text: str, one: Sampled) -> str:
    """An answer that is only a letter, with the text of its option."""
    letter = _LETTER.fullmatch(text)
    for label, option in zip(one.labels, one.options, strict=False):
        if letter and label.casefold() == letter[1].casefold():
            return f"{label}. {option}"
    return text


@dataclass(frozen=True)
class Encoded:
    """A text as an encoder gives it.

    tokens [t, width], each of length 1; counted [t]: whether it is one of the text's own; mean [width]: of
    all tokens as the encoder gave them, scaled to length 1.
    """

    tokens: Floats
    counted: NDArray[np.bool_]
    mean: Floats


def encoded(vectors: Floats, counted: NDArray[np.bool_]) -> Encoded:
    """An Encoded from the vectors of the tokens [t, width], as the encoder gives them."""
    return Encoded(_unit(vectors), counted, _unit(vectors.mean(axis=0)))


def f1(candidate: Encoded, reference: Encoded) -> float:
    """Harmonic mean of precision and recall, at most 1. Two texts without tokens are alike."""
    if not candidate.counted.any() or not reference.counted.any():
        return float(candidate.counted.any() == reference.counted.any())
    similarity = candidate.tokens @ reference.tokens.T
    precision = float(similarity.max(axis=1)[candidate.counted].mean(dtype=np.float64))
    recall = float(similarity.max(axis=0)[reference.counted].mean(dtype=np.float64))
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def cosine(candidate: Encoded, reference: Encoded) -> float:
    """Cosine of the texts' mean vectors, -1 ... 1."""
    return float(candidate.mean @ reference.mean)


def _unit(vectors: Floats) -> Floats:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(length, np.finfo(np.float32).tiny))

"""How similar a model's sampled texts are to its greedy text, by a text encoder."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vouch.tables.answered import TEXT
from vouch.tables.asked import ORIGINAL, PROMPTS, prompts_path
from vouch.tables.names import SIMILARITIES

if TYPE_CHECKING:
    from vouch.models.encoders.pinned import TextEncoder

Vectors = NDArray[np.floating]


@dataclass(frozen=True)
class Encoded:
    """What an encoder makes of a text.

    tokens [t, width], each of length 1; counted [t]: whether it is one of the text's own; mean [width]: of
    the tokens as the encoder gave them, all of them, of length 1.
    """

    tokens: Vectors
    counted: NDArray[np.bool_]
    mean: Vectors


def encoded(vectors: Vectors, counted: NDArray[np.bool_]) -> Encoded:
    """From the vectors of the tokens [t, width] as the encoder gives them."""
    return Encoded(_unit(vectors), counted, _unit(vectors.mean(axis=0)))


def f1(candidate: Encoded, reference: Encoded) -> float:
    """Harmonic mean of precision and recall, at most 1. Texts without tokens are like each other alone."""
    if not candidate.counted.any() or not reference.counted.any():
        return float(candidate.counted.any() == reference.counted.any())
    similarity = candidate.tokens @ reference.tokens.T
    precision = float(similarity.max(axis=1)[candidate.counted].mean(dtype=np.float64))
    recall = float(similarity.max(axis=0)[reference.counted].mean(dtype=np.float64))
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def cosine(candidate: Encoded, reference: Encoded) -> float:
    """Of the texts' mean vectors, -1 ... 1."""
    return float(candidate.mean @ reference.mean)


def _unit(vectors: Vectors) -> Vectors:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(length, np.finfo(np.float32).tiny))


_LETTER = re.compile(r"\W*(\w)\W*")


@dataclass(frozen=True)
class Sampled:
    """One prompt at one temperature: the greedy text and the samples in the order of their numbers."""

    prompt: str
    temperature: float
    text: str
    samples: tuple[str, ...]
    marks: tuple[str, ...]
    options: tuple[str, ...]

    def expanded(self) -> "Sampled":
        """The same with the option's text after an answer that is its letter alone."""
        texts = [_expanded(text, self.marks, self.options) for text in (self.text, *self.samples)]
        return Sampled(self.prompt, self.temperature, texts[0], tuple(texts[1:]), self.marks, self.options)


def sampled(texts: pa.Table, prompts: pa.Table) -> list[Sampled]:
    """What was sampled for the prompts, in their order; those without a greedy text are left out.

    texts: columns prompt, temperature, sample, text of TEXT. prompts: id, marks, options of PROMPTS.
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
            greedy[row["id"]],
            tuple(text for _, text in sorted(drawn[row["id"], temperature])),
            tuple(row["marks"] or ()),
            tuple(row["options"] or ()),
        )
        for row in prompts.to_pylist()
        for temperature in temperatures
        if row["id"] in greedy and (row["id"], temperature) in drawn
    ]


def _expanded(text: str, marks: Sequence[str], options: Sequence[str]) -> str:
    found = _LETTER.fullmatch(text)
    for mark, option in zip(marks, options, strict=False):
        if found and mark.casefold() == found[1].casefold():
            return f"{mark}. {option}"
    return text


SUFFIX = ".text.parquet"
PROMPTS_AT_ONCE = 256
"""Prompts whose texts are encoded together, so that memory stays flat."""


def similarities(path: Path, encoder: "TextEncoder") -> Iterator[dict[str, Any]]:
    """Rows of TEXT_SIMILARITY. path: the texts of one model and dataset."""
    dataset, model = path.parent.name, path.name.removesuffix(SUFFIX)
    texts = TEXT.read(path, ("prompt", "temperature", "sample", "text"))
    prompts = PROMPTS.read(prompts_path(dataset), ("id", "variation", "marks", "options"))
    found = sampled(texts, prompts.filter(pc.equal(prompts["variation"], ORIGINAL)))
    place = {"model": model, "dataset": dataset, "encoder": encoder.name}
    for start in range(0, len(found), PROMPTS_AT_ONCE):
        part = found[start : start + PROMPTS_AT_ONCE]
        for one, values in zip(part, _of_part(part, encoder), strict=True):
            # float32 as it is stored says 0.699999988
            at = {"prompt": one.prompt, "temperature": round(one.temperature, 6)}
            yield place | at | dict(zip(SIMILARITIES, values, strict=True))


def _of_part(part: Sequence[Sampled], encoder: "TextEncoder") -> Iterator[tuple[float, float, float]]:
    """SIMILARITIES of each."""
    wider = [one.expanded() for one in part]
    texts = sorted({text for one in [*part, *wider] for text in (one.text, *one.samples)})
    made = dict(zip(texts, encoder.encode(texts), strict=True))

    def mean(one: Sampled, measure: Any) -> float:
        return float(np.mean([measure(made[text], made[one.text]) for text in one.samples]))

    for one, expanded in zip(part, wider, strict=True):
        yield mean(one, f1), mean(expanded, f1), mean(one, cosine)

"""How similar a model's sampled texts are to its greedy text, by a text encoder."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from vouch.models.encoders.bertscore import cosine, f1
from vouch.models.encoders.samples import Sampled, sampled
from vouch.models.encoders.texts import TextEncoder
from vouch.tables.prompts import ORIGINAL, PROMPTS, prompts_path
from vouch.tables.text import TEXT
from vouch.tables.text_similarity import SIMILARITIES

SUFFIX = ".text.parquet"
PROMPTS_AT_ONCE = 256
"""Prompts whose texts are encoded together, so that memory stays flat."""


def similarities(path: Path, encoder: TextEncoder) -> Iterator[dict[str, Any]]:
    """Rows of TEXT_SIMILARITY. path: the texts of one model and dataset."""
    model, dataset = path.parent.name, path.name.removesuffix(SUFFIX)
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


def _of_part(part: Sequence[Sampled], encoder: TextEncoder) -> Iterator[tuple[float, float, float]]:
    """SIMILARITIES of each."""
    wider = [one.expanded() for one in part]
    texts = sorted({text for one in [*part, *wider] for text in (one.text, *one.samples)})
    made = dict(zip(texts, encoder.encode(texts), strict=True))

    def mean(one: Sampled, measure: Any) -> float:
        return float(np.mean([measure(made[text], made[one.text]) for text in one.samples]))

    for one, expanded in zip(part, wider, strict=True):
        yield mean(one, f1), mean(expanded, f1), mean(one, cosine)

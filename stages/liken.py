"""liken: `python -m stages.liken` says how like all models' samples are to their greedy texts.

Inputs  data/responses, data/prompts, the encoder (none, or the pin of a model)
Output  data/likeness.parquet; schema-only without an encoder
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from vouch.models.encoders.bertscore import cosine, f1
from vouch.models.encoders.liken_config import Config
from vouch.models.encoders.liken_encoder import TextEncoder
from vouch.models.encoders.samples import Sampled, sampled
from vouch.params.start import run_stage
from vouch.pipeline.stage import Run
from vouch.tables.likeness import LIKENESS, LIKENESS_PATH, LIKENESSES
from vouch.tables.pins import read_pin
from vouch.tables.prompts import ORIGINAL, PROMPTS, prompts_path
from vouch.tables.text import TEXT

SUFFIX = ".text.parquet"
PROMPTS_AT_ONCE = 256
"""Prompts whose texts are encoded together, so that memory stays flat."""


def main(run: Run) -> None:
    """Writes the table."""
    config = Config.model_validate(run.params["liken"])
    if config.model is None:
        LIKENESS.write(LIKENESS_PATH, [])
        return
    encoder = TextEncoder(read_pin(Path(config.encoder)), config)
    paths = sorted(path for path in run.inputs if path.name.endswith(SUFFIX))
    with LIKENESS.writer(LIKENESS_PATH) as writer:
        for path in run.progress(paths, label="liken"):
            for row in _rows(path, encoder):
                writer.row(row)
    run.note("encoder", encoder.name)
    run.measure("encoder", {"device": encoder.device})


def _rows(path: Path, encoder: TextEncoder) -> Iterator[dict[str, Any]]:
    """Rows of one model and dataset."""
    model, dataset = path.parent.name, path.name.removesuffix(SUFFIX)
    texts = TEXT.read(path, ("prompt", "temperature", "sample", "text"))
    prompts = PROMPTS.read(prompts_path(dataset), ("id", "variation", "marks", "options"))
    found = sampled(texts, prompts.filter(pc.equal(prompts["variation"], ORIGINAL)))
    place = {"model": model, "dataset": dataset, "encoder": encoder.name}
    for start in range(0, len(found), PROMPTS_AT_ONCE):
        part = found[start : start + PROMPTS_AT_ONCE]
        for one, values in zip(part, _likenesses(part, encoder), strict=True):
            # float32 as it is stored says 0.699999988
            at = {"prompt": one.prompt, "temperature": round(one.temperature, 6)}
            yield place | at | dict(zip(LIKENESSES, values, strict=True))


def _likenesses(part: Sequence[Sampled], encoder: TextEncoder) -> Iterator[tuple[float, float, float]]:
    """LIKENESSES of each."""
    wider = [one.expanded() for one in part]
    texts = sorted({text for one in [*part, *wider] for text in (one.text, *one.samples)})
    made = dict(zip(texts, encoder.encode(texts), strict=True))

    def mean(one: Sampled, measure: Any) -> float:
        return float(np.mean([measure(made[text], made[one.text]) for text in one.samples]))

    for one, expanded in zip(part, wider, strict=True):
        yield mean(one, f1), mean(expanded, f1), mean(one, cosine)


if __name__ == "__main__":
    run_stage("liken", main)

"""embed: vectors of an encoder, for all comparisons by similarity.

`python -m stages.embed DATASET`: images and questions of a dataset
Inputs   data/items/DATASET.parquet, data/images/DATASET.parquet, the encoder (a file, or the pin of a model)
Outputs  data/embeddings/DATASET.images.parquet, data/embeddings/DATASET.questions.parquet

`python -m stages.embed`: sampled texts of all models beside their greedy texts
Inputs   data/responses, data/prompts, the text encoder
Output   data/text_similarity.parquet

Without an encoder, the tables have no rows. There are two stages, so that a new model embeds no image again.
"""

from pathlib import Path

from vouch.models.encoders.config import ImageEncoderConfig, TextEncoderConfig
from vouch.models.encoders.vectors import encoder_of, image_rows, question_rows, similarities
from vouch.params.start import run_stage
from vouch.pipeline.run import Run
from vouch.tables.answered import read_pin
from vouch.tables.embedded import (
    EMBEDDINGS,
    IMAGES,
    QUESTIONS,
    TEXT_SIMILARITY,
    TEXT_SIMILARITY_PATH,
    embeddings_path,
)


def main(run: Run) -> None:
    """Embeds one dataset, or the texts of all models."""
    if not run.keys:
        _texts(run)
        return
    (name,) = run.keys
    config = ImageEncoderConfig.model_validate(run.params["embed"]["images"])
    encoder = encoder_of(config)
    rows, count = image_rows(name, encoder, config.batch)
    EMBEDDINGS.write(embeddings_path(name, IMAGES), run.progress(rows, count, f"embed {name}"))
    EMBEDDINGS.write(embeddings_path(name, QUESTIONS), question_rows(name, encoder, config.batch))
    run.note("encoder", encoder.name)
    run.measure("encoder", encoder.notes)


def _texts(run: Run) -> None:
    config = TextEncoderConfig.model_validate(run.params["embed"]["texts"])
    if config.model is None:
        TEXT_SIMILARITY.write(TEXT_SIMILARITY_PATH, [])
        return
    from vouch.models.encoders.pinned import TextEncoder

    encoder = TextEncoder(read_pin(Path(config.encoder)), config)
    paths = sorted(path for path in run.inputs if path.name.endswith(".text.parquet"))
    with TEXT_SIMILARITY.writer(TEXT_SIMILARITY_PATH) as writer:
        for path in run.progress(paths, len(paths), "embed texts"):
            for row in similarities(path, encoder):
                writer.row(row)
    run.note("encoder", encoder.name)
    run.measure("encoder", {"device": encoder.device})


if __name__ == "__main__":
    run_stage("embed", main)

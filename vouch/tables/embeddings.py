"""embeddings: what an encoder makes of the pictures and the questions of a dataset, for distances.

Two files of the same columns for each dataset, schema-only where the encoder has nothing to say:
DATASET.images.parquet, a row for each distinct picture that an item shows, and DATASET.questions.parquet, a
row for each distinct question. In the order in which the items first have them.

digest     SHA-256 of the picture's bytes, or of the question in UTF-8
items      how many items have it: how much it counts
encoder    name of the encoder; of a model its name in models.lock and the first digits of its pin's digest
embedding  [width] the encoder's numbers, not normalised; the same width in all rows

text similarity: how similar sampled texts are to the greedy text of the prompt, by a pinned text encoder.

A row for each prompt of the variation `original` and temperature that a model was sampled at; schema-only
where no encoder is named.

model, dataset, prompt
temperature           of the samples
encoder               name in models.lock and the first digits of the pin's digest
sample_bert           mean over the samples of BERTScore F1 with the greedy text, at most 1
sample_bert_expanded  the same after an answer that is an option's letter was followed by that option's text
sample_cosine         mean over the samples of the cosine of the texts' mean vectors
"""

from pathlib import Path

import pyarrow as pa

from vouch.tables.table import Table

IMAGES, QUESTIONS = "images", "questions"
EMBEDDED = (IMAGES, QUESTIONS)

EMBEDDINGS = Table(
    "embeddings",
    1,
    pa.schema(
        [
            ("digest", pa.string()),
            ("items", pa.int32()),
            ("encoder", pa.string()),
            ("embedding", pa.list_(pa.float32())),
        ]
    ),
)


def embeddings_path(dataset: str, kind: str) -> Path:
    """Where the embeddings of a dataset lie; kind: one of EMBEDDED."""
    return Path("data/embeddings") / f"{dataset}.{kind}.parquet"


SIMILARITIES = ("sample_bert", "sample_bert_expanded", "sample_cosine")

TEXT_SIMILARITY = Table(
    "text_similarity",
    1,
    pa.schema(
        [
            ("model", pa.string()),
            ("dataset", pa.string()),
            ("prompt", pa.string()),
            ("temperature", pa.float64()),
            ("encoder", pa.string()),
            *((name, pa.float64()) for name in SIMILARITIES),
        ]
    ),
)

TEXT_SIMILARITY_PATH = Path("data/text_similarity.parquet")

"""embeddings: what an encoder makes of the pictures and the questions of a dataset, for distances.

Two files of the same columns for each dataset, schema-only where the encoder has nothing to say:
DATASET.images.parquet, a row for each distinct picture that an item shows, and DATASET.questions.parquet, a
row for each distinct question. In the order in which the items first have them.

digest     SHA-256 of the picture's bytes, or of the question in UTF-8
items      how many items have it: how much it counts
encoder    name of the encoder; of a model its name in models.lock and the first digits of its pin's digest
embedding  [width] the encoder's numbers, not normalised; the same width in all rows
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

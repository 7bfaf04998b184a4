"""What encoders make of images, questions and texts: `embed` writes these tables, and compare reads them.

The text that declares a table's columns is its specification.
"""

from pathlib import Path

from vouch.tables.table import Table, columns

IMAGES, QUESTIONS = "images", "questions"
EMBEDDED = (IMAGES, QUESTIONS)

EMBEDDINGS = Table(
    "embeddings",
    1,
    columns("""
digest     string     SHA-256 of the image's bytes, or of the question in UTF-8
items      int32      how many items have it: how much it counts
encoder    string     name of the encoder; of a model its name in models.lock and the first digits of its
                      pin's digest
embedding  float32[]  [width] the encoder's numbers, not normalised; the same width in all rows
"""),
)


def embeddings_path(dataset: str, kind: str) -> Path:
    """The path of a dataset's embeddings; kind: one of EMBEDDED."""
    return Path("data/embeddings") / f"{dataset}.{kind}.parquet"


TEXT_SIMILARITY = Table(
    "text_similarity",
    1,
    columns("""
model, dataset, prompt  string
temperature           float64  of the samples
encoder               string   name in models.lock and the first digits of the pin's digest
sample_bert           float64  mean over the samples of BERTScore F1 with the greedy text, at most 1
sample_bert_expanded  float64  the same after an answer that is an option's letter was followed by that
                               option's text
sample_cosine         float64  mean over the samples of the cosine of the texts' mean vectors
"""),
)

TEXT_SIMILARITY_PATH = Path("data/text_similarity.parquet")

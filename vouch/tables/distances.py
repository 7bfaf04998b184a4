"""distances: how far datasets lie apart, and whether models are ordered less alike on datasets far apart
(figure 4 of Tu et al. 2024).

DISTANCES  one row for each pair of datasets and kind of embedding; `dataset` before `other` in the alphabet
  of              images | questions
  encoder         name of the encoder, with its pin
  dataset, other
  items, other_items   distinct pictures or questions behind it
  width           numbers in an embedding
  distance        Frechet distance of the Gaussians with the embeddings' means and covariances, every distinct
                  one counted as often as items have it; null where one of the datasets has fewer than two
  chance          what it is on average between random parts of both together, of the same sizes: so much of
                  `distance` says nothing about the datasets
  deficient       whether a dataset has no more items than `width`: then `chance` is large
TRENDS     one row for each kind and output
  of, ask
  pairs           pairs of datasets on which two models at least were ranked
  rho             Spearman's rho between distance and the correlation of the models' performance on the pair
                  (accuracy_on_the_line of RANKINGS); null where one of them is constant
  p               two-sided: pairs are not independent, so whole datasets are permuted (Mantel 1967); null for
                  fewer than three datasets
"""

from pathlib import Path

import pyarrow as pa

from vouch.tables.table import Table

DISTANCES = Table(
    "distances",
    1,
    pa.schema(
        [
            ("of", pa.string()),
            ("encoder", pa.string()),
            ("dataset", pa.string()),
            ("other", pa.string()),
            ("items", pa.int32()),
            ("other_items", pa.int32()),
            ("width", pa.int32()),
            ("distance", pa.float64()),
            ("chance", pa.float64()),
            ("deficient", pa.bool_()),
        ]
    ),
)
TRENDS = Table(
    "trends",
    2,
    pa.schema(
        [
            ("of", pa.string()),
            ("output", pa.string()),
            ("pairs", pa.int32()),
            ("rho", pa.float64()),
            ("p", pa.float64()),
        ]
    ),
)

DISTANCES_PATH = Path("data/compare/distances.parquet")
TRENDS_PATH = Path("data/compare/trends.parquet")

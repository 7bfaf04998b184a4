"""How far datasets lie apart, and whether models are ordered less alike on datasets far apart (figure 4 of Tu
et al. 2024).

DISTANCES: one row for each pair of datasets and kind of embedding; `dataset` before `other` in the alphabet.
TRENDS: one row for each kind and output.
"""

from pathlib import Path

from vouch.tables.table import Table, columns

DISTANCES = Table(
    "distances",
    1,
    columns("""
of                  string   images | questions
encoder             string   name of the encoder, with its pin
dataset, other      string
items, other_items  int32    distinct pictures or questions behind it
width               int32    numbers in an embedding
distance            float64  Frechet distance of the Gaussians with the embeddings' means and covariances,
                             every distinct one counted as often as items have it; null where one of the
                             datasets has fewer than two
chance              float64  what it is on average between random parts of both together, of the same sizes:
                             so much of `distance` says nothing about the datasets
deficient           bool     whether a dataset has no more items than `width`: then `chance` is large
"""),
)
TRENDS = Table(
    "trends",
    2,
    columns("""
of      string   images | questions
output  string
pairs   int32    pairs of datasets on which two models at least were ranked
rho     float64  Spearman's rho between distance and the correlation of the models' performance on the pair
                 (accuracy_on_the_line of RANKINGS); null where one of them is constant
p       float64  two-sided: pairs are not independent, so whole datasets are permuted (Mantel 1967); null for
                 fewer than three datasets
"""),
)

DISTANCES_PATH = Path("data/compare/distances.parquet")
TRENDS_PATH = Path("data/compare/trends.parquet")

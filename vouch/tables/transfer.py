"""transfer: what thresholds of one dataset or model are worth on another."""

from pathlib import Path

from vouch.tables.table import Table, columns

TRANSFER = Table(
    "transfer",
    1,
    columns("""
output, from_model, from_dataset, model, dataset  string
                      whose calibration half gives the threshold, and whose test half is judged by it: both
                      alike, another dataset of the same model, or another model on the same dataset
weighting             string   none | images | questions: the embeddings whose density ratio weights the rows
                               that calibrate (Tibshirani et al. 2019); of other datasets alone
coverage              float64  mean over the splits of the share of LAC sets, not filled, that hold an answer;
                               null for generated texts
low, high             float64  its 2.5 and 97.5 percentiles over the splits
set_size              float64  mean number of options in such a set
infinite              float64  share of the sets that hold every option because too little weight calibrates
effective             float64  rows that calibrate, by their weights: (sum w)^2 / sum w^2
answered, wrong       float64  share of the questions that the model answers alone by a threshold that keeps 5
                               percent wrong where it comes from, and share of these answers that is wrong;
                               null with weights, and where none is shown
items                 int64    rows of the dataset that is judged
"""),
)
TRANSFER_PATH = Path("data/compare/transfer.parquet")
NONE = "none"
"""`weighting` of thresholds as they are."""

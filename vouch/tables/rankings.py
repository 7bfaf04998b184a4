"""rankings: how well models can be ranked on a dataset without its labels (Tu et al. 2024).

RANKINGS  one row per dataset, output, ranker and proxy: how the ranker's values order the models, compared
          with their performance
  dataset, ask   what is ranked: performance of this output on this dataset, clean protocol
  ranker         an entry of vouch/metrics/ranking/rankers.py, `combined`, or `few_labels`
  score          `t0.7` for what rests on samples at that temperature, else empty
  proxy          the labelled dataset that helped; `mean` for the mean over all of them (each number by
                 itself); empty for a ranker without
  models         how many models are ranked
  rho            Spearman; null where all models are equal. rho_low, rho_high: 95 % interval over other
                 items, these models given
  p              two-sided, of rho, by all permutations of the models (up to 8) or Student's t; null for means
  p_least        the smallest p that so many models can give; null for means
  tau            Kendall, weighted: the better the models the more they count; with its interval
  tau_paper      the absolute value as the authors take it: of uncertainties that are not turned
  sd             few_labels: standard deviation of rho over the draws; null for others
RANKED    the values behind it: `value` is higher for a model that the ranker holds for better; rank 1 is the
          best, equals share it. few_labels has none, nor has `mean`
"""

from pathlib import Path

import pyarrow as pa

from vouch.tables.table import Table

MEAN = "mean"
COMBINED = "combined"
FEW_LABELS = "few_labels"

_PLACE = [
    ("dataset", pa.string()),
    ("output", pa.string()),
    ("ranker", pa.string()),
    ("score", pa.string()),
    ("proxy", pa.string()),
]
_NUMBERS = (
    *("rho", "rho_low", "rho_high", "p", "p_least"),
    *("tau", "tau_low", "tau_high", "tau_paper", "sd"),
)
RANKINGS = Table(
    "rankings",
    2,
    pa.schema([*_PLACE, ("models", pa.int32()), *((name, pa.float64()) for name in _NUMBERS)]),
)
RANKED = Table(
    "ranked",
    2,
    pa.schema(
        [
            *_PLACE,
            ("model", pa.string()),
            ("value", pa.float64()),
            ("rank", pa.int32()),
            ("performance", pa.float64()),
        ]
    ),
)

RANKINGS_PATH = Path("data/compare/rankings.parquet")
RANKED_PATH = Path("data/compare/ranked.parquet")

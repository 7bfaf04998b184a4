"""How well models can be ranked on a dataset without its labels (Tu et al. 2024).

RANKINGS: one row per dataset, output, ranker and proxy: how the ranker's values order the models, compared
with their performance.
RANKED: the values behind it. few_labels has none, nor has `mean`.
"""

from pathlib import Path

from vouch.tables.table import Table, columns

MEAN = "mean"
COMBINED = "combined"
FEW_LABELS = "few_labels"

_PLACE = """
dataset, output  string  what is ranked: performance of this output on this dataset, clean protocol
ranker           string  an entry of vouch/metrics/ranking/rankers.py, `combined`, or `few_labels`
score            string  `t0.7` for what rests on samples at that temperature, else empty
proxy            string  the labelled dataset that helped; `mean` for the mean over all of them (each number
                         by itself); empty for a ranker without
"""
RANKINGS = Table(
    "rankings",
    2,
    columns(
        _PLACE
        + """
models              int32    how many models are ranked
rho                 float64  Spearman; null where all models are equal
rho_low, rho_high   float64  its 95 % interval over other items, these models given
p                   float64  two-sided, of rho, by all permutations of the models (up to 8) or Student's t;
                             null for means
p_least             float64  the smallest p that so many models can give; null for means
tau                 float64  Kendall, weighted: the better the models the more they count
tau_low, tau_high   float64  its interval
tau_paper           float64  the absolute value as the authors take it: of uncertainties whose sign stays
sd                  float64  few_labels: standard deviation of rho over the draws; null for others
"""
    ),
)
RANKED = Table(
    "ranked",
    2,
    columns(
        _PLACE
        + """
model        string
value        float64  higher for a model that the ranker holds for better
rank         int32    1 is the best, equals share it
performance  float64
"""
    ),
)

RANKINGS_PATH = Path("data/compare/rankings.parquet")
RANKED_PATH = Path("data/compare/ranked.parquet")

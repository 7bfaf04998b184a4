"""metrics: aggregate scores of all models on one dataset, long form, always in both protocols."""

from vouch.tables.table import Table, columns, per_dataset

METRICS = Table(
    "metrics",
    3,
    columns("""
model, dataset     string
variation    string   of the prompts, see PROMPTS; empty for a mean over several, which `score` names
output       string   what was asked for (OUTPUTS of prompts): letters | likelihood | text
protocol     string   faithful (the authors' code, defects included) | clean (groups whole, repeated splits,
                      intervals)
category     string   a category of the dataset, or `all`
calibration  string   how the threshold of the prediction sets was calibrated: marginal (one threshold for
                      all), or apart for each class | category | options (number of options); empty where
                      there are no sets
alpha        float64  target miscoverage of these sets; null where there are none
score        string   nonconformity score (lac, aps), `mean` for their mean; tTEMPERATURE (`t0.7`) for what
                      rests on samples at that temperature, first_tTEMPERATURE for what rests on the first one
                      of each numbered prompt alone; for a mean over variations which ones: a family (LR, LS,
                      VR, VS), reformulation, semantic, language, vision or every_prompt; or empty where none
                      applies
metric       string   accuracy, coverage, set_size, uacc, ece, mce, dont_know_rate, none_rate, tie_rate, ...
                      (docs/statistics.md has all of them)
value        float64  the number
low, high    float64  its 95 % interval, null where there is none
items        int64    how many items the number rests on
"""),
    rows_per_group=1 << 16,  # read whole; smaller than in many groups
)
metrics_path = per_dataset("data/scores/{}.metrics.parquet")

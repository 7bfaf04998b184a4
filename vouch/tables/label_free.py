"""label_free: what models give away of themselves on each prompt of a dataset, for ranking without labels.

One row per answered prompt of the variation `original` and output that the clean protocol keeps; of a
generated text one more row for each temperature that was sampled. `performance` and `answers` rest on labels.
All else does not.
"""

from vouch.tables.table import Table, columns, per_dataset

LABEL_FREE = Table(
    "label_free",
    1,
    columns("""
model, dataset, prompt, group  string
output                  string     what was asked for (OUTPUTS of prompts): letters | likelihood | text
temperature             float64    of the samples that the row speaks of; null for the answer itself
performance             float64    how right the answer is, 0 ... 1, a tie at the top shared equally; of an
                                   open question the value of the dataset's first answer metric, which may
                                   have no largest one; null where unknown
answers                 int32[]    places of the right options; null for a generated text
probabilities           float64[]  softmax over the options as shown; null for a generated text
nll_first, nll_last, nll_min, nll_avg  float64
                                   of the tokens of the greedy text (vouch/metrics/ranking/scores.py), nats;
                                   null where unknown
ent_first, ent_last, ent_max, ent_avg  float64
                                   the same, shares of the largest possible entropy
sample_bleu, agreement  float64    of the samples at `temperature` with the greedy text (SAMPLES), 0 ... 1
"""),
)
label_free_path = per_dataset("data/scores/{}.label_free.parquet")

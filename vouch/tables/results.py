"""Tables that are computed from the answers: metrics, outcomes, label-free scores and comparisons of models.

The text that declares a table's columns is its specification. `metrics` holds aggregate numbers in long form,
always in both protocols; `outcomes` one row per model, prompt and output; `label_free` what models reveal
about themselves without labels: one row per answered original prompt and output that the clean protocol
keeps, and for a generated text one more row per sampled temperature. Only its `performance` and `answers`
depend on labels. The other tables are those of data/compare.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vouch.pipeline.errors import UserError
from vouch.tables.asked import OUTPUTS
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


UNPARSED = "unparsed"
REFUSAL = "refusal"
SEVERAL = "several"
JUDGE = "judge"
UNREAD = (UNPARSED, REFUSAL)
"""Values of `parser` for texts that give no answer at all."""

OUTCOMES = Table(
    "outcomes",
    6,
    columns("""
model, dataset, prompt, item, group, variation  string
output                    string   what was asked for (OUTPUTS of prompts): letters | likelihood | text
effect                    string   how the variation flips the answers of this prompt, of EFFECTS of prompts
parser                    string   of a generated answer: the parser (vouch/metrics/text/parsers) or answer
                                   metric (vouch/metrics/text/answers) that read it; REFUSAL where the model
                                   declined, SEVERAL where it named several options and chose none, UNPARSED
                                   where nothing could be read. JUDGE where a model as judge found the option
                                   that no rule could. Null for letters and likelihood
reason                    string   why a generated answer was read so: the rule that decided and its words, at
                                   most 120 characters; null where the parser gives none
answer                    string   what a generated answer came to, at most 500 characters: the text of the
                                   chosen option (several: joined by ` | `), else the normalised text. Null
                                   for letters and likelihood
predicted                 int32    0-based index of the option with the largest logit or likelihood (ties:
                                   lowest), or that a generated answer names; null where none or several are
                                   named, and for open questions
chosen                    int32    the same option as its index among the item's options, DONT_KNOW or
                                   NONE_OF_ABOVE for one that the template adds, whatever the order shown
                                   (ties: the lowest index, added options last)
correct                   bool     whether `predicted` is among the answers; for open questions whether the
                                   answer metric gives at least one half. What is UNPARSED, REFUSAL or SEVERAL
                                   is not correct. Null where a metric has no scale
confidence                float64  softmax probability of `predicted`; of a generated text exp(-mean NLL of
                                   its tokens), null where no token is known
entropy                   float64  of the softmax over the options, nats; null for a generated text
half                      string   calibration | test in the faithful split; null for a generated text
size_lac, size_aps        int32    size of the prediction set in the faithful split, null for calibration rows
covered_lac, covered_aps  bool     whether that set holds an answer, null for calibration rows
clean_correct             float64  like `correct` on a scale of 0 to 1, a tie at the top shared equally, an
                                   open answer as its metric grades it; null for a row that the clean protocol
                                   drops
clean_covered_lac, clean_covered_aps  float64
clean_size_lac, clean_size_aps  float64
                                   means over the clean splits in which the item was a test item; null where
                                   it never was
"""),
    rows_per_group=1 << 14,
)
outcomes_path = per_dataset("data/scores/{}.outcomes.parquet")


Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
_TEXTS = 1_000_000  # numbers for answers other than a single option start here


def contents(outcomes: pa.Table) -> Floats:
    """[rows] a number for each answer; within one call, equal answers have equal numbers: the option chosen,
    else one for the answer generated; NaN if nothing could be read. Needs chosen, answer and parser."""
    texts = floats(outcomes["answer"].combine_chunks().dictionary_encode().indices)
    unread = pc.is_in(outcomes["parser"], pa.array(UNREAD)).to_numpy()
    chosen = floats(outcomes["chosen"])
    return np.where(np.isnan(chosen), np.where(unread, np.nan, _TEXTS + texts), chosen)


def grades(outcomes: pa.Table) -> Floats:
    """[rows] 0 to 1: grade of the clean protocol, else of the faithful; NaN if neither grades. Needs both."""
    return floats(pc.coalesce(outcomes["clean_correct"], outcomes["correct"].cast(pa.float64())))


def flips(answer: Floats, original: Floats, grade: Floats, kept: Bools) -> Floats:
    """[pairs] 1 if the other prompt affected the answer as it should not, 0 if it did not, NaN if that cannot
    be said.

    answer, original: `contents` of the other and of the original prompt. grade: of the original. kept:
    whether both prompts ask for the same answer; then any other is a flip, and an unread text differs from
    everything. If they ask for opposite answers, the result is 1 if a correct answer stays the same, and
    NaN if it was wrong.
    """
    other = answer != original
    return np.where(kept, other, np.where(grade == 1, ~other, np.nan)).astype(float)


def other_spelling_scored(confidence: Floats, stored: Floats, other: Floats) -> bool:
    """Whether a model's letters were scored in their other spelling (score.other_spelling).

    confidence: [rows] that was scored. stored, other: [rows] probability of the predicted option in the
    spelling that the responses have as `logits`, and as `other_logits`; NaN without one. The spelling that
    was scored gives the confidence; params.yaml may have been edited since.
    """
    distances = np.abs(np.stack([stored, other]) - confidence)
    from_stored, from_other = distances[:, ~np.isnan(distances).any(axis=0)].sum(axis=1)
    return bool(from_other < from_stored)


def floats(values: pa.ChunkedArray | pa.Array) -> Floats:
    """[rows] float64, NaN for null."""
    return np.asarray(pc.fill_null(values.cast(pa.float64()), np.nan).to_numpy(zero_copy_only=False))


BLIND = Table(  # questions with an image that language models were asked; empty without a language model
    "blind",
    1,
    columns("""
output   string   what was asked for (OUTPUTS of prompts): letters | likelihood | text
item     string
models   int32    how many language models answered this output of the dataset
correct  int32    how many of them answer the original prompt correctly
solved   bool     whether all do: the question is `solved_blind`
chance   float64  the probability that as many guessers all answer it correctly; 0 for an open question
"""),
)
blind_path = per_dataset("data/scores/{}.blind.parquet")
SOLVED_BLIND = "solved_blind"
"""The flag of such a question, beside the flags of ITEMS."""


def solved_blind(table: pa.Table, output: str | None = None) -> frozenset[str]:
    """The items that are flagged, by rows of BLIND. output: the main request type; None for the first that
    language models were asked for."""
    asked = set(table["output"].to_pylist())
    of = output or min(asked, key=OUTPUTS.index, default="")
    own = table.filter(pc.and_(pc.equal(table["output"], of), table["solved"]))
    return frozenset(own["item"].to_pylist())


def flags_of(item: Mapping[str, Any], solved: Collection[str]) -> list[str]:
    """The flags of an item, with `solved_blind`. item: id and flags of ITEMS. solved: items that have it."""
    return [*(item["flags"] or ()), *([SOLVED_BLIND] if item["id"] in solved else [])]


LABEL_FREE = Table(
    "label_free",
    2,
    columns("""
model, dataset, prompt, group  string
output                  string     what was asked for (OUTPUTS of prompts): letters | likelihood | text
temperature             float64    of the samples that the row speaks of; null for the answer itself
performance             float64    how correct the answer is, 0 ... 1, a tie at the top shared equally; of an
                                   open question the value of the dataset's first answer metric, which may
                                   have no largest one; null where unknown
answers                 int32[]    places of the correct options; null for a generated text
probabilities           float64[]  softmax over the options as shown; null for a generated text
nll_first, nll_last, nll_min, nll_avg  float64
                                   of the tokens of the greedy text (vouch/metrics/label_free.py),
                                   nats; null where unknown
ent_first, ent_last, ent_max, ent_avg  float64
                                   the same, shares of the largest possible entropy
sample_bleu, agreement  float64    of the samples at `temperature` with the greedy text (SAMPLES), 0 ... 1
semantic_entropy        float64    of the answers in the samples at `temperature`, nats; null for the answer
                                   itself and with fewer than two samples
variation_entropy       float64    of the answers to the item's prompts of equal meaning, nats; null for
                                   samples and with fewer than two such prompts
"""),
)
label_free_path = per_dataset("data/scores/{}.label_free.parquet")


PUBLISHED = Table(
    "published",
    1,
    columns("""
model   string   slug of the model, see `model_slug`
name    string   the model's name as published
metric  string   acc, coverage_all_LAC, set_sizes_LAC, ... as the source names it
value   float64  full precision where the source has it
"""),
)
published_path = per_dataset("data/published/{}.parquet")


def model_slug(name: str, what: str = "model name") -> str:
    """The name under which a published model runs here: `llava-v1.6-vicuna-13b` -> `llava_v1_6_vicuna_13b`.

    Lower case; every run of other characters than a-z and 0-9 becomes one `_`; `m_` goes before a
    leading digit. Raises UserError if nothing is left. what: kind and source of the name, for its message.
    """
    slug = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if not slug:
        raise UserError(f"{what} {name!r:.80}: holds none of a-z and 0-9; give another name")
    return f"m_{slug}" if slug[0].isdigit() else slug


OVERALL = "overall"
"""The dimension for the mean over all dimensions."""

LEADERBOARD = Table(  # every metric of every model on one page
    "leaderboard",
    3,
    pa.schema(
        [
            *METRICS.schema,
            *columns("""
rank                 int32
rank_low, rank_high  int32  the best and worst rank that the intervals allow
"""),
        ]
    ),
    rows_per_group=METRICS.rows_per_group,
)
DIFFERENCES = Table(  # paired, between two models on the same items and output
    "differences",
    3,
    columns("""
dataset, output, first, second  string
difference  float64  of accuracy, first minus second
low, high   float64  its 95 % interval, clustered by group
p           float64
p_holm      float64  after Holm's correction over the pairs of a dataset and output; those with a blind
                     baseline, which is their second, are corrected apart
items       int64    with a blind baseline, only those with an image
"""),
)
REPRODUCED = Table(  # published numbers beside ours in both protocols, all of letters
    "reproduced",
    2,
    columns("""
dataset, model, name, metric    string
published, ours, difference     float64  ours: in the faithful protocol
clean, clean_low, clean_high    float64
"""),
)
VARIATIONS = Table(  # the effect of each variation other than `original` on a model, clean protocol
    "variations",
    4,
    columns("""
dataset, model, output, variation  string
metric      string   accuracy; confidence (mean); set_size with its score, sets calibrated anew for each
                     variation, left out if a threshold is infinite, or if the variation asks only some of
                     the questions and fewer groups than FEWEST_GROUPS (leaderboard.py); flipped, the share of
                     the items with another option chosen or another answer generated, with 0 as the
                     original's. A refusal or
                     unparsed answer equals no other. Where the variation flips the answers, `not_flipped`
                     takes its place: of the items answered correctly in the original, the share
                     whose answer stayed the same
score       string
value       float64  in the variation
original    float64  of the original, on the same items and output
difference  float64
low, high   float64  its 95 % interval, clustered by group; null where the items are too few for one
items       int64
"""),
)
DIMENSIONS = Table(  # by category, which may be that of whole datasets
    "dimensions",
    3,
    columns("""
variation, output, protocol  string
score        string   as in METRICS: empty for the answer itself, first_tTEMPERATURE for samples
dimension    string   a category, or OVERALL: means of both numbers over the dimensions
model        string
value        float64  mean accuracy over the datasets of the dimension
rank         float64
parts        int64    how many datasets or dimensions
"""),
)

DIMENSIONS_PATH = Path("data/compare/dimensions.parquet")
LEADERBOARD_PATH = Path("data/compare/leaderboard.parquet")
DIFFERENCES_PATH = Path("data/compare/differences.parquet")
REPRODUCED_PATH = Path("data/compare/reproduced.parquet")
VARIATIONS_PATH = Path("data/compare/variations.parquet")


MEAN = "mean"
COMBINED = "combined"
FEW_LABELS = "few_labels"

_PLACE = """
dataset, output  string  what is ranked: performance of this output on this dataset, clean protocol
ranker           string  an entry of vouch/metrics/comparison/rankers.py, `combined`, or `few_labels`
score            string  `t0.7` for what rests on samples at that temperature, else empty
proxy            string  the labelled dataset that helped; `mean` for the mean over all of them (each number
                         by itself); empty for a ranker without
"""
RANKINGS = Table(
    "rankings",
    3,
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
tau_paper           float64  as the authors take it: of an uncertainty, whose sign stays, the absolute value
sd                  float64  few_labels: standard deviation of rho over the draws; null for others
labels              int32    few_labels: how many items are labelled; null for others
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


TRANSFER = Table(
    "transfer",
    2,
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
threshold             float64  confidence from which a model answers alone, with at most 5 percent wrong where
                               it comes from: shown for that model and dataset by themselves, not for all at
                               once; null with weights, and where none is shown
answered, wrong       float64  share of the questions that the model answers alone from there on, and share of
                               these answers that is wrong; null where `threshold` is
items                 int64    rows of the dataset that is judged
"""),
)
TRANSFER_PATH = Path("data/compare/transfer.parquet")
NONE = "none"
"""`weighting` of thresholds that are used without weights."""


DISTANCES = Table(
    "distances",
    1,
    columns("""
of                  string   images | questions
encoder             string   name of the encoder, with its pin
dataset, other      string
items, other_items  int32    distinct images or questions behind it
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

"""Which models have no rank on a dataset: their scores do not reflect their answers, or they gave none.

letters   most prompts have a letter mass below one half (LOW_MASS): the model answers in another form. Both
          bounds are majorities; neither is tuned
text      more than a tenth of the texts are undecided: no parser reads them, or they name several options. Of
          the texts that a judge decided, the share that it may have misread counts as undecided, by people's
          decisions: 1 minus the lower end of its sensitivity or specificity, all if there are no decisions

An undecided text counts as wrong, so the true accuracy lies between `accuracy` and `accuracy` plus
`undecided_rate`. Above a tenth that range is wider than most differences between models.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.metric import CLEAN, SHARE, declare
from vouch.metrics.responses import Bools
from vouch.tables.asked import LETTERS, ORIGINAL, OUTPUTS, TEXT

UNANSWERED = "unanswered"
LETTER_MASS, LOW_MASS_RATE = "letter_mass", "low_mass_rate"
declare(
    LETTER_MASS,
    "Letter mass",
    "mean share of the first token's probability that lies on option letters",
    better="higher",
    unit=SHARE,
    source="Wiegreffe et al. 2023, probability mass on answer choices",
    detail="in both spellings (`A`, ` A`; digits often follow a space, which counts as answered)",
)
declare(
    LOW_MASS_RATE,
    "Low letter mass",
    "share of the prompts where an answer more probably begins with something else than a letter",
    better="lower",
    unit=SHARE,
    source="after Wang et al. 2024, first tokens that are no letter",
    detail="of the prompts where it is known, unanswered ones included; released logits have neither",
)
MOSTLY = 0.5
"""Share of the prompts with low letter mass above which a model answers in another form."""
UNDECIDED_RATE = "undecided_rate"
JUDGED_RATE, ACCURACY_RULES = "judged_rate", "accuracy_rules"
"""For a model as judge: the share of the texts that it decided, and the accuracy without it."""
SENSITIVITY, SPECIFICITY, OPTIONS = "judge_sensitivity", "judge_specificity", "options"
"""A judge measured by people's decisions; OPTIONS: the score of both for questions with options."""
_SHARES = {  # of all texts; the lower the better
    "unparsed_rate": ("Unparsed", "texts in which no answer is found"),
    "refusal_rate": ("Refused", "texts that decline to answer"),
    "several_rate": ("Several", "texts that name several options and choose none"),
    UNDECIDED_RATE: ("Undecided", "texts in which no answer is found or that name several options"),
}
for _name, (_label, _help) in _SHARES.items():
    declare(_name, _label, _help, better="lower", unit=SHARE, ranked=_name == "unparsed_rate")
declare(
    JUDGED_RATE,
    "Judged",
    "texts that no rule could decide and in which the judge found an option",
    unit=SHARE,
)
declare(
    ACCURACY_RULES,
    "Accuracy without the judge",
    "what no rule could decide counts as wrong",
    better="higher",
    unit=SHARE,
)
READING = ("unparsed_rate", "refusal_rate", "several_rate")
"""Shares of texts without a single answer; those of the first and the last count as undecided."""
WORTH_SAYING = 0.02
"""Share of undecided texts above which their accuracy is given with its bounds."""
OF_JUDGE = {(JUDGED_RATE, ""), (SENSITIVITY, OPTIONS), (SPECIFICITY, OPTIONS)}
LIMITS = {LETTERS: (LOW_MASS_RATE, MOSTLY), TEXT: (UNDECIDED_RATE, 0.1)}
"""By output: a metric, and the value that it must not exceed."""
OF_GATE = frozenset([metric for metric, _ in (*LIMITS.values(), *OF_JUDGE)])
"""Metrics that `unranked` needs."""

Place = tuple[str, str, str]
"""Model, dataset and output."""


def unranked(metrics: Iterable[Mapping[str, Any]]) -> frozenset[Place]:
    """Model, dataset and output that pass a limit, by rows of METRICS: clean protocol, all categories.

    For a dataset without original prompts, the first variation by name replaces them.
    """
    by_place: dict[Place, dict[tuple[bool, str], dict[str, Mapping[str, Any]]]] = {}
    for row in metrics:
        output, metric = row["output"], row["metric"]
        of_judge = output == TEXT and (metric, row["score"]) in OF_JUDGE
        limited = output in LIMITS and metric == LIMITS[output][0]
        if (of_judge or limited) and (row["protocol"], row["category"]) == (CLEAN, "all"):
            place, variation = (row["model"], row["dataset"], output), row["variation"]
            rows = by_place.setdefault(place, {}).setdefault((variation != ORIGINAL, variation), {})
            rows[metric] = row
    firsts = {place: of[min(of)] for place, of in by_place.items()}
    return frozenset(
        place for place, rows in firsts.items() if away_rate(rows, place[2]) > LIMITS[place[2]][1]
    )


def unanswered_places(metrics: Iterable[Mapping[str, Any]]) -> frozenset[Place]:
    """Model, dataset and output without a single answer, by rows of METRICS named UNANSWERED."""
    least: dict[Place, float] = {}
    for row in metrics:
        if (row["metric"], row["protocol"], row["category"]) == (UNANSWERED, CLEAN, "all"):
            place = row["model"], row["dataset"], row["output"]
            least[place] = min(least.get(place, 1.0), row["value"])
    return frozenset(place for place, value in least.items() if value == 1)


def outputs_of(places: Iterable[Place], unanswered: Collection[Place] = ()) -> dict[str, tuple[str, ...]]:
    """By dataset, its request types, first the main one, which headlines use: the first of OUTPUTS in which
    at least two models have answers, so that they can be compared; else the first in which one has.

    unanswered: places without an answer. Request types in which no model has one are left out, unless no
    other is there.
    """
    counts: dict[str, Counter[str]] = {}
    for place in frozenset(places):
        counts.setdefault(place[1], Counter())[place[2]] += place not in unanswered
    outputs = {}
    for dataset, of in counts.items():
        kept = sorted((output for output in of if of[output] or not any(of.values())), key=OUTPUTS.index)
        main = next((output for output in kept if of[output] > 1), kept[0])
        outputs[dataset] = (main, *(output for output in kept if output != main))
    return outputs


def away_rate(rows: Mapping[str, Mapping[str, Any]], output: str) -> float:
    """The rate that an output's limit bounds, plus what a judge may have misread. rows: METRICS by metric."""
    metric, _ = LIMITS[output]
    rate = float(rows[metric]["value"]) if metric in rows else 0.0
    if JUDGED_RATE in rows:
        lows = [rows[name]["low"] if name in rows else None for name in (SENSITIVITY, SPECIFICITY)]
        rate += float(rows[JUDGED_RATE]["value"]) * (1 - min(low or 0.0 for low in lows))
    return rate


def unranked_in(metrics: pa.Table) -> frozenset[Place]:
    """`unranked` for a whole table."""
    rates = pa.array(sorted(OF_GATE))
    return unranked(metrics.filter(pc.is_in(metrics["metric"], rates)).to_pylist())


def comparable(table: pa.Table, away: Collection[Place]) -> Bools:
    """[n] which rows may compare models: those of a model that has a rank for this dataset and output."""
    places = pc.binary_join_element_wise(*(table[name] for name in ("model", "dataset", "output")), "\0")
    return ~np.asarray(pc.is_in(places, pa.array(["\0".join(place) for place in away], pa.string())))

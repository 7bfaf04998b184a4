"""Who has no rank on a dataset, for what was scored is not what the model answers: the gate of all claims.

letters   most of the prompts have low letter mass: it answers in another form (letter_mass.py)
text      more than a tenth of the texts are undecided: no parser reads them, or they name several options

An undecided text counts as wrong, so the true accuracy lies between `accuracy` and that plus
`undecided_rate`. Above a tenth that span is wider than most differences between models.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.letter_mass import LOW_MASS_RATE, MOSTLY
from vouch.metrics.protocols import CLEAN
from vouch.metrics.responses import Bools
from vouch.tables.prompts import LETTERS, ORIGINAL, TEXT

UNDECIDED_RATE = "undecided_rate"
JUDGED_RATE, ACCURACY_RULES = "judged_rate", "accuracy_rules"
"""Of a model as judge: the share of the texts that it decided, and the accuracy without it."""
READING = ("unparsed_rate", "refusal_rate", "several_rate")
"""What became of the texts without one answer; the first and the last of them are undecided."""
WORTH_SAYING = 0.02
"""Share of undecided texts above which their accuracy is given with its bounds."""
LIMITS = {LETTERS: (LOW_MASS_RATE, MOSTLY), TEXT: (UNDECIDED_RATE, 0.1)}
"""By output the metric that must not be larger."""

Place = tuple[str, str, str]
"""Model, dataset and output."""


def unranked(metrics: Iterable[Mapping[str, Any]]) -> frozenset[Place]:
    """Where a limit is passed, by rows of METRICS: clean protocol, all categories.

    Of a dataset without original prompts the first variation by name stands for them.
    """
    rates: dict[Place, tuple[bool, str, float]] = {}
    for row in metrics:
        output = row["output"]
        if output in LIMITS and (row["metric"], row["protocol"], row["category"]) == (
            *(LIMITS[output][0], CLEAN, "all"),
        ):
            found = (row["variation"] != ORIGINAL, row["variation"], row["value"])
            place = (row["model"], row["dataset"], output)
            rates[place] = min(found, rates.get(place, found))
    return frozenset(place for place, (*_, rate) in rates.items() if rate > LIMITS[place[2]][1])


def unranked_in(metrics: pa.Table) -> frozenset[Place]:
    """The same of a whole table."""
    rates = pa.array([metric for metric, _ in LIMITS.values()])
    return unranked(metrics.filter(pc.is_in(metrics["metric"], rates)).to_pylist())


def comparable(table: pa.Table, away: Collection[Place]) -> Bools:
    """[n] by which rows models may be compared: not those of an output of which they are away."""
    places = pc.binary_join_element_wise(*(table[name] for name in ("model", "dataset", "output")), "\0")
    return ~np.asarray(pc.is_in(places, pa.array(["\0".join(place) for place in away], pa.string())))

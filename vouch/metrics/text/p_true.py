"""P(true): the probability that a model gives to its own answer being true (Kadavath et al. 2022).

p(True) / (p(True) + p(False)) by the logits of their letters, mean over the orders in which they were shown.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.calibration.probabilities import softmax
from vouch.tables.prompts import OWN

TRUE = 0
"""Place of True among the options of variation p_true, as `order` of the prompts table counts."""


def apart(letters: pa.Table, prompts: pa.Table) -> tuple[pa.Table, pa.Table, dict[str, float]]:
    """Letters and prompts without those that ask about the model's own answers, and P(true) by item.

    An item has one where each of its prompts has an answer.
    """
    own = prompts.filter(pc.equal(prompts["effect"], OWN))
    if not own.num_rows:
        return letters, prompts, {}
    said = pc.is_in(letters["prompt"], own["id"].combine_chunks())
    answers = {row["prompt"]: row["logits"] for row in letters.filter(said).to_pylist()}
    others = prompts.filter(pc.not_equal(prompts["effect"], OWN))
    return letters.filter(pc.invert(said)), others, _by_item(own, answers)


def _by_item(own: pa.Table, answers: Mapping[str, list[float] | None]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for row in own.select(["id", "item", "order"]).to_pylist():
        share, logits = np.nan, (answers.get(row["id"]) or ())[:2]
        if max(logits, default=-np.inf) > -np.inf:
            share = float(softmax(np.array([logits]))[0, row["order"].index(TRUE)])
        found.setdefault(row["item"], []).append(share)
    means = {item: float(np.mean(shares)) for item, shares in found.items()}
    return {item: mean for item, mean in means.items() if not np.isnan(mean)}

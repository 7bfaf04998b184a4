"""Two models on the same prompts, in numbers: what `vouch compare` shows and gives as JSON."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy.stats import binomtest

from vouch.cli.leaderboard import Cells, small
from vouch.metrics.comparison.config import Config
from vouch.metrics.comparison.differences import differences
from vouch.metrics.comparison.resampling import holm, intervals, means
from vouch.metrics.comparison.variations import GRAIN
from vouch.report.numbers import minimum_detectable_effect
from vouch.tables.prompts import ORIGINAL, OUTPUTS

SCORES = ("lac", "aps")
_SIDE = (("accuracy", ""), ("coverage", "lac"), ("set_size", "lac"), ("set_size", "aps"), ("ece", ""))
Row = Mapping[str, Any]


def oriented(rows: Iterable[Row], first: str, second: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Rows of DIFFERENCES between two models by (dataset, output), as first minus second."""
    found = {}
    for row in rows:
        if {row["first"], row["second"]} != {first, second}:
            continue
        own = dict(row)
        if row["first"] != first:
            own |= {"first": first, "second": second, "difference": 0.0 - row["difference"]}
            low, high = row["low"], row["high"]
            own |= {"low": None if high is None else 0.0 - high, "high": None if low is None else 0.0 - low}
        found[row["dataset"], row["output"]] = own
    return found


def corrected(rows: Sequence[Row], every: Cells) -> list[dict[str, Any]]:
    """Rows of DIFFERENCES with the p of the report: of the first output of each dataset, corrected over all
    datasets that are large enough. every: cells of all models; `claims`: comparisons that count together."""
    few = small(every)
    firsts: dict[str, str] = {}
    for dataset, _, output, _ in every:
        firsts[dataset] = min(firsts.get(dataset, output), output, key=OUTPUTS.index)
    counted = [row["dataset"] not in few and firsts.get(row["dataset"]) == row["output"] for row in rows]
    p = holm([row["p"] if counts_too else None for row, counts_too in zip(rows, counted, strict=True)])
    claims = sum(each is not None for each in p)
    return [
        dict(row) | ({"p_holm": each, "claims": claims} if each is not None else {})
        for row, each in zip(rows, p, strict=True)
    ]


def differences_in(outcomes: pa.Table, config: Config) -> list[dict[str, Any]]:
    """Rows of DIFFERENCES for the one variation that the outcomes hold; the stage makes those of original."""
    place = outcomes.schema.get_field_index("variation")
    renamed = pa.array([ORIGINAL] * outcomes.num_rows, pa.string())
    return differences(outcomes.set_column(place, "variation", renamed), config.seed, config.resamples)


def pairs(
    first: pa.Table, second: pa.Table, found: Cells, gaps: Mapping[tuple[str, str], Row], config: Config
) -> list[dict[str, Any]]:
    """One entry for each dataset and output that both models have, as JSON has it.

    first, second: outcomes of the models, of one variation. found: cells of both. gaps: `oriented`, of which
    those of datasets that are too small lose their p.
    """
    few = small(found)
    names = (first["model"][0].as_py(), second["model"][0].as_py())
    entries = []
    for place in sorted({line[:3] for line in found}, key=lambda one: (one[0], OUTPUTS.index(one[2]))):
        sides = [found.get((*place, name)) for name in names]
        if sides[0] is None or sides[1] is None:
            continue
        dataset, variation, output = place
        both = joined(first, second, dataset, output)
        gap = gaps.get((dataset, output), {})
        if dataset in few:
            gap = {**gap, "p": None, "p_holm": None}
        claims = gap.get("claims", 1)
        entries.append(
            {
                "dataset": dataset,
                "variation": variation,
                "output": output,
                "items": len(both),
                "first": _side(sides[0]),
                "second": _side(sides[1]),
                "accuracy": {key: gap.get(key) for key in ("difference", "low", "high", "p", "p_holm")},
                "too_small": few.get(dataset, ""),
                "minimum_detectable_effect": None
                if dataset in few
                else minimum_detectable_effect(gap.get("low"), gap.get("high"), claims),
                "counts": counts(both),
                "set_size": {
                    score: size_gap(both, f"clean_size_{score}", config)
                    if all(("set_size", score) in side for side in (sides[0], sides[1]))
                    else dict.fromkeys(("difference", "low", "high"))
                    for score in SCORES
                },
            }
        )
    return entries


def _side(of: Mapping[tuple[str, str], Row]) -> dict[str, dict[str, float | None]]:
    return {
        f"{metric}_{score}" if score else metric: {
            key: of.get((metric, score), {}).get(key) for key in ("value", "low", "high")
        }
        for metric, score in _SIDE
    }


def joined(first: pa.Table, second: pa.Table, dataset: str, output: str) -> pd.DataFrame:
    """Rows of the prompts that both models answered and that the clean protocol keeps; `_b` is the second."""

    def own(outcomes: pa.Table) -> pd.DataFrame:
        here = pc.and_(pc.equal(outcomes["dataset"], dataset), pc.equal(outcomes["output"], output))
        frame: pd.DataFrame = outcomes.filter(
            pc.and_(here, pc.is_valid(outcomes["clean_correct"]))
        ).to_pandas()
        return frame

    return own(first).merge(own(second), on="prompt", suffixes=("", "_b")).sort_values(["group", "prompt"])


def counts(both: pd.DataFrame) -> dict[str, float] | None:
    """How many prompts which of the models has right, and McNemar's exact p (1947, binomial), which takes
    copies of a question for independent; None for answers that are neither right nor wrong."""
    if both.empty or both["correct"].isna().any() or both["correct_b"].isna().any():
        return None
    first, second = both["correct"].to_numpy(bool), both["correct_b"].to_numpy(bool)
    only = int((first & ~second).sum()), int((~first & second).sum())
    return {
        "both": int((first & second).sum()),
        "first_only": only[0],
        "second_only": only[1],
        "neither": int((~first & ~second).sum()),
        "mcnemar_p": float(binomtest(min(only), sum(only)).pvalue) if sum(only) else 1.0,
    }


def size_gap(both: pd.DataFrame, column: str, config: Config) -> dict[str, float | None]:
    """Mean difference of set sizes over items that both have sets for; bootstrap over whole groups, with
    the thresholds as they are."""
    gaps = both[column] - both[f"{column}_b"]
    known = gaps.notna().to_numpy()
    if not known.any():
        return {"difference": None, "low": None, "high": None}
    codes, groups = pd.factorize(both["group"][known], sort=True)
    units = np.rint(GRAIN * gaps.to_numpy()[known])
    sums = np.bincount(codes, units, len(groups)).astype(float)[:, None]
    numbers = np.bincount(codes, minlength=len(groups)).astype(float)[:, None]
    largest = GRAIN * max(1, both.loc[known, [column, f"{column}_b"]].to_numpy().max() - 1)
    ends = intervals(sums, numbers, config.seed, config.resamples, largest)
    low, high = (float(bound[0] / GRAIN) for bound in ends)
    bounds = {"low": None, "high": None} if math.isnan(low) else {"low": low, "high": high}
    return {"difference": float(means(sums, numbers)[0] / GRAIN), **bounds}


def by_category(rows: Sequence[Row], first: str, second: str) -> list[dict[str, Any]]:
    """Accuracy by category, clean protocol, the largest difference first. rows: of LEADERBOARD."""
    places: dict[tuple[str, str, str], dict[str, Row]] = {}
    for row in rows:
        accuracy = row["metric"] == "accuracy" and row["protocol"] == "clean" and row["value"] is not None
        if accuracy and row["category"] != "all":
            places.setdefault((row["dataset"], row["output"], row["category"]), {})[row["model"]] = row
    entries = [
        {
            "dataset": dataset,
            "output": output,
            "category": category,
            "first": of[first]["value"],
            "second": of[second]["value"],
            "difference": of[first]["value"] - of[second]["value"],
            "items": min(of[first]["items"], of[second]["items"]),
        }
        for (dataset, output, category), of in places.items()
        if of.keys() >= {first, second}
    ]
    return sorted(entries, key=lambda each: (-abs(each["difference"]), each["dataset"], each["category"]))

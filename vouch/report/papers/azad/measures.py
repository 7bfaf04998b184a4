"""The datasets, scores and measures of Azad et al. 2025."""

from collections.abc import Sequence

import pandas as pd

from vouch.report.reproduce.entry import Absent
from vouch.report.reproduce.lookup import KEYS, Better, Lookup, Measure, own

DATASETS = {
    "ai2d": "AI2D",
    "scienceqa": "ScienceQA",
    "mathvision": "MathVision",
    "worldmedqa_v": "WorldMedQA-V",
    "mmmu": "MMMU",
    "mmmu_pro": "MMMU-Pro",
}
SCORES = {"lac": "LAC", "margin": "MS", "aps": "APS"}
ACCURACY = Measure("Acc", "accuracy", better="high")


def _of_scores(metric: str, scale: float, better: Better) -> tuple[Measure, ...]:
    """The metric of each score; the margin score is no part of the faithful protocol."""
    return tuple(
        Measure(label, metric, score, scale=scale, better=better, only="clean" if score == "margin" else "")
        for score, label in SCORES.items()
    )


SIZES = _of_scores("set_size", 1, "low")
COVERAGES = _of_scores("coverage", 100, "")


def scored(lookup: Lookup, measures: Sequence[Measure]) -> dict[str, Measure]:
    """Those of the scores' measures that were computed, by the score's label. Raises Absent for none."""
    found = {measure.label: measure for measure in measures if len(lookup.of(measure))}
    if not found:
        raise Absent("no prediction sets were computed")
    return found


def together(lookup: Lookup, measures: Sequence[Measure], clean: bool = False) -> pd.DataFrame:
    """One row for each model and dataset that has all measures, a column each."""
    frame = lookup.long(measures, own(lookup.evidence.datasets, DATASETS))
    wide = frame.pivot(index=KEYS, columns="measure", values="clean" if clean else "value")
    wide = wide.reindex(columns=range(len(measures))).dropna()
    if wide.empty:
        raise Absent("no model was asked for letters")
    return wide

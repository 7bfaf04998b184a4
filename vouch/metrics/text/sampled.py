"""Sets of sampled answers as figures."""

from collections.abc import Sequence

import numpy as np

from vouch.metrics.config import Config
from vouch.metrics.conformal.sampled import numbered, sampled_sets
from vouch.metrics.conformal.splits import group_splits
from vouch.metrics.protocols import CLEAN, Figure, mean_figure, split_figure
from vouch.metrics.responses import Ints
from vouch.metrics.robustness.samples import read_samples
from vouch.metrics.text.texts import Question


def sampled_figures(
    questions: Sequence[Question],
    samples: Sequence[Sequence[str]],
    groups: Ints,
    config: Config,
    names: Sequence[str],
    score: str,
) -> list[Figure]:
    """Half of alpha for either promise, so that the sets have the target of all others.

    tron_unreached  share of the questions without a right sample: no sets if over half of alpha in a split
    tron_samples, tron_coverage, tron_set_size  as SampledSets
    names: as for `grade_texts`.
    """
    most = max(map(len, samples), default=0)
    rows = [row for row, texts in enumerate(samples) if most and len(texts) == most]
    if not rows:
        return []
    of_rows = [questions[row] for row in rows], [samples[row] for row in rows]
    _, said, grades = read_samples(*of_rows, config, names)
    drawn = numbered(said.reshape(-1, most).tolist(), (grades.reshape(-1, most) >= 1).tolist())
    own = groups[rows]
    figures = [mean_figure("tron_unreached", np.asarray(~drawn.right.any(axis=1)), own, CLEAN, score)]
    splits = group_splits(own, config.calibration, config.seed, config.splits)
    if not (splits.sizes.min() and splits.sizes.max() < len(rows)):
        return figures
    sets = sampled_sets(drawn, splits, config.main_alpha / 2, config.main_alpha / 2)
    if sets is None:
        return figures
    values = {"tron_samples": sets.samples, "tron_coverage": sets.coverage, "tron_set_size": sets.size}
    return figures + [split_figure(name, each, len(rows), score) for name, each in values.items()]

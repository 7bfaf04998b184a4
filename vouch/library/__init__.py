"""The functions of `import vouch`, for arrays of your own. The stages use the same formulas."""

from vouch.library.calibration import (
    calibration_error,
    image_information,
    read_answer,
    semantic_entropy,
    temperature,
)
from vouch.library.comparison import compare, power, prediction_powered, regressions, robustness
from vouch.library.estimates import corrupt, results
from vouch.library.logs import from_log
from vouch.library.ranking import rank_without_labels
from vouch.library.scores import compare_scores
from vouch.library.sets import answering, coverage, prediction_sets, sampled_sets, weighted_sets

__all__ = [
    "answering",
    "calibration_error",
    "compare",
    "compare_scores",
    "corrupt",
    "coverage",
    "from_log",
    "image_information",
    "power",
    "prediction_powered",
    "prediction_sets",
    "rank_without_labels",
    "read_answer",
    "regressions",
    "results",
    "robustness",
    "sampled_sets",
    "semantic_entropy",
    "temperature",
    "weighted_sets",
]

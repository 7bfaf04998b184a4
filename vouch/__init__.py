"""How far a vision-language model's answers can be trusted.

The functions below take arrays of your own (numpy, torch or lists) and need numpy and scipy; `results`
needs pandas. The rest of the package is the library under the pipeline, in layers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vouch.library.calibration import (
        calibration_error,
        image_information,
        read_answer,
        semantic_entropy,
        temperature,
    )
    from vouch.library.comparison import compare, power, prediction_powered, regressions, robustness
    from vouch.library.ranking import rank_without_labels
    from vouch.library.results import corrupt, results
    from vouch.library.sets import answering, coverage, prediction_sets, sampled_sets, weighted_sets

_HOME = {
    "answering": "sets",
    "calibration_error": "calibration",
    "compare": "comparison",
    "corrupt": "results",
    "coverage": "sets",
    "image_information": "calibration",
    "power": "comparison",
    "prediction_powered": "comparison",
    "prediction_sets": "sets",
    "rank_without_labels": "ranking",
    "read_answer": "calibration",
    "regressions": "comparison",
    "results": "results",
    "robustness": "comparison",
    "sampled_sets": "sets",
    "semantic_entropy": "calibration",
    "temperature": "calibration",
    "weighted_sets": "sets",
}
__all__ = [
    "answering",
    "calibration_error",
    "compare",
    "corrupt",
    "coverage",
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


def __getattr__(name: str) -> Any:
    # Late: a stage fixes the processor's settings before numpy is loaded (vouch/pipeline/processor.py).
    if name not in _HOME:
        raise AttributeError(f"module 'vouch' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f"vouch.library.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]

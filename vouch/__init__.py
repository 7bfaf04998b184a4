"""How far a vision-language model's answers can be trusted.

The functions below take arrays of your own (numpy, torch or lists) and need numpy and scipy; `results`
needs pandas. The rest of the package is the library under the pipeline, in layers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vouch.library.calibration import calibration_error, temperature
    from vouch.library.certainty import image_information, semantic_entropy
    from vouch.library.comparison import compare
    from vouch.library.pictures import corrupt
    from vouch.library.ranking import rank_without_labels
    from vouch.library.reading import read_answer
    from vouch.library.results import results
    from vouch.library.robustness import robustness
    from vouch.library.sets import coverage, prediction_sets

_HOME = {
    "calibration_error": "calibration",
    "compare": "comparison",
    "corrupt": "pictures",
    "coverage": "sets",
    "image_information": "certainty",
    "prediction_sets": "sets",
    "rank_without_labels": "ranking",
    "read_answer": "reading",
    "results": "results",
    "robustness": "robustness",
    "semantic_entropy": "certainty",
    "temperature": "calibration",
}
__all__ = [
    "calibration_error",
    "compare",
    "corrupt",
    "coverage",
    "image_information",
    "prediction_sets",
    "rank_without_labels",
    "read_answer",
    "results",
    "robustness",
    "semantic_entropy",
    "temperature",
]


def __getattr__(name: str) -> Any:
    # Late: a stage fixes the processor's settings before numpy is loaded (vouch/pipeline/processor.py).
    if name not in _HOME:
        raise AttributeError(f"module 'vouch' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f"vouch.library.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]

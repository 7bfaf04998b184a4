"""How far a vision-language model's answers can be trusted.

The functions below take arrays of your own (numpy, torch or lists) and need numpy and scipy; `results`
needs pandas. The rest of the package is the library under the pipeline, in layers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vouch.library import *  # noqa: F403


def __getattr__(name: str) -> Any:
    # Late: a stage fixes the processor's settings before numpy is loaded (vouch/pipeline/processor.py).
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module 'vouch' has no attribute {name!r}")
    library = import_module("vouch.library")
    if name not in ("__all__", *library.__all__):
        raise AttributeError(f"module 'vouch' has no attribute {name!r}; it has {', '.join(library.__all__)}")
    return getattr(library, name)


def __dir__() -> list[str]:
    return [*globals(), *import_module("vouch.library").__all__]

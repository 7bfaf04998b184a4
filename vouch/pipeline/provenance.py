"""The side-car of a stage: what ran where and with which versions. Nothing depends on it."""

import platform
import sys
from importlib import metadata
from typing import Any

_LIBRARIES = (
    "numpy",
    "pandas",
    "scipy",
    "pyarrow",
    "pillow",
    "torch",
    "transformers",
    "tokenizers",
    "accelerate",
    "openai",
    "vl-convert-python",
    "jinja2",
)


def provenance(stage: str, seconds: float, notes: dict[str, Any]) -> dict[str, Any]:
    """Versions, machine and notes as a JSON value. No host name, no user, no paths, no date."""
    versions = {}
    for name in _LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "stage": stage,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "byte_order": sys.byteorder,
        "versions": versions,
        "seconds": round(seconds, 1),
        "notes": notes,
    }

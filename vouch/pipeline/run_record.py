"""What is told of a run: in data/runs what the inputs and versions decide, in .vouch/runs all the rest.

data/runs/STAGE.json is an output of the stage, so it holds nothing that differs between two runs of the same
inputs, code and versions: no time, machine, path, and no count of answers that happened to be known already.
`git status` stays clean after a second run. Nothing depends on .vouch/runs/STAGE.json, and git ignores it.
"""

import platform
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from vouch.pipeline.dag import Stage
from vouch.pipeline.files import write_json

_OUTPUTS, _LOCAL = "data/runs/", Path(".vouch/runs")
_LIBRARIES = (  # whose versions can change an output
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


def run_record(stage: Stage) -> Path:
    """The record of a stage's run among its outputs."""
    return next(Path(out) for out in stage.outs if out.startswith(_OUTPUTS))


def local_record(stage: Stage) -> Path:
    """Where the time and machine of a stage's last run on this machine lie."""
    return _LOCAL / f"{stage.slug}.json"


def write_records(
    stage: Stage, notes: Mapping[str, Any], measured: Mapping[str, Any], times: Mapping[str, Any]
) -> None:
    """Writes both records. notes, measured: of `Run.note` and `Run.measure`."""
    made = {"stage": stage.name, "python": platform.python_version(), "versions": versions(), "notes": notes}
    write_json(run_record(stage), made)
    machine = {"system": f"{platform.system()} {platform.machine()}", "byte_order": sys.byteorder}
    write_json(local_record(stage), {"stage": stage.name, **times, **machine, "measured": measured})


def versions() -> dict[str, str]:
    """Of the libraries that can change an output, those that are installed."""
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found

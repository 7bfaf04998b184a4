"""What is told of a run: in data/runs what the inputs and versions decide, in .vouch/runs all the rest.

data/runs/STAGE.json is an output of the stage, so it holds nothing that differs between two runs of the same
inputs, code and versions: no time, machine, path, and no count of answers that happened to be known already.
`git status` stays clean after a second run. It holds the parameters and digests of the inputs: where two
branches ran a stage with different ones, its own digest in dvc.lock differs on both sides, and git reports a
conflict in place of merging two runs into one that never was. Nothing depends on .vouch/runs/STAGE.json, and
git ignores it.
"""

import json
import platform
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from vouch.pipeline.dag import CODE, Stage
from vouch.pipeline.files import write_json

Params = Mapping[str, Mapping[str, Any]]
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


def run_record(stage: Stage) -> Path | None:
    """The record of a stage's run among its outputs; None of a DAG that has none."""
    return next((Path(out) for out in stage.outs if out.startswith(_OUTPUTS)), None)


def local_record(stage: Stage) -> Path:
    """Where the time and machine of a stage's last run on this machine lie."""
    return _LOCAL / f"{stage.slug}.json"


def made_from(params: Params, deps: Mapping[str, str | None]) -> dict[str, Any]:
    """What a stage reads, as its record holds it. deps: digests of its inputs; those of code stay out."""
    inputs = {dep: digest for dep, digest in deps.items() if not dep.startswith(CODE)}
    values: dict[str, Any] = json.loads(json.dumps({"params": params, "inputs": inputs}))
    return values


def write_records(
    stage: Stage,
    params: Params,
    deps: Mapping[str, str | None],
    notes: Mapping[str, Any],
    measured: Mapping[str, Any],
    times: Mapping[str, Any],
) -> None:
    """Writes both records.

    params: those that were read. deps: digests of what was read. notes: of `Run.note`. measured: of
    `Run.measure`.
    """
    made = {"stage": stage.name, "python": platform.python_version(), "versions": versions(), "notes": notes}
    if path := run_record(stage):
        write_json(path, made | made_from(params, deps))
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

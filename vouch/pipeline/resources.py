"""What a stage asks of a cluster: `resources:` of its rule, from what it needs and what the cluster has.

Standard library and PyYAML only, because cluster jobs read the Snakefile again.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from vouch.pipeline.dag import PARAMS, Stage
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.needs import Needs, needs, read_models
from vouch.pipeline.yaml12 import load

_NAME = re.compile(r"[\w.+@-]+(,[\w.+@-]+)*")  # or several partitions, of which Slurm takes one

_Wanted = tuple[Callable[[Any], bool], str]
_SLURM_NAME: _Wanted = (
    lambda value: isinstance(value, str) and _NAME.fullmatch(value) is not None,
    "the name that Slurm has, without spaces, in quotes where it is a number",
)
_WANTED: dict[str, _Wanted] = {
    "gpu_gb": (
        lambda value: isinstance(value, int | float) and value is not True and 0 < value < math.inf,
        "the memory of one GPU in GB, such as 80",
    ),
    "longest": (
        lambda value: isinstance(value, int) and value is not True and value > 0,
        "whole minutes, such as 1440",
    ),
}


@dataclass(frozen=True)
class Site:
    """What a cluster has: `config` of a Snakemake profile. Nothing is known of a machine of one's own.

    gpu_gb: memory of one GPU. longest: minutes that a job may run. account and partitions: as Slurm has them.
    """

    gpu_gb: float | None = None
    longest: int = 24 * 60
    account: str | None = None
    cpu_partition: str | None = None
    gpu_partition: str | None = None

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Site":
        """Of Snakemake's config. Raises UserError on an unknown key or a value that no cluster has."""
        known = [field.name for field in fields(cls)]
        for key, value in config.items():
            if key not in known:
                raise UserError(f"config: unknown key {key}; {did_you_mean(str(key), known)}")
            fits, wanted = _WANTED.get(key, _SLURM_NAME)
            if not (fits(value) or (value is None and key != "longest")):
                raise UserError(f"config: {key}: {value!r:.60} does not fit; give {wanted}")
        return cls(**config)


def resources(stage: Stage, needed: Needs, site: Site) -> dict[str, Any]:
    """What a rule asks for; the time of extract and judge once the prompts are known."""
    partition = site.gpu_partition if needed.gpus else site.cpu_partition
    prompts = next((dep for dep in stage.deps if needed.model and dep.startswith("data/prompts/")), None)

    def memory(wildcards: Any, attempt: int) -> int:  # the names are Snakemake's
        return needed.memory(attempt)

    def runtime(wildcards: Any, input: Any, attempt: int) -> int:
        return needed.runtime(count_prompts(prompts) if prompts else 0, site.longest, attempt)

    found: dict[str, Any] = {
        "mem_mb": memory,
        "runtime": runtime,
        "cpus_per_task": needed.processors,
        "gpu": needed.gpus,
        "nodes": 1 if needed.gpus else 0,  # else Slurm may take several GPUs from several
        "slurm_partition": partition,
        "slurm_account": site.account,
    }
    return {name: value for name, value in found.items() if value}


def count_prompts(table: str) -> int:
    """How many prompts a table of `vary` holds, by its run record.

    Raises FileNotFoundError for the table, by which Snakemake knows that it will be there later.
    """
    path = Path(table)
    path.stat()
    try:
        record = json.loads(Path(f"data/runs/vary-{path.stem}.json").read_text(encoding="utf-8"))
        return int(record["notes"]["prompts"])
    except (OSError, ValueError, KeyError, TypeError):
        return path.stat().st_size // 100  # never fewer than there are: a row has more bytes than that


def planner(config: Mapping[str, Any]) -> Callable[[Stage], dict[str, Any]]:
    """Stage -> its `resources:`, for the present profile and Snakemake's config. Raises UserError."""
    params, site = load(Path(PARAMS)), Site.of(config)
    models = read_models(params)
    return lambda stage: resources(stage, needs(stage, params, models, site.gpu_gb), site)

"""What a cluster has: what stands under `config` of a Snakemake profile. Standard library only."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from vouch.pipeline.errors import UserError, did_you_mean

_NAME = re.compile(r"[\w.+@-]+(,[\w.+@-]+)*")  # or several partitions, of which Slurm takes one


@dataclass(frozen=True)
class Site:
    """Nothing is known of a machine of one's own.

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
            fits, wanted = _WANTED.get(key, _NAMES)
            if not (fits(value) or (value is None and key != "longest")):
                raise UserError(f"config: {key}: {value!r:.60} does not fit; give {wanted}")
        return cls(**config)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _is_size(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def _is_minutes(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


_Wanted = tuple[Callable[[object], bool], str]
_NAMES: _Wanted = (_is_name, "the name that Slurm has, without spaces, in quotes where it is a number")
_WANTED: dict[str, _Wanted] = {
    "gpu_gb": (_is_size, "the memory of one GPU in GB, such as 80"),
    "longest": (_is_minutes, "whole minutes, such as 1440"),
}

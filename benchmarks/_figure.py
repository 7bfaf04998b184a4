"""One figure of a benchmark as one line of JSON on standard output."""

import json
import os
import platform
from pathlib import Path

import numpy as np


def figure(
    name: str,
    value: float,
    unit: str,
    peer: str | None = None,
    peer_value: float | None = None,
    ratio: float | None = None,
    limit: float | None = None,
) -> None:
    """Prints a figure and the machine it was measured on.

    value, peer_value: in `unit`. peer: what the figure is compared with. ratio: how many times better
    than the peer, above 1 is better, whichever way the unit points. limit: the ratio that the
    floating-point operations of both sides would give.
    """
    line = {
        "name": name,
        "value": value,
        "unit": unit,
        "peer": peer,
        "peer_value": peer_value,
        "ratio": ratio,
        "limit": limit,
        "machine": machine(),
    }
    print(json.dumps(line), flush=True)


def machine() -> dict[str, str | int | None]:
    """Processor, cores and versions; nothing that tells one computer from its twin."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()

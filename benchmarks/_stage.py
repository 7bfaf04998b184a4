"""A project in a temporary folder, and what a process of it costs."""

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Cost:
    """Of one process: peak of resident memory, processor time, and time on the wall."""

    mebibytes: float
    seconds: float
    wall: float


def small_profile() -> dict[str, Any]:
    """The parameters of the small profile, to be changed."""
    params: dict[str, Any] = YAML().load(ROOT / "profiles/small.yaml")
    return params


def project(folder: Path, params: dict[str, Any]) -> None:
    """A copy of the code with these parameters: a stage refuses to end when its code was edited meanwhile."""
    YAML().dump(params, folder / "params.yaml")
    for name in ("dvc.yaml", "models.lock"):
        shutil.copy(ROOT / name, folder)
    for name in ("stages", "vouch", "decisions"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))


def stage(folder: Path, name: str, *keys: str) -> Cost:
    """Runs a stage; ends with its message where it fails."""
    return process(folder, folder, f"stages.{name}", *keys)


def process(folder: Path, code: Path, module: str, *arguments: str) -> Cost:
    """Runs a module found in `code` as a process in a folder; ends where it fails."""
    env = {**os.environ, "PYTHONPATH": str(code)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # code is compiled once, as where people work
    start = time.perf_counter()
    running = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env=env,
    )
    _, status, usage = os.wait4(running.pid, 0)
    wall = time.perf_counter() - start
    if status:
        sys.exit(f"{module} {' '.join(arguments)} failed")
    return Cost(usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime, wall)

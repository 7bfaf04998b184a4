"""A project with this checkout's code and a small profile of its own, and a library that refuses flock."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENV = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder in which stages run, profile small."""
    for name in ("stages", "vouch"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "decisions", tmp_path / "decisions")
    for name in ("dvc.yaml", "models.lock"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copy(ROOT / "profiles/small.yaml", tmp_path / "params.yaml")
    return tmp_path


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """compiled(NAME): NAME.c of this folder as a library that LD_PRELOAD loads."""

    def build(name: str) -> Path:
        compiler = shutil.which("gcc") or shutil.which("cc")
        if compiler is None or not sys.platform.startswith("linux"):
            pytest.skip("needs a C compiler on Linux")
        library = tmp_path_factory.mktemp("shim") / f"{name}.so"
        source = Path(__file__).with_name(f"{name}.c")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
        return library

    return build

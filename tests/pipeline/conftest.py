"""A project with this checkout's code and a small profile of its own, and a library that refuses flock."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENV = {**os.environ, "PYTHONPATH": str(ROOT)}


Start = Callable[..., "subprocess.Popen[str]"]


def lay_out(folder: Path) -> Path:
    """Makes a folder one in which stages run, profile small."""
    for name in ("stages", "vouch"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "decisions", folder / "decisions")
    for name in ("dvc.yaml", "models.lock"):
        shutil.copy(ROOT / name, folder)
    shutil.copy(ROOT / "profiles/small.yaml", folder / "params.yaml")
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Such a folder."""
    return lay_out(tmp_path)


@pytest.fixture
def python() -> Iterator[Start]:
    """python(CODE, *arguments, env=...): a process with pipes; all of them end with the test."""
    started: list[subprocess.Popen[str]] = []

    def one(code: str, *arguments: str, env: Mapping[str, str]) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", code, *arguments]
        process = subprocess.Popen(command, env=env, text=True, stdin=pipe, stdout=pipe, stderr=pipe)
        started.append(process)
        return process

    yield one
    for process in started:
        process.kill()
        process.communicate()


def said(process: "subprocess.Popen[str]") -> str:
    """The next line of what a process prints; it may go on."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


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

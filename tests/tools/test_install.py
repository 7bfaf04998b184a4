"""What is imported is declared, what is declared is locked with digests, and `make install` says what is wrong."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tools import install

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
LOCKED = {each["name"]: each for each in tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))["package"]}
OURS = {"stages", "vouch", "tools", "tests", "benchmarks", "snakemake"}
ELSEWHERE = ("tests/drivers/tiny_", "tests/models/program/drivers/")  # run in environments of drivers


def plain(name: str) -> str:
    """A package's name as indexes have it, without its version."""
    return re.sub(r"[-_.]+", "-", re.split(r"[<=>~!\[; ]", name)[0]).lower()


def declared(*extras: str) -> set[str]:
    """The packages of the library and of these extras."""
    return {
        plain(name)
        for name in [*PROJECT["dependencies"], *(name for each in extras for name in EXTRAS[each])]
    }


def imported(*folders: str) -> dict[str, Path]:
    """Module of another project -> a file that imports it."""
    modules = {}
    for file in (file for folder in folders for file in (ROOT / folder).rglob("*.py")):
        if file.relative_to(ROOT).as_posix().startswith(ELSEWHERE):
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
            modules |= {name.split(".")[0]: file for name in names}
    return {name: file for name, file in modules.items() if name not in sys.stdlib_module_names | OURS}


@pytest.mark.parametrize(
    ("folders", "extras"),
    [
        (("stages", "vouch"), ("pipeline", "video")),
        (("tests", "tools", "benchmarks"), ("docs", "pipeline", "test", "tools")),
    ],
)
def test_what_is_imported_is_declared(folders: tuple[str, ...], extras: tuple[str, ...]) -> None:
    servers = (ROOT / "tools/real/requirements.txt").read_text("utf-8").splitlines()
    owners = (
        packages_distributions()
        | {"xllamacpp": ["xllamacpp"]}
        | {name: [name] for name in ("sphinx", "torchvision")}
    )
    known = declared(*extras) | {plain(line) for line in servers if line[:1].isalpha()}
    for module, file in imported(*folders).items():
        assert known & {plain(owner) for owner in owners.get(module, [])}, f"{file}: {module} is not declared"


def test_the_lock_fits_pyproject() -> None:
    metadata = LOCKED[PROJECT["name"]]["metadata"]
    locked = {
        (each["name"], each.get("specifier", ""), each.get("marker", ""))
        for each in metadata["requires-dist"]
    }
    wanted = {(plain(name), name[len(plain(name)) :], "") for name in PROJECT["dependencies"]}
    wanted |= {
        (plain(name), name[len(plain(name)) :], f"extra == '{extra}'")
        for extra in EXTRAS
        for name in EXTRAS[extra]
    }
    assert locked == wanted, "run `make lock`"


def test_every_file_of_the_lock_has_its_digest() -> None:
    for package in LOCKED.values():
        if package["name"] != PROJECT["name"]:
            files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
            assert files, package["name"]
            assert all(file["hash"].startswith("sha256:") for file in files), package["name"]


def test_a_cpu_build_brings_no_cuda() -> None:
    only_linux = [
        each["name"] for each in LOCKED["torch"]["dependencies"] if "linux" in each.get("marker", "")
    ]
    assert only_linux
    assert all(install.CUDA.match(name) for name in only_linux), only_linux


def test_each_dependency_has_its_reason() -> None:
    named = {
        plain(name) for name in re.findall(r"[\w.-]+", (ROOT / "docs/dependencies.md").read_text("utf-8"))
    }
    assert declared(*EXTRAS) <= named


@pytest.mark.parametrize(
    ("torch", "extra", "says"),
    [
        ("rocm", "test", "install: TORCH=rocm is not known; use TORCH=cpu, TORCH=cuda or TORCH=auto"),
        (
            "cpu",
            "tset",
            "install: pyproject.toml has no extra tset; it has pipeline, docs, remotes, slurm, test, tools, video",
        ),
    ],
)
def test_what_is_not_known_is_one_line(
    torch: str, extra: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH", torch)
    command = [sys.executable, "tools/install.py", extra]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", says + "\n")


def test_what_is_built_sees_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror/simple")
    names = "sorted({'OPENAI_API_KEY', 'PIP_INDEX_URL'} & {*os.environ})"
    assert install.run(sys.executable, "-c", f"import os, sys; sys.exit(str({names}))") == "['PIP_INDEX_URL']"


def test_uv_asks_where_pip_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = (
        ":env:.find-links='one two'\nglobal.find-links='three'\nglobal.index-url='https://mirror/simple'\n"
    )
    done = subprocess.CompletedProcess([], 0, shown)
    monkeypatch.setattr(install.subprocess, "run", lambda *_, **__: done)
    for variable in install.PIP_TO_UV.values():
        monkeypatch.setenv(variable, "")  # restored at the end
        monkeypatch.delenv(variable)
    monkeypatch.setenv("SSL_CERT_FILE", "mine")
    install.hand_on_pip_settings()
    handed_on = {variable: install.os.environ[variable] for variable in install.PIP_TO_UV.values()}
    wanted = {
        "UV_DEFAULT_INDEX": "https://mirror/simple",
        "UV_FIND_LINKS": "one,two",
        "SSL_CERT_FILE": "mine",
    }
    assert handed_on == wanted

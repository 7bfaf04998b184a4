"""`vouch env`: real uv, packages made here, no network."""

import base64
import hashlib
import io
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import Vouch
from vouch.cli.main import main

NAME = "ours_for_tests"


def wheel(folder: Path) -> str:
    """A package's file; its digest."""
    folder.mkdir()
    path, info = folder / f"{NAME}-1.0-py3-none-any.whl", f"{NAME}-1.0.dist-info"
    files = {
        f"{NAME}.py": "VALUE = 3\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},sha256={_digest(text)},{len(text)}\n" for name, text in files.items())
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, f"{info}/RECORD": record + f"{info}/RECORD,,\n"}.items():
            archive.writestr(name, text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


BUILT = "built_for_tests"
SETUP = """
import os, zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    with open({seen!r}, "w") as file:
        file.write("\\n".join(os.environ))
    name = "{name}-1.0"
    with zipfile.ZipFile(os.path.join(folder, name + "-py3-none-any.whl"), "w") as wheel:
        wheel.writestr(name + ".dist-info/METADATA", "Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n")
        wheel.writestr(name + ".dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(name + ".dist-info/RECORD", "")
    return name + "-py3-none-any.whl"
"""


def source(folder: Path, seen: Path) -> str:
    """A package without a wheel, whose setup.py writes the names of the variables that it sees; its digest."""
    files = {
        "setup.py": SETUP.format(seen=str(seen), name=BUILT),
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "setup"\nbackend-path = ["."]\n',
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {BUILT}\nVersion: 1.0\n",
    }
    path = folder / f"{BUILT}-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"{BUILT}-1.0/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


@pytest.fixture
def drivers(bare: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of environments, and the place that uv takes packages from."""
    digest = wheel(bare / "wheels")
    (bare / "drivers").mkdir()
    (bare / "drivers/small.txt").write_text(
        f"# made by uv\n{NAME}==1.0 \\\n    --hash=sha256:{digest}\n    # via x\n"
    )
    for name, value in {
        "UV_FIND_LINKS": bare / "wheels",
        "UV_OFFLINE": "1",
        "HOME": bare / "home",
    }.items():
        monkeypatch.setenv(name, str(value))
    for name in ("UV_CACHE_DIR", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    return bare / "drivers"


def test_an_environment_holds_what_its_file_names(drivers: Path, vouch: Vouch) -> None:
    assert vouch("env") == "env: small: not here; `vouch env small` builds it\n"
    version = "{}.{}".format(*sys.version_info)
    assert vouch("env", "small").splitlines() == [
        f"env: small: Python {version}, 1 package",
        "env: small: installing 1 package of drivers/small.txt",
        "env: small: built in .vouch/envs/small from drivers/small.txt, 0 MB",
    ]
    python = Path(".vouch/envs/small/bin/python")
    asked = [str(python), "-c", f"import {NAME}; print({NAME}.VALUE)"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == "3\n"
    assert list(Path(".vouch/envs/small").rglob(f"{NAME}.*.pyc")), "compiled once, not at each start"
    assert not Path("home").exists(), "nothing outside of .vouch"
    assert vouch("env", "small") == "env: small: up to date in .vouch/envs/small\n"
    assert vouch("env") == "env: small: .vouch/envs/small\n"
    with (drivers / "small.txt").open("a") as file:
        file.write("# more\n")
    Path(".vouch/envs/.small.host.1.part/lib").mkdir(parents=True)  # of a build that was killed
    assert "built in" in vouch("env", "small")
    assert not list(Path(".vouch/envs").glob("*.part"))
    python.unlink()
    assert "not here" in vouch("env") and "built in" in vouch("env", "small")


def test_a_package_that_is_built_sees_no_secret(
    drivers: Path, vouch: Vouch, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = drivers.parent / "seen"
    digest = source(drivers.parent / "wheels", seen)
    (drivers / "small.txt").write_text(f"{BUILT}==1.0 --hash=sha256:{digest}\n", "utf-8")
    secrets = {
        "HF_TOKEN": "hf_planted",
        "AWS_SECRET_ACCESS_KEY": "planted",
        "OPENAI_API_KEY": "sk-planted",
        "DATABASE_URL": "postgres://me:planted@host/table",
    }
    others = {"PIP_INDEX_URL": "https://me:word@index/simple", "PROJECT_URL": "https://host/project"}
    for name, value in {**secrets, **others}.items():
        monkeypatch.setenv(name, value)
    assert "built in" in vouch("env", "small")
    names = set(seen.read_text("utf-8").split())
    assert not names & set(secrets)
    assert {"PATH", "HOME", *others} <= names


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{NAME}==1.0 --hash=sha256:{'0' * 64}\n", "uv cannot install what drivers/bad.txt names"),
        (f"{NAME}==1.0\n", "is no NAME==VERSION with --hash=sha256:...; write the file with"),
        (f"{NAME}>=1\n", "drivers/bad.txt: 'ours_for_tests>=1' is no NAME==VERSION"),
        ("torch==2.1.2\n", "is no NAME==VERSION with"),
        ("-e ../elsewhere\n", "is no NAME==VERSION"),
        (f"{NAME}==1.0 @ https://host/x.whl --hash=sha256:{'0' * 64}\n", "is no NAME==VERSION"),
        (f"{NAME}==1.0 --hash=sha256:{'0' * 64} \\\n--index-url=https://host\n", "is no NAME==VERSION"),
        ("# \udcff\n", "drivers/bad.txt: not readable as UTF-8"),
        (f"# python 3.2\n{NAME}==1.0 --hash=sha256:{'0' * 64}\n", "uv cannot install a Python 3.2"),
        ("", "drivers/bad.txt: names no package; write the file with `uv pip compile"),
        ("# python 3.10\n\n", "drivers/bad.txt: names no package; write the file with `uv pip compile"),
        (
            f"{NAME}==1.0 --hash=sha256:{'0' * 64}\ntorch==0.1 --hash=sha256:{'0' * 64}\n",
            # first, before the package that would fail as well
            "uv cannot install torch==0.1+cpu",
        ),
    ],
)
def test_what_is_not_pinned_is_refused_and_leaves_nothing(
    drivers: Path, capsys: pytest.CaptureFixture[str], text: str, why: str
) -> None:
    (drivers / "bad.txt").write_text(text, "utf-8", "surrogateescape")
    assert main(["env", "bad"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("vouch: ") and error.count("\n") == 1 and why in error
    assert not any(Path(".vouch/envs").glob("*bad*[!k]"))


def test_an_unknown_environment(drivers: Path, vouch: Vouch) -> None:
    assert "drivers: no environment 'smal' (its name has a-z, 0-9 and _); did you mean small?" in vouch(
        "env", "smal", status=1
    )

"""Builds .venv from uv.lock: torch in the right build, the library, the pipeline, and the extras named.

    python tools/install.py [EXTRA ...]      extras of pyproject.toml; `pipeline` is always installed

Run by the Makefile with any Python from 3.11 on; standard library only. Does nothing where the environment
has all that is asked for, and only adds to it where an extra is missing. TORCH=cpu|cuda|auto chooses the
build of torch (auto: cuda where nvidia-smi answers). Every file is checked against the digests in uv.lock,
except a CPU build of torch for Linux, which PyPI does not have: it comes from the folders that pip is told
to look into (find-links), else from PyTorch's CPU index.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
import venv
from pathlib import Path
from typing import Any, NoReturn

VENV = Path(".venv")
LOCK = Path("uv.lock")
PROJECT = Path("pyproject.toml")
MARK = VENV / "installed"  # what the environment was made from, then its extras
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PATIENCE = 5  # seconds to find out whether the CPU index can be reached
LINES = 400  # characters of a message that are passed on
TORCH = ("torch", "torchvision")  # what has a CPU build of its own
CUDA = re.compile(r"nvidia-|cuda-|triton$")
PIP_TO_UV = {"index-url": "UV_DEFAULT_INDEX", "find-links": "UV_FIND_LINKS", "cert": "SSL_CERT_FILE"}
WINDOWS = os.name == "nt"

sys.path.append(str(Path(__file__).parents[1]))  # for `vouch`, which is not installed yet


def stop(message: str) -> NoReturn:
    """Ends with one line."""
    sys.exit(f"install: {' '.join(message.split())}")


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file."""
    import tomllib  # older Pythons lack it, and are told so

    return tomllib.loads(path.read_text(encoding="utf-8"))


def program(name: str) -> str:
    """A program of the environment."""
    return str(VENV / (f"Scripts/{name}.exe" if WINDOWS else f"bin/{name}"))


def run(*command: str) -> str:
    """Runs a command; returns nothing, or its error where it fails.

    Packages without a wheel are built, which runs their authors' code: in this environment, without secrets.
    """
    from vouch.pipeline.errors import without_secrets  # imports only the standard library

    done = subprocess.run(command, capture_output=True, text=True, env=without_secrets(), check=False)
    if done.returncode == 0:
        return ""
    error = re.search(r"^error.*", done.stderr, re.IGNORECASE | re.MULTILINE | re.DOTALL)
    return (error[0] if error else done.stderr.strip())[:LINES].strip() or "failed"


def hand_on_pip_settings() -> None:
    """Tells uv where pip gets packages on this machine; uv does not read pip's configuration.

    What is set for uv itself comes first, then pip's order. Extra indexes are left out: uv would take a
    package from the first index that has its name.
    """
    command = [program("python"), "-m", "pip", "config", "list"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    for section in (":env:", "install", "global"):
        for key, variable in PIP_TO_UV.items():
            for value in re.findall(rf"^{section}\.{key}=(.+)$", shown, re.MULTILINE):
                words = str(ast.literal_eval(value)).split()
                os.environ.setdefault(variable, ",".join(words) if key == "find-links" else words[0])


def torch_build(choice: str) -> str:
    """cpu or cuda."""
    if choice in ("cpu", "cuda"):
        return choice
    if choice != "auto":
        stop(f"TORCH={choice} is not known; use TORCH=cpu, TORCH=cuda or TORCH=auto")
    smi = shutil.which("nvidia-smi")
    return "cuda" if smi and not run(smi, "-L") else "cpu"


def reachable(url: str) -> bool:
    """Whether an index answers at once; a proxy or firewall that swallows packets counts as no."""
    try:
        with urllib.request.urlopen(f"{url}/torch/", timeout=PATIENCE):
            return True
    except OSError:
        return False


def install_uv(package: dict[str, Any]) -> None:
    """Installs the locked uv, checked against its digests."""
    pinned = f"uv=={package['version']}"
    line = " ".join([pinned, *(f"--hash={wheel['hash']}" for wheel in package["wheels"])])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "uv.txt")
        file.write_text(line, encoding="utf-8")
        pip = [program("python"), "-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check"]
        problem = run(
            *pip, "install", "--no-compile", "--only-binary=:all:", "--require-hashes", "-r", str(file)
        )
    if problem:
        stop(f"pip could not install {pinned}: {problem}; check the network and `pip config list`")


def uv(*arguments: str) -> str:
    """Runs uv on the environment; returns nothing, or its error where it fails."""
    return run(program("uv"), *arguments, "--quiet", "--no-python-downloads", "--python", program("python"))


def install_cpu_torch(pinned: list[str]) -> None:
    """Installs CPU builds: from the folders that pip looks into, else from PyTorch's CPU index."""
    install = ["pip", "install", "--no-deps"]
    if uv(*install, "--no-index", *pinned):
        problem = "did not answer"
        if not reachable(CPU_INDEX) or (problem := uv(*install, "--default-index", CPU_INDEX, *pinned)):
            stop(
                f"no {' and '.join(pinned)} for Python {sys.version.split()[0]}: pip's find-links have none, "
                f"PyTorch's CPU index: {problem}; use Python 3.11 to 3.14, give pip a folder with the wheel "
                "(PIP_FIND_LINKS), or take the large build with `make install TORCH=cuda`"
            )


def install_locked(extras: list[str], left_out: list[str]) -> None:
    """Installs what uv.lock has for these extras, each file checked against its digest.

    Exported and installed by name, not synchronised: so the packages come from the index that this machine
    uses, whatever addresses the lock holds, and nothing is uninstalled.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder, "requirements.txt"))
        chosen = [f"--extra={name}" for name in extras] + [f"--no-emit-package={name}" for name in left_out]
        problem = uv("export", "--frozen", "--no-emit-project", *chosen, "--output-file", file)
        problem = problem or uv("pip", "install", "--no-deps", "--require-hashes", "-r", file)
    if problem:
        stop(f"uv could not install what uv.lock names: {problem}; check the network, then run make again")


def install_checkout() -> None:
    """Installs this checkout as it lies, for the `vouch` command.

    By its path (`compat`): else a clone named vouch would hide the package from Python beside it.
    """
    by_path = ("--config-setting", "editable_mode=compat")
    if problem := uv("pip", "install", "--no-deps", "--no-build-isolation", *by_path, "--editable", "."):
        stop(f"uv could not install this checkout: {problem}")


def make_venv() -> None:
    """An empty environment."""
    try:
        venv.create(VENV, with_pip=True, clear=True, symlinks=not WINDOWS)
    except (subprocess.CalledProcessError, OSError) as error:
        stop(f"cannot make .venv ({error}); on Debian: apt install python3-venv")


def main(asked: list[str]) -> None:
    """Creates or completes the environment."""
    if sys.version_info < (3, 11):  # noqa: UP036 - whoever runs this may have any Python
        stop(f"needs Python 3.11 or newer, not {sys.version.split()[0]}; make PYTHON=python3.12")
    project = read_toml(PROJECT)["project"]
    if unknown := sorted(set(asked) - set(project["optional-dependencies"])):
        known = ", ".join(project["optional-dependencies"])
        stop(f"pyproject.toml has no extra {unknown[0]}; it has {known}")
    build = torch_build(os.environ.get("TORCH", "auto") or "auto")
    source = hashlib.sha256(LOCK.read_bytes() + json.dumps(project).encode()).hexdigest()
    state = f"{source} {build} {sys.version_info[:2]} {Path.cwd()}"
    made_from, *present = MARK.read_text(encoding="utf-8").splitlines() if MARK.exists() else [""]
    extras = sorted({"pipeline", *asked, *present})
    if made_from == state and extras == present:
        return
    packages = {each["name"]: each for each in read_toml(LOCK)["package"]}
    print(f"install: .venv with {', '.join(extras)}; torch for {build}", flush=True)
    if made_from != state:
        MARK.unlink(missing_ok=True)
        make_venv()
        install_uv(packages["uv"])
    hand_on_pip_settings()
    left_out = []
    if build == "cpu" and sys.platform == "linux":  # elsewhere the plain build is the CPU build
        wanted = TORCH if "video" in extras else TORCH[:1]
        install_cpu_torch([f"{name}=={packages[name]['version']}+cpu" for name in wanted])
        left_out = [name for name in packages if name in TORCH or CUDA.match(name)]
    install_locked(extras, left_out)
    if made_from != state:
        install_checkout()
    MARK.write_text("\n".join([state, *extras, ""]), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

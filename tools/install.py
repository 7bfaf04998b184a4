"""Builds .venv: torch in the right build, then everything pinned in requirements.lock.

Run by the Makefile with any Python from 3.11 on; standard library only. Does nothing when the
environment already fits. TORCH=cpu|cuda|auto chooses the build of torch (auto: cuda where nvidia-smi
answers). A CPU build is taken from pip's own local sources first, then from PyTorch's CPU index.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import urllib.request
import venv
from pathlib import Path

VENV = Path(".venv")
LOCK = Path("requirements.lock")
MARK = VENV / "installed"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PATIENCE = 5  # seconds to find out whether the CPU index can be reached
WINDOWS = os.name == "nt"


def python() -> str:
    """The environment's interpreter."""
    return str(VENV / ("Scripts/python.exe" if WINDOWS else "bin/python"))


def pip(*arguments: str, quiet: bool = True) -> bool:
    """Runs pip in the environment; whether it succeeded."""
    command = [python(), "-m", "pip", *arguments, "--disable-pip-version-check", "--no-input"]
    output = subprocess.DEVNULL if quiet else None
    return subprocess.run(command, stdout=output, stderr=output, check=False).returncode == 0


def torch_build(choice: str) -> str:
    """cpu or cuda."""
    if choice in ("cpu", "cuda"):
        return choice
    if choice != "auto":
        sys.exit(f"install: TORCH={choice} is not known; use TORCH=cpu, TORCH=cuda or TORCH=auto")
    smi = shutil.which("nvidia-smi")
    return (
        "cuda"
        if smi and subprocess.run([smi, "-L"], capture_output=True, check=False).returncode == 0
        else "cpu"
    )


def reachable(url: str) -> bool:
    """Whether an index answers at once; a proxy or firewall that swallows packets counts as no."""
    try:
        with urllib.request.urlopen(f"{url}/torch/", timeout=PATIENCE):
            return True
    except OSError:
        return False


def install_torch(build: str, pinned: str) -> None:
    """Installs the pinned torch in the wanted build, or stops with one line."""
    version = pinned.partition("==")[2]
    if build == "cuda" or sys.platform != "linux":
        done = pip("install", pinned, quiet=False)  # elsewhere than on Linux the plain build is the CPU build
    else:
        wanted = f"torch=={version}+cpu"
        done = pip("install", "--no-index", "--no-deps", wanted) or (
            reachable(CPU_INDEX)
            and pip("install", "--no-deps", "--index-url", CPU_INDEX, wanted, quiet=False)
        )
    if not done:
        sys.exit(
            f"install: no {build} build of {pinned} for Python {sys.version.split()[0]} "
            "(asked pip's local sources and PyTorch's CPU index); use Python 3.11 to 3.13, give pip a folder "
            "with the wheel (PIP_FIND_LINKS), or take the large build with `make install TORCH=cuda`"
        )


def main() -> None:
    """Creates or completes the environment."""
    if sys.version_info < (3, 11):  # noqa: UP036 - whoever runs this may have any Python
        sys.exit(f"install: needs Python 3.11 or newer, not {sys.version.split()[0]}; make PYTHON=python3.12")
    build = torch_build(os.environ.get("TORCH", "auto") or "auto")
    state = f"{hashlib.sha256(LOCK.read_bytes()).hexdigest()} {build} {sys.version_info[:2]} {Path.cwd()}\n"
    if MARK.exists() and MARK.read_text(encoding="utf-8") == state:
        return
    print(f"install: .venv with torch for {build}; a few minutes the first time", flush=True)
    MARK.unlink(missing_ok=True)
    try:
        venv.create(VENV, with_pip=True, clear=True, symlinks=not WINDOWS)
    except (subprocess.CalledProcessError, OSError) as error:
        sys.exit(f"install: cannot make .venv ({error}); on Debian: apt install python3-venv")
    pinned = next(
        line for line in LOCK.read_text(encoding="utf-8").splitlines() if line.startswith("torch==")
    )
    install_torch(build, pinned)
    if not pip("install", "--quiet", "--require-virtualenv", "-r", str(LOCK), quiet=False):
        sys.exit(
            "install: pip could not install requirements.lock; its message is above; run make again to go on"
        )
    if not pip("install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", ".", quiet=False):
        sys.exit("install: pip could not install this checkout; its message is above")
    MARK.write_text(state, encoding="utf-8")


if __name__ == "__main__":
    main()

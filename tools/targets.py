"""`make targets`: starts every target of the Makefile with small settings, and prints what came of each.

`python -m tools.targets [NAME ...]` works in a fresh clone of what is committed, with the small profile and
an environment of its own, in a temporary folder. What needs a program or data that is not here is skipped,
and so is what is left when the hour is over. Logs are in build/targets. The exit status says whether a target
failed.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.ending import ended
from vouch.cli.printing import cut
from vouch.pipeline.errors import UserError, check_name

ROOT = Path(__file__).parents[1]
LOGS = ROOT / "build/targets"
ANSWERS = "../shared/reference/answers"
MINUTES = 55  # for all
LONGEST = 15  # minutes for one, on a machine with much other work
SYSTEM = "/usr/sbin:/usr/local/sbin"  # where servers lie


@dataclass(frozen=True)
class Target:
    """settings: variables of the Makefile. programs, data, root: what it needs, root as the user."""

    settings: Sequence[str] = ()
    programs: Sequence[str] = ()
    data: str = ""
    root: bool = False

    def lacks(self) -> str:
        """Why it cannot be tried here; nothing where it can."""
        path = f"{os.environ['PATH']}{os.pathsep}{SYSTEM}"
        missing = [name for name in self.programs if not shutil.which(name, path=path)]
        if missing:
            return f"no {', '.join(missing)} here"
        if self.data and not (ROOT / self.data).exists():
            return f"no {self.data} here"
        return "needs root" if self.root and os.geteuid() else ""


TARGETS = {  # in this order: some use what others before them have made
    "install": Target(),
    "everything": Target(),
    "lint": Target(),
    "check": Target(),
    "docs": Target(),
    "easy_vqa": Target(),
    "browser": Target(),
    "servers": Target(),
    "shells": Target(),
    "tokenizers": Target(programs=["npm"]),
    "programs": Target(programs=["npm"]),
    "real": Target(),
    "real-tests": Target(),
    "demo": Target(),
    "train": Target(),
    "flips": Target(["FLIPS=1"]),
    "screenshots": Target(programs=["chromium"]),
    "test": Target(["TESTS=tests/tools"]),
    "reader": Target(data=ANSWERS),
    "fuzz": Target(["MINUTES=0.02"]),
    "worlds": Target(["WORLDS=60"]),
    "drivers": Target(),
    "bench": Target(["BENCHMARKS=rendering"]),
    "reproduce": Target(["PROFILE=small"]),
    "crash": Target(["POINTS=2", "CRASH=build/crash"]),
    "scale": Target(["PARTS=1000"]),
    "bits": Target(programs=["qemu-x86_64"]),
    "slurm": Target(programs=["slurmctld", "slurmd", "munged"], root=True),
    "lock": Target(),
    "clean": Target(),
}


def tried(name: str, target: Target, clone: Path, until: float) -> tuple[str, float, str]:
    """ok, failed or skipped; seconds; what it said at its end, or why it was not tried."""
    if why := target.lacks():
        return "skipped", 0.0, why
    began = time.monotonic()
    limit = min(60.0 * LONGEST, until - began)
    if limit <= 0:
        return "skipped", 0.0, "no time left"
    log = LOGS / f"{name}.log"
    kept = {
        key: value
        for key, value in os.environ.items()
        if key not in ("VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL")
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["make", name, *target.settings],
            cwd=clone,
            env=kept,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            status = process.wait(limit)
            came = "ok" if status == 0 else "failed"
        except subprocess.TimeoutExpired:
            came = "failed"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()
    seconds = time.monotonic() - began
    lines = log.read_text("utf-8", "replace").replace("\r", "\n").strip().splitlines()
    said = lines[-1] if lines else ""
    return came, seconds, f"took more than {limit:.0f} s: {said}" if seconds > limit else said


def rows(names: Sequence[str], clone: Path) -> Iterator[tuple[str, str, float, str]]:
    """Of each target its command, and what came of it."""
    until = time.monotonic() + 60 * MINUTES
    for name in names:
        came, seconds, said = tried(name, TARGETS[name], clone, until)
        yield " ".join(["make", name, *TARGETS[name].settings]), came, seconds, said


def main() -> int:
    """Prints a row for each; 1 where one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="targets; default: all")
    names = parser.parse_args().names or list(TARGETS)
    for name in names:
        check_name("target", name, TARGETS, "Makefile")
    LOGS.mkdir(parents=True, exist_ok=True)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="vouch-targets-") as folder:
        clone = Path(folder) / "vouch"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        if not (clone / "tools/targets.py").exists():
            raise UserError("targets: what is here is not committed; commit it, the targets run in a clone")
        if (shared := ROOT.parent / "shared").exists():
            (clone.parent / "shared").symlink_to(shared)
        shutil.copy(clone / "profiles/small.yaml", clone / "params.yaml")
        hidden = ["git", "-C", str(clone), "update-index", "--assume-unchanged", "params.yaml"]
        subprocess.run(hidden, check=True)  # `make check` tests what differs from main
        print("| command | came | seconds | said |\n|---|---|---|---|", flush=True)
        for command, came, seconds, said in rows(names, clone):
            failed += came == "failed"
            print(f"| `{command}` | {came} | {seconds:.0f} | {cut(said, 90)} |", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(ended("targets", main, "run it again, it begins anew"))

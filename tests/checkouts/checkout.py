"""Whole checkouts in temporary folders, run by the real DVC and the real Snakemake."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir
from dataclasses import dataclass, field
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, Self

import yaml
from dvc.repo import Repo

from vouch.pipeline.dag import read_dag
from vouch.pipeline.state import states
from vouch.pipeline.yaml12 import load

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
LIMIT = 900  # seconds for one command
# Stages one after the other as DVC would start them, in one process: most of a small stage is importing torch.
# Its words: names of stages, or of all stages of an entry of dvc.yaml; none: all.
ONE_PROCESS = """
import runpy, sys
from vouch.pipeline.dag import read_dag
wanted = sys.argv[1:]
for stage in read_dag().ordered():
    if wanted and not {stage.name, stage.name.partition("@")[0]} & set(wanted):
        continue
    module, *keys = stage.cmd.removeprefix("python -m ").split()
    sys.argv = [module, *keys]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code not in (0, None):
            raise
"""


@dataclass(frozen=True)
class User:
    """What differs between people with the same checkout. umask: -1 for the one of this process."""

    umask: int = -1
    env: Mapping[str, str] = field(default_factory=dict)


ANYBODY = User()
# Zones as POSIX writes them, which need no table of zones: 14 hours ahead of and 11 hours behind UTC.
FIRST = User(0o022, {"LC_ALL": "C.UTF-8", "TZ": "AHEAD-14", "PYTHONHASHSEED": "0"})
SECOND = User(0o077, {"LC_ALL": "C", "TZ": "BEHIND+11", "PYTHONHASHSEED": "4242"})
SECOND_PATH = "another path, übrigens 別の場所"


class Checkout:
    """A fresh copy of this checkout's files (committed or not) as a git repository of its own, profile small."""

    limit = LIMIT

    def __init__(self, path: Path, user: User = ANYBODY) -> None:
        self.path = path
        self.user = user
        listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        files = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
        for name in filter(None, files):
            source = ROOT / name
            # neither results nor their storage: tests make their own
            if source.is_file() and name != "dvc.lock" and not name.startswith(".dvc/storage/"):
                _copy(source, path / name)
                if name.endswith(".py"):  # compiled here, it need not be compiled again in every checkout
                    _copy(Path(cache_from_source(str(source))), Path(cache_from_source(str(path / name))))
        (path / "params.yaml").write_bytes((ROOT / "profiles/small.yaml").read_bytes())
        self.git("init", "-q")
        self.commit("start")

    @classmethod
    def at(cls, path: Path, user: User = ANYBODY) -> Self:
        """A checkout that is there already."""
        checkout = cls.__new__(cls)
        checkout.path = path
        checkout.user = user
        return checkout

    def copy(self, path: Path) -> Self:
        """The same with all it has made, its cache, its records and the weights beside it, in another place."""
        shutil.copytree(self.path, path, symlinks=True)
        if (weights := self.path.parent / "weights").exists():
            shutil.copytree(weights, path.parent / "weights")
        return self.at(path, self.user)

    @property
    def env(self) -> dict[str, str]:
        bin_folder = str(Path(sys.executable).parent)
        return {
            **os.environ,
            "PATH": bin_folder + os.pathsep + os.environ["PATH"],
            "PYTHONPATH": str(self.path),
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "XDG_CACHE_HOME": str(self.path.parent / f"{self.path.name}-home"),
            **self.user.env,
        }

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs a command in the checkout; fails the test with its output where it must succeed."""
        done = subprocess.run(
            command,
            cwd=self.path,
            env=self.env,
            umask=self.user.umask,
            capture_output=True,
            encoding="utf-8",
            timeout=self.limit,
            check=False,
        )
        if check and done.returncode:
            raise AssertionError(f"{' '.join(command)} gave {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def git(self, *arguments: str) -> str:
        return self.run("git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments).stdout

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def store(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """`vouch store ...`."""
        return self.vouch("store", *arguments, check=check)

    def vouch(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "vouch.cli.main", *arguments, check=check)

    def dvc(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run("dvc", *arguments, check=check)

    def repro(self) -> set[str]:
        """`dvc repro`; names of the stages whose command it ran."""
        return ran(self.dvc("repro").stdout)

    def stages(self, *names: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs stages (default: all) in one process, without a runner; `vouch store sync` records them for DVC."""
        return self.run(sys.executable, "-c", ONE_PROCESS, *names, check=check)

    def dvc_status(self) -> dict[str, object]:
        """`dvc status` by stage, empty where all is clean."""
        with chdir(self.path), Repo() as repo:  # elsewhere it would name stages by paths
            return dict(repo.status())

    def snakemake(self, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run("snakemake", "--cores", "2", check=check)

    def planned(self) -> set[str]:
        """Names of the stages that `snakemake -n` would run."""
        done = self.run("snakemake", "--cores", "2", "--dry-run")
        rules = set(re.findall(r"^(?:local)?rule ([\w-]+):", done.stdout + done.stderr, re.MULTILINE)) - {
            "all"
        }
        names = self.names()
        return {names[rule] for rule in rules}

    def stale(self) -> set[str]:
        """Names of the stages that no record fits: what Snakemake plans, but for what is downstream."""
        with chdir(self.path):
            return {state.stage.name for state in states(read_dag()) if not state.fresh}

    def names(self) -> dict[str, str]:
        """Rule name -> stage name."""
        return {stage.slug: stage.name for stage in read_dag(self.path).stages.values()}

    def edit(self, file: str, old: str, new: str) -> None:
        """Replaces text that must be there."""
        path = self.path / file
        text = path.read_text("utf-8")
        assert old in text, f"{file} does not hold {old!r}"
        path.write_text(text.replace(old, new), "utf-8")

    def set(self, key: str, value: Any) -> None:
        """Gives a key of params.yaml, dots between its parts, another value."""
        path = self.path / "params.yaml"
        values = nested = load(path)
        *parents, last = key.split(".")
        for parent in parents:
            nested = nested[parent]
        nested[last] = value
        path.write_text(dumped(values), "utf-8")

    def digests(self) -> dict[str, str]:
        """Digest of every output."""
        return {
            str(file.relative_to(self.path)): hashlib.sha256(file.read_bytes()).hexdigest()
            for root in ("data", "reports")
            for file in sorted((self.path / root).rglob("*"))
            if file.is_file() and file.name != ".snakemake_timestamp"
        }


def _copy(source: Path, target: Path) -> None:
    """With its time, which says whether compiled code is that of its source."""
    if source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def ran(said: str) -> set[str]:
    """Names of the stages whose command DVC ran, by what it said."""
    return set(re.findall(r"Running stage '([^']+)'", said))


def dumped(values: Mapping[str, Any]) -> str:
    """The text of a params.yaml."""
    text: str = yaml.safe_dump(dict(values), sort_keys=False, default_flow_style=None, width=10**6)
    return text

"""A commit with results: its files from git, its tables from DVC's cache or remote."""

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from vouch.cli.printing import plain
from vouch.pipeline.dvc_store import fetch, object_path
from vouch.pipeline.errors import UserError
from vouch.pipeline.records import LOCK, StageRecord, parse_lock
from vouch.tables.table import Table

FETCH = "`git fetch --unshallow` gets them"


class Revision:
    """name: a commit, tag or branch, as the user wrote it after `option`. commit: its digest."""

    def __init__(self, name: str, option: str = "--rev") -> None:
        """Raises UserError if there is no such commit."""
        self.name, self.commit = plain(name), _commit(name, option)

    @cached_property
    def title(self) -> str:
        """The commit's short name, day and subject."""
        return plain(git("log", "-1", "--format=%h %cs %s", self.commit).strip())

    def text(self, path: str) -> str:
        """The text of a file in git, relative to the current folder; empty if the commit lacks it."""
        done = run("git", "show", f"{self.commit}:./{path}")
        return "" if done.returncode else done.stdout

    @cached_property
    def records(self) -> Mapping[str, StageRecord]:
        """DVC's records by stage. Raises UserError if dvc.lock is damaged."""
        try:
            return parse_lock(self.text(str(LOCK)), str(LOCK))
        except UserError as error:
            raise UserError(f"{LOCK} at {self.name}: {problem(error)}; name another commit") from None

    @cached_property
    def outs(self) -> Mapping[str, str]:
        """Path -> digest of every recorded output."""
        sides = (record.outs for record in self.records.values())
        return {path: digest for outs in sides for path, digest in outs.items() if digest}

    def fetch(self, paths: Iterable[Path]) -> None:
        """Brings outputs into DVC's cache, those that it lacks from the remote. Raises UserError."""
        digests = {self._digest(path): path for path in paths}
        if missing := fetch(digests):
            raise UserError(
                f"{digests[min(missing)]} at {self.name}: neither here nor in the remote; `dvc push` it "
                "where it was made, or make it again: "
                f"`git worktree add ../then {self.name}`, there `dvc repro`"
            )

    def path_of(self, path: Path) -> Path:
        """Where DVC's cache holds the content of an output. Raises UserError."""
        return object_path(self._digest(path))

    def read(self, table: Table, path: Path, columns: Sequence[str] | None = None) -> pa.Table:
        """A table of the commit. Raises UserError."""
        self.fetch([path])
        try:
            return table.read(self.path_of(path), columns)
        except UserError as error:
            raise UserError(
                f"{path} at {self.name}: {problem(error)}, so they cannot be compared; look at them in a "
                f"checkout of it: `git worktree add ../then {self.name}`, there `dvc pull` and "
                "`python -m vouch.cli.main show`"
            ) from None

    def _digest(self, path: Path) -> str:
        digest = self.outs.get(path.as_posix())
        if digest is None:
            raise UserError(f"{path} at {self.name}: not recorded; name a commit whose results were recorded")
        return digest


def problem(error: UserError) -> str:
    """The part of an error that says what is wrong, without the file and without what to do."""
    return str(error).split(": ", 1)[-1].split(";")[0]


def _commit(name: str, option: str) -> str:
    advice = f"name a commit, tag or branch{', or two as A..B' if option == '--rev' else ''}"
    if not name:
        raise UserError(f"{option}: is empty; {advice}")
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    done = run("git", *words)
    if done.returncode:
        if is_shallow():
            advice = f"this clone is shallow: it lacks earlier commits, perhaps tags and branches; {FETCH}"
        raise UserError(f"{option}: {plain(name)}: {_first_line(done, 'no such commit')}; {advice}")
    return done.stdout.strip()


def is_shallow() -> bool:
    """Whether this clone lacks early commits. Raises UserError."""
    return git("rev-parse", "--is-shallow-repository").strip() == "true"


def git(*words: str) -> str:
    """The output of a git command. Raises UserError if it fails."""
    done = run("git", *words)
    if done.returncode:
        raise UserError(
            f"git {words[0]}: {_first_line(done, 'no reason given')}; name commits, tags or branches"
        )
    return done.stdout


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Runs a program; its texts are UTF-8, with a mark in place of what is not."""
    return subprocess.run(words, capture_output=True, encoding="utf-8", errors="replace", check=False)


def _first_line(done: subprocess.CompletedProcess[str], otherwise: str) -> str:
    """The first line on stderr of a command that failed."""
    return plain((done.stderr.strip().splitlines() or [otherwise])[0])

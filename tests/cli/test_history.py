"""How models moved over the commits of a real repository: results in DVC's cache, pins in dvc.lock."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from dvc.repo import Repo

from tests.cli.test_show import row
from vouch.cli.show import history, leaderboard_at
from vouch.pipeline.errors import UserError
from vouch.tables.results import LEADERBOARD

DAG = """\
stages:
  pin:
    foreach: {m: 1}
    do:
      cmd: mkdir -p data/models && cp pin.json data/models/m.json
      deps: [pin.json]
      outs: [data/models/m.json]
  compare:
    cmd: mkdir -p data/compare && cp made.parquet data/compare/leaderboard.parquet
    deps: [made.parquet]
    outs: [data/compare/leaderboard.parquet]
"""


def git(*words: str) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *who, *words], check=True, capture_output=True)


def results(value: float, pin: str, subject: str, **more: Any) -> None:
    """A commit with these results."""
    rows = [row("accuracy", value, **more), row("answered_alone_5", value / 2)]
    full = dict.fromkeys(LEADERBOARD.schema.names) | {"items": 10}
    LEADERBOARD.write(Path("made.parquet"), [full | each for each in rows])
    Path("pin.json").write_text(pin, "utf-8")
    with Repo() as repo:
        repo.reproduce()
    git("add", "-A")
    git("commit", "-qm", subject, "--allow-empty")


def test_numbers_of_every_version_with_the_pins_that_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    git("init", "-q")
    Repo.init().close()
    Path("dvc.yaml").write_text(DAG, "utf-8")
    Path(".gitignore").write_text("made.parquet\n", "utf-8")
    for value, pin, subject in (
        (0.5, "a", "one"),
        (0.5, "a", "same"),
        (0.25, "b", "two"),
        (0.75, "b", "three"),
    ):
        results(value, pin, f"{subject}\x1b[31m")
    git("tag", "last")
    head, *lines = history("last~3..last", "clean", variations=False).splitlines()
    assert head.startswith("3 versions of the results in last~3..last")
    assert all(name in line for name, line in zip(("one", "two", "three"), lines, strict=False))
    assert "\x1b" not in "".join(lines)
    (accuracy,) = (line for line in lines if " Accuracy " in line)
    assert accuracy.split() == ["d", "m", "Accuracy", "▅▁█", "0.500", "0.250*", "0.750", "+0.250"]
    assert any("Answered alone, 5 % wrong" in line and line.endswith("+0.125") for line in lines)
    subprocess.run(["git", "clone", "-q", "--depth", "2", f"file://{tmp_path}", "shallow"], check=True)
    subprocess.run(["git", "clone", "-q", "--depth", "9", f"file://{tmp_path}", "whole"], check=True)
    for clone, revision, said in (
        ("shallow", "last~3..last", "this clone is shallow.*`git fetch --unshallow` gets them"),
        ("shallow", "HEAD~2..HEAD", "this clone is shallow"),
        ("shallow", "v1.0..", "this clone is shallow"),
        ("whole", "HEAD~9..HEAD", "name a commit, tag or branch"),
    ):
        monkeypatch.chdir(tmp_path / clone)
        with pytest.raises(UserError, match=said):
            history(revision, "clean", variations=False)
    monkeypatch.chdir(tmp_path / "shallow")
    for revision in ("HEAD~2", "v1.0", "main~40"):
        with pytest.raises(UserError, match=r"--rev: .*this clone is shallow"):
            leaderboard_at(revision)
    monkeypatch.chdir(tmp_path)
    for span, said in (
        ("nowhere..last", "--rev: nowhere: no such commit; name a commit, tag or branch"),
        ("..last", r"--rev: \.\.last names no first commit; write A\.\.B"),
        ("last..last~1", r"last~1 comes before last; write last~1\.\.last"),
    ):
        with pytest.raises(UserError, match=said):
            history(span, "clean", variations=False)

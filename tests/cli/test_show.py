"""`vouch show`: the headline table, what changed since a commit, and the history over commits."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from dvc.repo import Repo

from tests.cli.conftest import Vouch, flat
from tests.models.project import ROOT
from vouch.cli.history import Version, _row, history, leaderboard_at
from vouch.cli.leaderboard import Size, cells, small
from vouch.cli.printing import unlimited
from vouch.cli.revision import Revision
from vouch.cli.show import _title, compared, headline, named
from vouch.pipeline.dvc_store import object_path
from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import load
from vouch.report.gates import ends
from vouch.tables.results import LEADERBOARD, LEADERBOARD_PATH
from vouch.tables.table import Table

LINE = {"dataset": "d", "variation": "original", "output": "letters", "model": "m", "category": "all"}


def row(metric: str, value: float, **changes: Any) -> dict[str, Any]:
    found = LINE | {"metric": metric, "value": value, "low": None, "high": None, "score": ""}
    return found | {"protocol": "clean", "calibration": "", "alpha": None} | changes


def test_of_several_targets_and_thresholds_the_main_ones_are_shown() -> None:
    of_sets = {"score": "lac", "calibration": "marginal", "alpha": 0.2}
    rows = [
        row("set_size", 9.0, **of_sets | {"alpha": 0.1}),
        row("set_size", 2.0, **of_sets | {"protocol": "faithful"}),
        row("set_size", 1.5, **of_sets),
        row("set_size", 8.0, **of_sets | {"calibration": "class"}),
        row("set_size", 7.0, **of_sets | {"alpha": 0.3}),
        row("accuracy", 0.75),
    ]
    found = cells(rows, "clean")
    assert [each["value"] for each in found["d", "original", "letters", "m"].values()] == [1.5, 0.75]
    assert cells(rows, "faithful")["d", "original", "letters", "m"]["set_size", "lac"]["value"] == 2.0
    assert "0.750" in headline(found) and " 1.50 " in headline(found) and "(target 0.8)" in headline(found)
    with unlimited():
        assert "Set size APS" in headline(found)
    (line,) = named(found)
    assert line["set_size_lac"]["value"] == 1.5 and line["model"] == "m"


@pytest.mark.parametrize("words", ["", "--json", "--variations --wide", "--protocol faithful --wide"])
def test_the_metrics_that_are_read_are_all_that_it_shows(
    scored: Path, vouch: Vouch, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.chdir(scored)
    some = vouch("show", *words.split())
    monkeypatch.setattr("vouch.cli.show._NEEDED", ())
    assert vouch("show", *words.split()) == some and "tiny_a" in some


@pytest.mark.parametrize(("rate", "coverage"), [(None, 1.0), (0.0, 1.0), (0.02, None), (1.0, None)])
def test_sets_that_hold_every_option_in_some_splits_are_no_result(
    rate: float | None, coverage: float | None
) -> None:
    """As in the report; and an interval of no width is none."""
    of_sets = {"score": "lac", "calibration": "marginal", "alpha": 0.1}
    rows = [row("accuracy", 0.5, low=0.25, high=0.75, items=12)]
    rows += [row(name, 1.0, low=1.0, high=1.0, **of_sets) for name in ("coverage", "set_size")]
    rows += [row("uacc", 1.0, score="mean", calibration="marginal", alpha=0.1)]
    rows += [row("set_size", 2.0, **of_sets | {"protocol": "faithful"})]
    if rate is not None:
        rows.append(row("infinite_threshold_rate", rate, calibration="marginal", alpha=0.1))
    found = cells(rows, "clean")
    of = found["d", "original", "letters", "m"]
    for name in (("coverage", "lac"), ("set_size", "lac"), ("uacc", "mean")):
        assert of.get(name, {}).get("value") == coverage
    assert (of["accuracy", ""]["low"], of.get(("coverage", "lac"), {}).get("low")) == (0.25, None)
    assert ends(0.3935, 0.3935 + 1e-16) == (None, None) and ends(0.39, 0.4) == (0.39, 0.4)
    with unlimited():
        assert "[1.0" not in headline(found)
    assert ("n.a.: sets need" in headline(found)) and "n.a. " not in headline({})
    assert small(found) == {"d": "too small to tell: 12 independent questions, fewer than 30"}
    (line,) = named(found)
    assert ("coverage_lac" in line) == (coverage is not None)


def test_models_on_a_small_dataset_stand_by_name() -> None:
    for items, order in ((29, ["a", "b"]), (30, ["b", "a"])):
        rows = [row("accuracy", value, model=name, items=items) for name, value in (("a", 0.2), ("b", 0.9))]
        assert [line["model"] for line in named(cells(rows, "clean"))] == order


def test_the_original_prompts_are_shown_unless_all_are_wanted() -> None:
    rows = [row("accuracy", 0.5, variation=name) for name in ("original", "vr_b", "")]
    rows += [row("accuracy", 0.5, dataset="e", variation="vr_b")]

    def shown(variations: bool) -> list[tuple[str, str]]:
        return [(dataset, variation) for dataset, variation, *_ in cells(rows, "clean", variations)]

    assert shown(False) == [("d", "original"), ("e", "vr_b")]
    assert shown(True) == [("d", "original"), ("d", "vr_b"), ("e", "vr_b")]


def test_a_comparison_shows_the_lines_that_changed() -> None:
    then = cells([row("accuracy", 0.5, model=name) for name in ("m", "gone", "same")], "clean")
    now = cells(
        [row("accuracy", value, model=name) for name, value in (("m", 0.75), ("new", 0.25), ("same", 0.5))],
        "clean",
    )
    for every in (True, False):
        with unlimited(every):
            lines = [line.split() for line in compared(now, then, every).splitlines()]
        changed, new, gone = (line for line in lines[2:-1] if line != ["d"])
        assert changed[:3] == ["m", "0.750", "(+0.250)"] and new[:3] == ["new", "0.250", "n.a."]
        assert new[-1] == "new" and lines[-1][:3] == ["1", "of", "3"]
        assert " ".join(gone) == "only in there: gone on d"
        assert compared(now, now, every) == "3 of 3 lines are unchanged\n"


def test_results_that_only_the_revision_has_are_named_without_an_empty_table() -> None:
    places = ({}, {"dataset": "e"}, {"output": "text"}, {"variation": "ls_n"})
    then = cells([row("accuracy", 0.5, model="old", **each) for each in places], "clean", variations=True)
    text = compared({}, then, rev="v1.0")
    assert flat(text) == ("only in v1.0: old on d (ls_n), d, d (text) and e 0 of 0 lines are unchanged")


def test_a_change_of_digits_that_are_not_shown_is_counted_alone() -> None:
    then = cells([row("accuracy", 0.5, model=name) for name in "abc"], "clean")
    values = {"a": 0.5, "b": 0.5001, "c": 10.5}
    now = cells([row("accuracy", value, model=name) for name, value in values.items()], "clean")
    with unlimited():
        *lines, last = compared(now, then, every=True).splitlines()
    assert [line.split()[:3] for line in lines[3:]] == [["c", "10.500", "(+10.000)"]]
    assert last == "1 of 3 lines are unchanged, 1 more differ only in digits that are not shown"
    hidden = [row("accuracy", 0.5), row("uacc", 0.5, score="mean")]
    changed = [row("accuracy", 0.5), row("uacc", 0.75, score="mean")]
    said = compared(cells(changed, "clean"), cells(hidden, "clean"))
    assert flat(said) == (
        "0 of 1 lines are unchanged, 1 more differ only in digits or columns that are not shown"
    )


def test_five_columns_in_eighty_characters_with_a_legend() -> None:
    """Also with the longest name of models.lock, every number with the widest interval that it can have."""
    name = max(load(ROOT / "models.lock")["models"], key=len)
    ends = {"low": 0.0, "high": 1.0, "items": 100_000, "model": name, "dataset": "a_dataset_of_a_long_name"}
    of_sets = {"score": "lac", "calibration": "marginal", "alpha": 0.1, **ends}
    rows = [row("accuracy", 0.5, **ends), row("ece", 0.5, **ends), row("coverage", 0.5, **of_sets)]
    rows += [row("set_size", 3.5, **of_sets), row("set_size", 3.5, **of_sets | {"protocol": "faithful"})]
    text = headline(cells(rows, "clean"))
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80 and len(lines[1].split()) == 5
    assert lines[0].split() == ["model", "Accuracy", "Coverage", "Set", "size", "ECE"]
    assert lines[2] == "a_dataset_of_a_long_name, 100,000 questions" and lines[3].startswith(
        f" {name}  0.500 ["
    )
    words = flat(text)
    assert all(f"{word}: " in words for word in ("Accuracy", "Coverage", "Set size", "ECE"))


def test_results_of_a_revision_that_cannot_be_compared_say_where_they_can_be_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    Path("dvc.yaml").write_text(DAG, "utf-8")
    Path(".gitignore").write_text("made.parquet\n", "utf-8")
    Path("pin.json").write_text("{}", "utf-8")
    subprocess.run(["git", "init", "-q"], check=True)
    Table("leaderboard", 1, pa.schema([("model", pa.string())])).write(Path("made.parquet"), [{"model": "m"}])
    with Repo.init() as repo:
        repo.reproduce()
    git("add", "-A")
    git("commit", "-qm", "results")
    git("tag", "v1")
    commit = Revision("v1").commit[:10]
    apart = f"look at them in a checkout of it: `git worktree add ../then {commit}`, there `dvc pull` and"
    with pytest.raises(
        UserError,
        match=f"v1: holds leaderboard/1, expected leaderboard/{LEADERBOARD.version}, so they .* compared; {apart}",
    ):
        leaderboard_at(Revision("v1"))
    with pytest.raises(UserError, match="--rev: is empty; name a commit"):
        Revision("")
    with pytest.raises(
        UserError, match=r"--rev: HEAD:\.gitignore: no such commit; name a commit, tag or branch"
    ):
        Revision("HEAD:.gitignore")
    cached = object_path(hashlib.md5(LEADERBOARD_PATH.read_bytes()).hexdigest())
    cached.chmod(0o644)
    cached.write_bytes(cached.read_bytes()[:-1])
    with pytest.raises(UserError, match="damaged; `vouch store verify --mend` removes what is damaged; then"):
        leaderboard_at(Revision("v1"))
    LEADERBOARD_PATH.unlink()
    shutil.rmtree(".dvc/cache")
    with pytest.raises(UserError, match="v1: neither here nor in the remote; `dvc push` it where") as missing:
        leaderboard_at(Revision("v1"))
    assert "\n" not in str(missing.value)
    git("rm", "-q", "--cached", "dvc.lock")
    git("commit", "-qm", "no results")
    with pytest.raises(UserError, match=r"leaderboard.parquet at HEAD: not recorded; name a commit whose"):
        leaderboard_at(Revision("HEAD"))


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


def test_what_only_one_version_has_did_not_change() -> None:
    line = ("d", "original", "letters", "m")
    numbers = {line: {("accuracy", ""): row("accuracy", 0.5)}}
    without, with_it = Version("a", {}, {}), Version("b", {}, numbers)
    assert _row([without, with_it], line, ("accuracy", "")) == ["Accuracy", " ▁", "", "0.500", "new"]
    for versions, change in (
        ([with_it], ""),
        ([with_it, with_it], "+0.000"),
        ([without, with_it, with_it], "+0.000 since 2"),
        ([with_it, with_it, without], "gone"),
        ([without, with_it, without], "gone"),
    ):
        assert (_row(versions, line, ("accuracy", "")) or [])[-1] == change


@pytest.mark.parametrize(
    ("rows", "items", "groups", "title"),
    [
        (240, 240, 240, "d, 240 questions"),
        (238, 240, 240, "d, 238 questions"),
        (4344, 4344, 1176, "d, 4,344 questions in 1,176 groups"),
        (4344, 1176, 1176, "d, 4,344 prompts of 1,176 questions"),
        (480, 240, 120, "d, 480 prompts of 240 questions in 120 groups"),
        (1, 1, 1, "d, 1 question"),
    ],
)
def test_the_title_of_a_dataset_counts_what_it_names(rows: int, items: int, groups: int, title: str) -> None:
    line, size = ("d", "original", "letters", "m"), Size(items, groups + 1, kept=groups)
    assert _title(line, {("accuracy", ""): {"items": rows, "protocol": "clean"}}, size) == title
    faithful = {("accuracy", ""): {"items": rows, "protocol": "faithful"}}
    assert _title(line, faithful, size) == title.partition(" in ")[0], "it splits groups"


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
            leaderboard_at(Revision(revision))
    monkeypatch.chdir(tmp_path)
    for span, said in (
        ("nowhere..last", "--rev: nowhere: no such commit; name a commit, tag or branch"),
        ("..last", r"--rev: \.\.last names no first commit; write A\.\.B"),
        ("last..last~1", r"last~1 comes before last; write last~1\.\.last"),
    ):
        with pytest.raises(UserError, match=said):
            history(span, "clean", variations=False)

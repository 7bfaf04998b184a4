"""Digests as DVC computes them, and the judgement of freshness by content."""

import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from dvc.repo import Repo, lock_repo

from vouch.cli import store
from vouch.pipeline.dag import Dag, Stage, left_out
from vouch.pipeline.digests import Digests
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import write_json
from vouch.pipeline.records import as_read, parse_lock, present, read_lock, receipt_path, write_receipt
from vouch.pipeline.state import by_reason, settle, stamp_path, states
from vouch.pipeline.yaml12 import dumped, load, loads

DEFINITION = """
stages:
  copy:
    cmd: python -c "import shutil; shutil.copytree('source', 'out'); shutil.copy('source/a', 'out.txt')"
    deps: [source]
    outs: [out, out.txt]
  next:
    cmd: python -c "import shutil; shutil.copy('out.txt', 'end.txt')"
    deps: [out.txt]
    outs: [end.txt]
"""


def in_project(folder, *command):
    bin_folder = os.path.dirname(sys.executable)
    env = {**os.environ, "PATH": bin_folder + os.pathsep + os.environ["PATH"]}
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=env)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A project of two stages, made by DVC."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "dvc.yaml").write_text(DEFINITION)
    (folder / ".dvcignore").write_text("__pycache__\n*.pyc\n.snakemake_timestamp\n")
    for name in ("a", "z", "sub/b", "sub/c d", "sub-x", "Ü"):
        path = folder / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {name}")
    (folder / "source/__pycache__").mkdir()
    (folder / "source/__pycache__/x.pyc").write_text("ignored")
    in_project(folder, "dvc", "init", "-q", "--no-scm")
    in_project(folder, "dvc", "repro", "-q")
    return folder


@pytest.fixture
def dag(made, tmp_path, monkeypatch):
    """The stages of a copy of it, which is the working folder."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    stages = load(Path("dvc.yaml"))["stages"]
    return Dag([Stage(n, s["cmd"], tuple(s["deps"]), tuple(s["outs"]), {}) for n, s in stages.items()])


def test_digests_are_those_of_dvc(dag):
    for name, record in read_lock().items():
        assert present(dag[name], Digests()) == record
    assert present(dag["copy"], Digests()).deps["source"].endswith(".dir")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("source/__pycache__/x.png", "__pycache__"),
        ("source/x.pyc", "x.pyc"),
        ("source/.venv/items.jsonl", ".venv"),
        ("source/.dvc/x.png", ".dvc"),
        ("source/.a.tmp", ".a.tmp"),
        ("../{here}/source/.git/x.png", ".git"),
        ("source/a", None),
        ("source/.hidden.png", None),
        ("../__pycache__/x.png", None),
        ("source/venv/x.png", None),
    ],
)
def test_what_no_digest_sees(dag, name, part):
    """Names of the project's folder alone: DVC's patterns end there."""
    path = Path(name.format(here=Path.cwd().name))
    before = Digests().of("source")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("new")
    if not path.is_relative_to(".."):
        assert (Digests().of("source") != before) == (part is None)
    assert left_out(path) == left_out(path.resolve()) == part


@pytest.mark.parametrize("where", ["source", "source/sub", "../elsewhere"])
def test_what_dvc_makes_of_ignore_files_of_a_folder(dag, where):
    """It refuses such a folder, in other words."""
    Path(where).mkdir(exist_ok=True)
    Path(where, ".dvcignore").write_text("*.png")
    with pytest.raises(
        UserError, match=r"\.dvcignore: DVC reads no folder that holds one; delete it, or move"
    ):
        Digests().of("source" if where.startswith("source") else where)


def test_a_repository_of_dvc_below_a_folder_is_refused(dag):
    """DVC leaves it out without a word."""
    Path("source/sub/.dvc").mkdir()
    with pytest.raises(UserError, match=r"source/sub: is a DVC repository of its own, which DVC leaves out"):
        Digests().of("source")


def test_a_folder_has_the_digest_of_its_names_from_wherever(dag, monkeypatch):
    there = Digests().of("source")
    monkeypatch.chdir("source")
    assert Digests().of(".") == there


@pytest.mark.parametrize("copied", [False, True])
def test_memory_is_dropped_when_a_file_changes(dag, copied):
    first = Digests()
    before = first.of("out.txt")
    first.save()
    assert Digests().of("out.txt") == before
    time_before = os.stat("out.txt").st_mtime_ns  # which `cp -p` and `tar` leave
    Path("out.txt").write_text("content of A")  # same length
    os.utime("out.txt", ns=(1, time_before if copied else 1))
    assert Digests().of("out.txt") != before


@pytest.mark.parametrize("text", ["", "not json", "[1]", '{"out.txt": [1]}', '{"out.txt": "x"}'])
def test_a_damaged_memory_only_costs_time(dag, text):
    before = Digests().of("out.txt")
    Path(".vouch").mkdir(exist_ok=True)
    Path(".vouch/digests.json").write_text(text)
    assert Digests().of("out.txt") == before


def fresh(dag):
    return {state.stage.name: state.fresh for state in states(dag)}


def why(dag, name):
    return next(state.why for state in states(dag) if state.stage.name == name)


def test_what_dvc_made_is_fresh(dag):
    assert fresh(dag) == {"copy": True, "next": True}


def test_each_kind_of_change_is_named(dag):
    Path("source/a").write_text("other")
    assert why(dag, "copy") == "input source changed" and fresh(dag)["next"]
    Path("source/a").write_text("content of a")
    Path("end.txt").write_text("by hand")
    assert why(dag, "next") == "output end.txt changed" and fresh(dag)["copy"]
    Path("end.txt").unlink()
    assert why(dag, "next") == "end.txt is missing"


def test_all_that_changed_is_named_in_a_line(dag):
    stage = dag["next"]
    old = {"params.yaml": {"score": {"alpha": 0.1, "seed": 1, **{f"k{n:02d}": 0 for n in range(30)}}}}
    new = {"params.yaml": {"score": {"alpha": 0.2, "seed": 2, **{f"k{n:02d}": 1 for n in range(30)}}}}
    write_receipt(stage, replace(present(stage, Digests()), params=old))
    Path("dvc.lock").unlink()
    Path("out.txt").write_text("other")
    (state,) = [
        one
        for one in states(Dag([dag["copy"], Stage(stage.name, stage.cmd, stage.deps, stage.outs, new)]))
        if one.stage.name == "next"
    ]
    assert len(state.causes) == 33 and state.causes[-1] == "input out.txt changed"
    assert state.why == (
        "params.yaml: score.alpha changed from 0.1 to 0.2; params.yaml: score.k00 changed from 0 to 1 and 31 more"
    )


def test_a_dataset_that_came_or_went_is_one_cause_in_words(dag):
    stage = dag["next"]
    pairs, mine = {"loader": "pairs", "settings": {"seed": 1, "items": 9}}, {"loader": "jsonl"}
    old = {"params.yaml": {"datasets": {"pairs": pairs, "shapes": {"loader": "shapes", "template": "a"}}}}
    new = {"params.yaml": {"datasets": {"mine": mine, "shapes": {"template": "a", "variant": "nothing"}}}}
    write_receipt(stage, replace(present(stage, Digests()), params=old))
    Path("dvc.lock").unlink()
    other = Stage(stage.name, stage.cmd, stage.deps, stage.outs, new)
    (state,) = [one for one in states(Dag([dag["copy"], other])) if one.stage.name == "next"]
    assert state.causes == (
        "params.yaml: datasets.mine is new",
        "params.yaml: datasets.pairs was taken out",
        "params.yaml: datasets.shapes.loader was taken out (it was shapes)",
        "params.yaml: datasets.shapes.variant is new: nothing",
    )


def test_without_outputs_it_is_still_named_what_changed(dag):
    """A run is needed then, not a pull; inputs that are missing as well say nothing."""
    stage = dag["next"]
    write_receipt(stage, replace(present(stage, Digests()), cmd="other"))
    Path("dvc.lock").unlink()
    for path in ("out.txt", "end.txt"):
        Path(path).unlink()
    assert why(dag, "next") == "end.txt is missing; its command changed"


def test_a_receipt_vouches_without_dvc(dag):
    Path("dvc.lock").unlink()
    assert why(dag, "next") == "no record of how its outputs were made"
    record = present(dag["next"], Digests())
    write_receipt(dag["next"], record)
    assert fresh(dag) == {"copy": False, "next": True}
    receipt_path(dag["next"]).write_text("{damaged")
    assert fresh(dag) == {"copy": False, "next": False}


def vouch_for(dag, *names):
    """Receipts in place of dvc.lock."""
    Path("dvc.lock").unlink()
    for name in names:
        write_receipt(dag[name], present(dag[name], Digests()))


def test_what_receipts_vouch_for_is_recorded_as_dvc_would(dag):
    text = Path("dvc.lock").read_text()
    vouch_for(dag, "copy", "next")
    assert store.record(states(dag)) == ["copy", "next"]
    assert load(Path("dvc.lock")) == loads(text, "dvc.lock")
    with Repo() as repo:
        assert repo.status() == {}
    assert store.record(states(dag)) == []


def test_what_nothing_vouches_for_is_not_recorded(dag):
    vouch_for(dag, "next")
    assert store.record(states(dag)) == ["next"]
    assert list(read_lock()) == ["next"]


def test_a_lock_that_dvc_holds_is_one_line(dag):
    vouch_for(dag, "next")
    with (
        Repo() as repo,
        lock_repo(repo),
        pytest.raises(UserError, match="another DVC command is at work; wait until it ends") as one,
    ):
        store.record(states(dag))
    assert "\n" not in str(one.value)


def test_what_snakemake_is_told_is_one_output_of_each_stage_and_what_nobody_makes_is_not():
    made = Stage("made", "", ("source",), ("data/a.1", "data/a.2"), {})
    other = Stage("other", "", (), ("data/b",), {})
    last = Stage("last", "", ("data", "stages/x.py", "data/b", "models.lock"), ("end",), {})
    watched = Dag([made, other, last]).watched(last)
    assert watched in (["data/a.1", "data/b"], ["data/a.2", "data/b"])


@pytest.mark.parametrize(
    "text", ["[]", "hello: [\n", "stages:\n  a: {cmd: [}\n", "stages: {next: {cmd: x, deps: 3}}"]
)
def test_a_damaged_lock_is_refused_in_one_line(dag, text):
    Path("dvc.lock").write_text(text)
    with pytest.raises(
        UserError, match=r"^dvc\.lock: not the lock file that DVC writes; .* `vouch store sync`"
    ):
        states(dag)


@pytest.mark.parametrize(
    "digest", ["xx/etc/passwd", "../" * 8 + "etc/passwd", f"{'0' * 32}/a", f"{'0' * 32}\n", "0" * 31, 1.5]
)
def test_a_lock_names_outputs_by_digests_and_not_by_paths(digest):
    """A commit of others names them: `vouch show --rev` and `vouch report --against` read them in the cache."""
    outs = [{"path": "data/a", "md5": digest}]
    with pytest.raises(UserError, match=r"^dvc\.lock: not the lock file that DVC writes"):
        parse_lock(dumped({"stages": {"next": {"cmd": "next", "outs": outs}}}), "dvc.lock")


def test_a_lock_is_read_where_receipts_do_not_suffice(dag):
    for name in ("copy", "next"):
        write_receipt(dag[name], present(dag[name], Digests()))
    Path("dvc.lock").write_text("[]")
    assert fresh(dag) == {"copy": True, "next": True}
    Path("source/a").write_text("other")
    with pytest.raises(UserError, match=r"^dvc\.lock"):
        states(dag)


def test_a_lock_with_a_merge_conflict_says_what_to_do(dag):
    ours = Path("dvc.lock").read_text()
    Path("dvc.lock").write_text(f"<<<<<<< HEAD\n{ours}=======\n{ours}>>>>>>> other\n")
    with pytest.raises(UserError, match=r"^dvc\.lock: holds a merge conflict; take one side whole"):
        read_lock()


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '{"cmd": 1, "params": 2, "deps": 3, "outs": 4}'])
def test_a_damaged_receipt_vouches_for_nothing(dag, text):
    Path("dvc.lock").unlink()
    receipt_path(dag["next"]).parent.mkdir(parents=True, exist_ok=True)
    receipt_path(dag["next"]).write_text(text)
    assert why(dag, "next") == "no record of how its outputs were made"


def test_changed_parameters_are_named_by_key(dag):
    stage = dag["next"]
    params = {"params.yaml": {"score": {"alpha": 0.1, "seed": 1}}}
    write_receipt(stage, replace(present(stage, Digests()), params=params))
    Path("dvc.lock").unlink()
    params = {"params.yaml": {"score": {"seed": 1, "alpha": 0.2}}}
    other = Dag([dag["copy"], Stage(stage.name, stage.cmd, stage.deps, stage.outs, params)])
    assert why(other, "next") == "params.yaml: score.alpha changed from 0.1 to 0.2"


PARAMS = {"params.yaml": {"score.alpha": 0.2, "compare": {"resamples": 60, "seeds": [1, 2]}}}


@pytest.mark.parametrize(
    ("recorded", "reason"),
    [
        ({}, ""),
        (
            {"params": {"params.yaml": {"compare": {"seeds": [1, 2], "resamples": 60}, "score.alpha": 0.2}}},
            "",
        ),
        (
            {"params": {"params.yaml": PARAMS["params.yaml"] | {"score.alpha": 0.1}}},
            "score.alpha changed from 0.1 to 0.2",
        ),
        ({"params": {"params.yaml": {"score.alpha": 0.2}}}, "params.yaml.compare is new"),
        (
            {"params": {"params.yaml": PARAMS["params.yaml"] | {"b": 1}}},
            "params.yaml.b was taken out (it was 1)",
        ),
        ({"params": {}}, "params.yaml is new"),
        ({"inputs": {"source": "0" * 32}}, "source changed from 0000"),
        ({"inputs": {}}, "source is new: "),
        ({"params": None, "inputs": None}, ""),
    ],
)
def test_a_lock_that_a_merge_made_vouches_for_nothing_that_never_ran(dag, recorded, reason):
    """Its entry fits the files, each of which came from one branch; the record of the run says which run it was."""
    copy = dag["copy"]
    stage = Stage("copy", copy.cmd, copy.deps, (*copy.outs, "data/runs/copy.json"), PARAMS)
    before = present(stage, Digests())
    made = {"params": PARAMS, "inputs": dict(before.deps)} | recorded
    old = made["params"] is None  # a record of an earlier version, which held neither
    write_json(Path("data/runs/copy.json"), {"stage": "copy"} | ({} if old else made))
    now = present(stage, Digests())
    sides = {
        side: [{"path": k, "md5": v} for k, v in getattr(now, side).items()] for side in ("deps", "outs")
    }
    Path("dvc.lock").write_text(
        dumped({"schema": "2.0", "stages": {"copy": {"cmd": now.cmd, "params": PARAMS, **sides}}})
    )
    said = why(Dag([stage]), "copy")
    assert bool(said) == bool(reason) and reason in said
    if said:
        assert (
            "dvc.lock has a state that no run has made" in said
            and "`dvc repro --force --single-item copy`" in said
        )
        write_receipt(stage, now)
        assert fresh(Dag([stage])) == {"copy": True}, "a receipt never passes through git"


def test_stamps_say_what_contents_say(dag):
    settle(dag)
    for name in ("copy", "next"):
        assert os.stat(stamp_path(dag[name])).st_mtime_ns == 1
    os.utime("out.txt")  # newer than what was made from it: the contents did not change
    settle(dag)
    assert os.stat("end.txt").st_mtime_ns >= os.stat("out.txt").st_mtime_ns
    Path("source/a").write_text("other")
    settle(dag)
    assert os.stat(stamp_path(dag["copy"])).st_mtime_ns > os.stat("out.txt").st_mtime_ns
    assert os.stat(stamp_path(dag["next"])).st_mtime_ns == 1


@pytest.mark.parametrize("stale", [False, True])
def test_times_in_the_future_come_back(dag, stale):
    """A job whose outputs are older than what it has read is one that Snakemake fails."""
    ahead = time.time() + 86400  # a clock that was wrong then
    for path in ("source/a", "source", "out.txt", "end.txt"):
        os.utime(path, (ahead, ahead))
    if stale:
        Path("source/a").write_text("other")
    before = time.time_ns()
    settle(dag)
    stamp, out, end = (os.stat(path).st_mtime_ns for path in (stamp_path(dag["copy"]), "out.txt", "end.txt"))
    assert stamp <= time.time_ns() and before - 2_000_000_000 < out <= end <= time.time_ns()
    assert (stamp > out) == stale


def _as_another_user(act):
    """The exit status of `act` in a child that is somebody else, of no group that counts."""
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            act()
        except BaseException as error:
            os.write(2, f"{error}\n".encode())
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
def test_two_users_who_may_both_write(dag, capfd):
    """Times of a file may be chosen by its owner alone."""
    settle(dag)
    for path in (Path(), *Path().rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    os.utime("out.txt")
    made = os.stat("out.txt").st_mtime_ns
    assert _as_another_user(lambda: settle(dag)) == 0, capfd.readouterr().err
    assert os.stat("end.txt").st_mtime_ns >= made
    assert [os.stat(stamp_path(dag[name])).st_mtime_ns for name in ("copy", "next")] == [1, 1]
    assert os.stat("end.txt").st_uid == 0, "nothing is made anew"
    Path("end.txt").chmod(0o644)
    os.utime("out.txt")
    assert _as_another_user(lambda: settle(dag)) == 1
    assert "end.txt: is another user's" in capfd.readouterr().err


def test_reasons_are_grouped(dag):
    for path in ("out.txt", "end.txt"):
        Path(path).unlink()
    lines = by_reason([state for state in states(dag) if not state.fresh])
    assert lines == [("copy", "out.txt is missing"), ("next", "end.txt is missing")]


@pytest.fixture
def partial(tmp_path, monkeypatch):
    """A stage that reads its entry of a file, one file of a folder and, with a judge, one key of a parameter."""
    monkeypatch.chdir(tmp_path)
    Path("decisions").mkdir()
    Path("code.py").write_text("")
    Path("models.lock").write_text("models: {a: {dtype: x}, b: {dtype: y}}\n")
    Path("out.txt").write_text("")

    def stage(judge: str | None = "a", alpha: float = 0.1) -> Stage:
        return Stage(
            "one",
            "true",
            ("code.py", "decisions", "models.lock"),
            ("out.txt",),
            {"params.yaml": {"score": {"judge": {"model": judge}, "alpha": alpha}, "models": {"a": 1}}},
            reads={"decisions": ["left.csv"], "models.lock": ["models.*"], "score": ["judge"]},
            without={"score.judge.model": ["code.py"]},
        )

    return stage


ALL = {
    "nothing": (lambda: None, ""),
    "a comment": (
        lambda: Path("models.lock").write_text("models: {a: {dtype: x}, b: {dtype: y}}  # b\n"),
        "",
    ),
    "another entry": (lambda: Path("models.lock").write_text("models: {a: {dtype: x}, b: {dtype: z}}\n"), ""),
    "its entry": (
        lambda: Path("models.lock").write_text("models: {a: {dtype: z}}\n"),
        "models.lock: models.a changed",
    ),
    "another file": (lambda: Path("decisions/right.csv").write_text("x"), ""),
    "its file": (lambda: Path("decisions/left.csv").write_text("x"), "decisions/left.csv changed"),
    "code": (lambda: Path("code.py").write_text("# a remark"), "code.py changed"),
}


@pytest.mark.parametrize("edit", ALL)
def test_a_part_of_an_input_counts_alone(partial, edit):
    stage, (make, reason) = partial(), ALL[edit]
    write_receipt(stage, as_read(stage, present(stage, Digests()), Digests()))
    make()
    assert why(Dag([stage]), "one").endswith(reason) and fresh(Dag([stage])) == {"one": not reason}


def test_a_part_of_a_parameter_counts_alone(partial):
    stage = partial()
    assert stage.read_params == {"params.yaml": {"score": {"judge": {"model": "a"}}, "models": {"a": 1}}}
    write_receipt(stage, as_read(stage, present(stage, Digests()), Digests()))
    assert fresh(Dag([partial(alpha=0.2)])) == {"one": True}
    assert why(Dag([partial(judge="b")]), "one") == "params.yaml: score.judge.model changed from a to b"


@pytest.mark.parametrize("edit", ALL)
def test_without_a_parameter_a_stage_reads_what_is_left(partial, edit):
    stage = partial(judge=None)
    write_receipt(stage, as_read(stage, present(stage, Digests()), Digests()))
    ALL[edit][0]()
    assert fresh(Dag([partial(judge=None, alpha=0.2)])) == {"one": edit != "code"}
    assert fresh(Dag([partial(judge="a")])) == {"one": False}

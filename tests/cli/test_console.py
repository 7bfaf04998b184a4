"""The `vouch` command on a small checkout: switching, pruning, planning, showing."""

import errno
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.checkouts.checkout import ROOT, Checkout
from vouch.cli.main import main
from vouch.params.check import check_params
from vouch.pipeline.files import HOST
from vouch.pipeline.yaml12 import load


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return Checkout(tmp_path_factory.mktemp("console") / "one")


@pytest.fixture
def kept(checkout):
    before = (checkout.path / "params.yaml").read_bytes()
    yield checkout
    (checkout.path / "params.yaml").write_bytes(before)


def line(done):
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("vouch: "), done.stderr
    return done.stderr


def test_the_committed_params_are_the_demo():
    assert (ROOT / "params.yaml").read_bytes() == (ROOT / "profiles/demo.yaml").read_bytes()


@pytest.mark.parametrize("profile", sorted(path.stem for path in (ROOT / "profiles").glob("*.yaml")))
def test_every_profile_names_itself(profile):
    assert f"\nprofile: {profile}\n" in (ROOT / f"profiles/{profile}.yaml").read_text("utf-8")


@pytest.mark.parametrize("profile", ["demo", "small", "kostumov", "azad", "reform", "tu", "parc"])
def test_profiles_are_valid(profile, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert check_params(load(ROOT / f"profiles/{profile}.yaml"), profile).profile == profile


def test_plan_before_anything_runs(checkout):
    out = checkout.vouch("plan").stdout
    assert "profile small" in out and "4 cells" in out
    assert "88 prompts" in out, "2 models x (24 + 20) items"
    assert "12 forward passes" in out, "2 x (3 + 3) batches of 8"
    assert "21 stages are not up to date: 2 prepare, " in out
    assert [path.name for path in (checkout.path / "data").iterdir()] == ["README.md"]


def test_use_sets_values_and_keeps_comments(kept):
    kept.vouch("use", "small", "--set", "score.alpha=0.25")
    text = (kept.path / "params.yaml").read_text("utf-8")
    assert "alpha: 0.25" in text and text.startswith("# As small as")
    edited = text + "# mine\n"
    (kept.path / "params.yaml").write_text(edited, "utf-8")
    said = kept.vouch("use", "small").stdout
    kept.vouch("use", "demo")
    (backup,) = [f for f in (kept.path / ".vouch/params").glob("*.yaml") if f.read_text("utf-8") == edited]
    assert str(backup.relative_to(kept.path)) in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nosuch"], ["no profile nosuch", "demo"]),
        (["smal"], ["did you mean small?"]),
        (["../params"], ["no profile"]),
        (["small", "--set", "score.alfa=1"], ["score.alfa", "did you mean alpha?"]),
        (["small", "--set", "score.alpha"], ["KEY=VALUE"]),
        (["small", "--set", "score.alpha=none"], ["score.alpha"]),
        (["small", "--set", "score.alpha=[0.1"], ["score.alpha", "YAML"]),
        (["small", "--set", "datasets.left.loader=jsnol"], ["did you mean jsonl?"]),
        (["small", "--set", "variations=[]"], ["variations"]),
        (["small", "--set", "variations=[vr_b, vr_b_3]"], ["variations", "vr_b_3 is the same as vr_b"]),
        (
            ["small", "--set", "variations=[vs_s+vr_b]"],
            ["variations", "vs_s and vr_b both change the pictures"],
        ),
        (["small", "--set", "variations=[vr_b_9]"], ["variations", "valid: vr_b_1 to vr_b_5"]),
        (["small", "--set", "variations=[vr_b+]"], ["variations"]),
        (["small", "--set", "datasets={}"], ["needs one dataset and one model"]),
        (["released", "--set", "released=[]"], ["released must be {path: FOLDER"]),
    ],
)
def test_a_refused_switch_changes_nothing(kept, arguments, words):
    before = (kept.path / "params.yaml").read_bytes()
    message = line(kept.vouch("use", *arguments, check=False))
    assert all(word in message for word in words), message
    assert (kept.path / "params.yaml").read_bytes() == before


def test_a_switch_that_cannot_remove_says_how_far_it_is(kept, monkeypatch, capsys):
    left = kept.path / f"data/items/.left.parquet.{HOST}.999999999.part"
    left.parent.mkdir(parents=True, exist_ok=True)
    left.write_text("half")
    unlink = Path.unlink

    def refused(path, missing_ok=False):  # root, who may run this, can remove what a mode protects
        if path.name == left.name:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        unlink(path, missing_ok)

    with monkeypatch.context() as patched:
        patched.chdir(kept.path)
        patched.setattr(Path, "unlink", refused)
        assert main(["use", "small", "--set", "score.alpha=0.3"]) == 1
    left.unlink()
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and "params.yaml is small already" in told and "`vouch prune`" in told, told
    assert "alpha: 0.3" in (kept.path / "params.yaml").read_text("utf-8")


def test_prune_removes_what_a_record_names_and_nothing_else(kept):
    """Own data below data/ and files of unknown origin stay; outputs of a gone stage go once they are cached."""
    own = kept.path / "data/raw/kites"
    own.mkdir(parents=True)
    (own / "items.jsonl").write_text('{"question": "q?", "options": ["x", "y"], "answer": 0}\n')
    kept.edit(
        "params.yaml",
        "datasets:",
        "datasets:\n  kites: {loader: jsonl, source: data/raw/kites, template: plain, settings: {}}",
    )
    kept.dvc("repro", "prepare@kites", "prepare@left")
    unknown = kept.path / "reports/notes.txt"
    unknown.parent.mkdir(exist_ok=True)
    unknown.write_text("mine")
    (kept.path / f"data/items/.left.parquet.{HOST}.999999999.part").write_text("half")
    half = kept.path / f"reports/.figures.{HOST}.999999999.part/accuracy.svg"
    memory = kept.path / f".vouch/.digests.json.{HOST}.999999999.part"
    half.parent.mkdir()
    memory.write_text("half")
    of_dvc = kept.path / "data/prompts/.Gq0Oym7f46m8q2Gpqi3dTA.tmp"
    of_dvc.parent.mkdir(exist_ok=True)
    of_dvc.write_text("")
    half.write_text("half")
    kept.edit("params.yaml", "  left: {loader: shapes", "  moved: {loader: shapes")

    listed = kept.vouch("prune", "--dry-run").stdout
    assert "would remove data/items/left.parquet" in listed and "left reports/notes.txt" in listed
    assert ".tmp" not in listed
    assert (kept.path / "data/items/left.parquet").exists()
    kept.vouch("prune")
    assert not list((kept.path / "data").rglob("*left*")) and not half.parent.exists()
    assert not memory.exists() and not of_dvc.exists()
    assert (
        (own / "items.jsonl").exists()
        and unknown.exists()
        and (kept.path / "data/items/kites.parquet").exists()
    )
    assert "nothing to remove" in kept.vouch("prune").stdout
    unknown.unlink()


@pytest.mark.parametrize("command", [["use", "demo"], ["prune", "--force"], ["verify", "--mend"]])
def test_nothing_is_removed_while_an_engine_works(kept, command):
    kept.dvc("repro", "prepare@left")
    made, lock = kept.path / "data/items/left.parquet", kept.path / "dvc.lock"
    kept.edit("params.yaml", "  left: {loader: shapes", "  moved: {loader: shapes")
    if command[0] == "verify":
        made.write_bytes(b"damaged")
    before = [path.read_bytes() for path in (kept.path / "params.yaml", made, lock)]
    book = kept.path / ".dvc/tmp/rwlock"
    book.write_text(json.dumps({"write": {str(made): {"pid": os.getpid(), "cmd": "dvc repro"}}, "read": {}}))
    try:
        assert f"(PID {os.getpid()}): at work in this checkout" in line(kept.vouch(*command, check=False))
    finally:
        book.unlink()
    assert [path.read_bytes() for path in (kept.path / "params.yaml", made, lock)] == before
    made.unlink()


def test_a_stage_keeps_the_record_that_it_is_writing(kept):
    part, old = (
        kept.path / f".vouch/receipts/.one.json.{HOST}.{pid}.part" for pid in (os.getpid(), 999999999)
    )
    part.parent.mkdir(parents=True, exist_ok=True)
    for path in (part, old):
        path.write_text("half")
    kept.vouch("prune")
    assert part.exists() and not old.exists()
    part.unlink()


def test_prune_refuses_to_lose_what_the_cache_does_not_hold(kept):
    kept.run("python", "-m", "stages.prepare", "right")
    kept.edit("params.yaml", "  right: {loader: shapes", "  moved: {loader: shapes")
    made = kept.path / "data/items/right.parquet"
    assert "--force" in line(kept.vouch("prune", check=False)) and made.exists()
    kept.vouch("prune", "--force")
    assert not made.exists()


def test_a_switch_records_results_before_it_removes_them(kept):
    kept.run("python", "-m", "stages.prepare", "right")
    kept.vouch("use", "demo")
    assert not (kept.path / "data/items/right.parquet").exists()
    kept.vouch("use", "small")
    assert "Running" not in kept.dvc("repro", "prepare@right").stdout
    assert (kept.path / "data/items/right.parquet").exists()


@pytest.mark.parametrize("away", [False, True])
def test_what_was_made_here_with_the_recorded_bytes_comes_into_the_cache(checkout, tmp_path, away):
    """As in a clone of a machine with the same processor: dvc.lock fits although nothing was pulled."""
    here, cache = checkout.copy(tmp_path / "one"), tmp_path / "one/.dvc/cache"
    if away:
        cache = tmp_path / "objects"
        here.dvc("cache", "dir", "--local", str(cache))

    def lacking():
        return {name.rpartition(":")[2] for name in here.dvc_status()} & {"prepare@right", "train@tiny_a"}

    here.run("python", "-m", "stages.prepare", "right")
    here.run("python", "-m", "stages.train", "tiny_a")
    here.vouch("sync", "--partial")
    for folder in ("files", "runs"):
        shutil.rmtree(cache / folder, ignore_errors=True)
    before = (here.path / "dvc.lock").read_bytes()
    assert lacking() == {"prepare@right", "train@tiny_a"}
    here.vouch("sync", "--partial")
    assert (here.path / "dvc.lock").read_bytes() == before and not lacking()
    next(cache.rglob("*.dir")).write_bytes(b"[")
    assert "`vouch verify --mend`" in line(here.vouch("sync", "--partial", check=False))


def test_what_was_pulled_comes_back_after_a_switch(kept):
    """A pull brings no records of runs. Without them what dvc.lock forgets would be made again: weights, too."""
    runs = kept.path / ".dvc/cache/runs"
    shutil.rmtree(runs, ignore_errors=True)
    kept.dvc("repro", "--force", "prepare@right")
    made = {path: path.read_bytes() for path in kept.path.glob("data/*/right*") if path.parent.name != "runs"}
    before = {path.relative_to(runs): path.read_bytes() for path in runs.rglob("*") if path.is_file()}
    shutil.rmtree(runs)
    kept.vouch("use", "demo")
    again = {path.relative_to(runs): path.read_bytes() for path in runs.rglob("*") if path.is_file()}
    assert before.keys() <= again.keys(), "the names that DVC gives them"
    assert not any(path.exists() for path in made)
    kept.vouch("use", "small")
    assert "Running" not in kept.dvc("repro", "prepare@right").stdout
    assert made and {path: path.read_bytes() for path in made} == made


def test_a_copy_without_git_is_refused_in_one_line_and_keeps_its_profile(checkout, tmp_path):
    here = checkout.copy(tmp_path / "one")
    here.dvc("repro", "prepare@right")
    shutil.rmtree(here.path / ".git")
    before = {name: (here.path / name).read_bytes() for name in ("params.yaml", "dvc.lock")}
    said = line(here.vouch("use", "demo", check=False))
    assert "is not a git repository" in said and "take a clone, or `git init` here" in said
    assert {name: (here.path / name).read_bytes() for name in before} == before
    assert (here.path / "data/items/right.parquet").exists()


def test_what_snakemake_puts_into_folders_keeps_no_profile(kept):
    """DVC ignores its marks, so no cache holds them; they are nobody's results."""
    kept.run("snakemake", "--cores", "1", "train-tiny_a")
    (mark,) = kept.path.glob("data/models/tiny_a/.snakemake_timestamp")
    kept.vouch("use", "demo")
    assert not mark.parent.exists()
    kept.vouch("use", "small")
    assert "Running" not in kept.dvc("repro", "train@tiny_a").stdout


def test_pull_without_a_remote_says_what_to_add(checkout):
    settings = (checkout.path / ".dvc/config").read_text("utf-8")
    if "remote" in settings:
        checkout.dvc("remote", "remove", "results")
    done = checkout.vouch("pull", "tiny_a", check=False)
    (checkout.path / ".dvc/config").write_text(settings, "utf-8")
    assert done.returncode == 1 and "dvc remote add" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may write everywhere")
def test_a_pull_that_may_not_write_names_the_folder_and_not_the_remote(checkout, tmp_path):
    here = checkout.copy(tmp_path / "one")
    here.vouch("pull", check=False)  # DVC's own folders
    (here.path / "data").mkdir(exist_ok=True)
    bound = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    for folder in (".dvc/tmp", "data"):
        (here.path / folder).chmod(0o555)
        done = here.run(*bound, sys.executable, "-m", "vouch.cli.main", "pull", check=False)
        (here.path / folder).chmod(0o755)
        assert line(done).startswith(f"vouch: {here.path / folder}: you may not write here"), done.stderr


def test_show_without_results_says_what_to_run(checkout):
    assert "dvc repro" in line(checkout.vouch("show", check=False))


def test_help_says_where_numbers_and_exit_statuses_are_told(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    said = capsys.readouterr().out
    assert end.value.code == 0 and "reports/metrics.json" in said
    (page,) = re.findall(r"docs/\w+\.md", said)
    assert "The exit status is" in (ROOT / page).read_text("utf-8")


def test_too_little_memory_is_one_line(capsys, monkeypatch):
    monkeypatch.setattr("vouch.cli.plan.run", lambda options: bytearray(1 << 60))
    assert main(["plan"]) == 1
    assert capsys.readouterr().err.startswith("vouch: memory ran out; ")


def test_outside_a_checkout(checkout, tmp_path):
    done = checkout.run("sh", "-c", f"cd {tmp_path} && PYTHONPATH={checkout.path} python -m vouch.cli.main show",
                        check=False)  # fmt: skip
    assert "not inside a checkout" in line(done)


def test_a_subfolder_of_a_checkout_will_do(checkout):
    done = checkout.run("sh", "-c", "cd docs && python -m vouch.cli.main plan", check=False)
    assert done.returncode == 0, done.stderr

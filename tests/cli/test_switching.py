"""Switching between profiles in a whole checkout: what `use`, `prune`, `sync` and `pull` keep and remove."""

import errno
import hashlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checkouts.checkout import Checkout
from tests.cli.conftest import Vouch, enter
from vouch.cli.main import main
from vouch.pipeline.files import HOST


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return Checkout(tmp_path_factory.mktemp("console") / "one")


@pytest.fixture
def kept(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> Iterator[Checkout]:
    """The checkout, which is the present folder; its profile is small again afterwards."""
    before = (checkout.path / "params.yaml").read_bytes()
    yield enter(checkout, monkeypatch)
    (checkout.path / "params.yaml").write_bytes(before)


@pytest.fixture
def copied(checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """A copy to spoil, which is the present folder."""
    return enter(checkout.copy(tmp_path / "one"), monkeypatch)


def test_plan_before_anything_runs(kept: Checkout, vouch: Vouch) -> None:
    out = vouch("plan")
    assert "profile small" in out and "4 cells" in out
    assert "88 prompts" in out, "2 models x (24 + 20) items"
    assert "12 forward passes" in out, "2 x (3 + 3) batches of 8"
    assert "25 stages are not up to date: 2 prepare, " in out
    assert [path.name for path in (kept.path / "data").iterdir()] == ["README.md"]
    assert "dvc repro" in vouch("show", status=1)


def test_use_sets_values_and_keeps_comments(kept: Checkout, vouch: Vouch) -> None:
    vouch("use", "small", "--set", "score.alpha=0.25")
    text = (kept.path / "params.yaml").read_text("utf-8")
    assert "alpha: 0.25" in text and "\n# As small as" in text
    edited = text + "# mine\n"
    (kept.path / "params.yaml").write_text(edited, "utf-8")
    printed = vouch("use", "small")
    vouch("use", "demo")
    (backup,) = [f for f in (kept.path / ".vouch/params").glob("*.yaml") if f.read_text("utf-8") == edited]
    assert str(backup.relative_to(kept.path)) in printed


def test_a_refused_switch_changes_nothing(kept: Checkout, vouch: Vouch) -> None:
    before = (kept.path / "params.yaml").read_bytes()
    for profile, setting, *claims in (
        ("nosuch", "", "no profile nosuch", "demo"),
        ("smal", "", "did you mean small?"),
        ("../params", "", "no profile"),
        ("small", "score.alfa=1", "score.alfa", "did you mean alpha?"),
        ("small", "score.alpha", "KEY=VALUE"),
        ("small", "score.alpha=none", "score.alpha"),
        ("small", "score.alpha=[0.1", "score.alpha", "YAML"),
        ("small", "datasets.left.loader=jsnol", "did you mean jsonl?"),
        ("small", "variations=[]", "variations"),
        ("small", "variations=[vr_b, vr_b_3]", "variations", "vr_b_3 is the same as vr_b"),
        ("small", "variations=[vs_s+vr_b]", "variations", "vs_s and vr_b both change the images"),
        ("small", "variations=[vr_b_9]", "variations", "valid: vr_b_1 to vr_b_5"),
        ("small", "variations=[vr_b+]", "variations"),
        ("small", "datasets={}", "datasets: ", "1 or more entries"),
        ("released", "released=[]", "released: the whole file: Input should be", "found []"),
        (
            "released",
            "released.path=3",
            "released: path: Input should be text (a number needs quotes), found 3",
        ),
        ("released", "released.path=dvc.yaml", "dvc.yaml/items-DATASET.parquet: no such file"),
        (
            "released",
            "released.datasets=demo",
            "datasets: Input should be a list, such as `[one, two]`, found 'demo'",
        ),
        ("released", "released.datasets=[a, a]", "released: datasets: a is a duplicate"),
    ):
        message = vouch("use", profile, *(["--set", setting] if setting else []), status=1)
        assert all(claim in message for claim in claims), message
        assert (kept.path / "params.yaml").read_bytes() == before


def test_a_switch_that_cannot_remove_says_how_far_it_is(
    kept: Checkout, vouch: Vouch, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (kept.path / "params.yaml").read_bytes()
    left = kept.path / f"data/items/.left.parquet.{HOST}.999999999.part"
    left.parent.mkdir(parents=True, exist_ok=True)
    left.write_text("half")
    unlink = Path.unlink

    def refused(
        path: Path, missing_ok: bool = False
    ) -> None:  # root, who may run this, can remove what a mode protects
        if path.name == left.name:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        unlink(path, missing_ok)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refused)
        assert main(["use", "small", "--set", "score.alpha=0.3"]) == 1
    left.unlink()
    error = capsys.readouterr().err
    assert (
        error.count("\n") == 1 and "params.yaml is not small yet" in error and "then run it again" in error
    ), error
    assert (kept.path / "params.yaml").read_bytes() == before
    vouch("use", "small", "--set", "score.alpha=0.3")
    assert "alpha: 0.3" in (kept.path / "params.yaml").read_text("utf-8")


def test_prune_removes_what_a_record_names_and_nothing_else(kept: Checkout, vouch: Vouch) -> None:
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

    listed = vouch("store", "prune", "--dry-run")
    assert "would remove data/items/left.parquet" in listed and "left reports/notes.txt" in listed
    assert ".tmp" not in listed
    assert (kept.path / "data/items/left.parquet").exists()
    vouch("store", "prune")
    assert not list((kept.path / "data").rglob("*left*")) and not half.parent.exists()
    assert not memory.exists() and not of_dvc.exists()
    assert (
        (own / "items.jsonl").exists()
        and unknown.exists()
        and (kept.path / "data/items/kites.parquet").exists()
    )
    assert "nothing to remove" in vouch("store", "prune")
    unknown.unlink()


@pytest.mark.parametrize(
    "command", [["use", "demo"], ["store", "prune", "--force"], ["store", "verify", "--mend"]]
)
def test_nothing_is_removed_while_a_runner_works(kept: Checkout, vouch: Vouch, command: list[str]) -> None:
    kept.dvc("repro", "prepare@left")
    made, lock = kept.path / "data/items/left.parquet", kept.path / "dvc.lock"
    kept.edit("params.yaml", "  left: {loader: shapes", "  moved: {loader: shapes")
    if "verify" in command:
        made.write_bytes(b"damaged")
    before = [path.read_bytes() for path in (kept.path / "params.yaml", made, lock)]
    book = kept.path / ".dvc/tmp/rwlock"
    parent = os.getppid()
    book.write_text(json.dumps({"write": {str(made): {"pid": parent, "cmd": "dvc repro"}}, "read": {}}))
    try:
        assert f"(PID {parent}): at work in this checkout" in vouch(*command, status=1)
    finally:
        book.unlink()
    assert [path.read_bytes() for path in (kept.path / "params.yaml", made, lock)] == before
    made.unlink()


def test_a_stage_keeps_the_record_that_it_is_writing(kept: Checkout, vouch: Vouch) -> None:
    part, old = (
        kept.path / f".vouch/receipts/.one.json.{HOST}.{pid}.part" for pid in (os.getpid(), 999999999)
    )
    part.parent.mkdir(parents=True, exist_ok=True)
    for path in (part, old):
        path.write_text("half")
    vouch("store", "prune")
    assert part.exists() and not old.exists()
    part.unlink()


def test_prune_moves_what_the_cache_does_not_hold(kept: Checkout, vouch: Vouch) -> None:
    """As after a run that failed; it comes back with its records, and is not made again."""
    kept.run("python", "-m", "stages.prepare", "right")
    made, params = kept.path / "data/items/right.parquet", (kept.path / "params.yaml").read_bytes()
    content = made.read_bytes()
    kept.edit("params.yaml", "  right: {loader: shapes", "  moved: {loader: shapes")
    assert "would move data/items/right.parquet" in vouch("store", "prune", "--dry-run") and made.exists()
    assert "moved data/items/right.parquet to .vouch/unused" in vouch("store", "prune") and not made.exists()
    (kept.path / "params.yaml").write_bytes(params)
    assert "brought back" in vouch("store", "restore") and made.read_bytes() == content
    assert "prepare@right" not in json.loads(vouch("store", "sync", "--partial", "--json"))["not_recorded"]
    assert "nothing to bring back" in vouch("store", "restore")
    kept.run("python", "-m", "stages.prepare", "right")
    kept.edit("params.yaml", "  right: {loader: shapes", "  moved: {loader: shapes")
    shutil.rmtree(kept.path / ".dvc/cache/files")
    vouch("store", "prune", "--force")
    assert not made.exists() and "nothing to bring back" in vouch("store", "restore")


@pytest.mark.parametrize("stage", [("prepare", "left"), ("compare",)])
def test_a_stage_moves_what_none_makes_out_of_folders_that_it_reads(
    kept: Checkout, vouch: Vouch, stage: tuple[str, ...]
) -> None:
    """Nothing is lost: of several files that had one path, the last comes back first."""
    gone = kept.path / "data/scores/gone model.metrics.parquet"
    gone.parent.mkdir(parents=True, exist_ok=True)
    for content in ("older", "older", "newer"):
        gone.write_text(content)
        printed = kept.run("python", "-m", *(f"stages.{stage[0]}", *stage[1:]), check=False).stderr
        line = "compare: data/scores/gone model.metrics.parquet: no stage of this profile makes it, so it is now in"
        assert gone.exists() == (line not in printed) == (stage[0] == "prepare"), (
            "it reads no folder as a whole"
        )
    if stage[0] == "compare":
        copies = [path.read_text() for path in sorted((kept.path / ".vouch/unused").rglob("gone*"))]
        assert copies == ["older", "newer"]
        assert "brought back 1" in vouch("store", "restore") and gone.read_text() == "newer"
        gone.unlink()
        assert "brought back 1" in vouch("store", "restore") and gone.read_text() == "older"
    gone.unlink()


def test_a_switch_records_results_before_it_removes_them(kept: Checkout, vouch: Vouch) -> None:
    kept.run("python", "-m", "stages.prepare", "right")
    vouch("use", "demo")
    assert not (kept.path / "data/items/right.parquet").exists()
    vouch("use", "small")
    assert "Running" not in kept.dvc("repro", "prepare@right").stdout
    assert (kept.path / "data/items/right.parquet").exists()


@pytest.mark.parametrize("away", [False, True])
def test_what_was_made_here_with_the_recorded_bytes_comes_into_the_cache(
    copied: Checkout, vouch: Vouch, tmp_path: Path, away: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a clone of a machine with the same processor: dvc.lock fits although nothing was pulled."""
    here, cache = copied, copied.path / ".dvc/cache"
    if away:
        cache = tmp_path / "objects"
        here.dvc("cache", "dir", "--local", str(cache))

    def missing() -> set[str]:
        return {name.rpartition(":")[2] for name in here.dvc_status()} & {"prepare@right", "train@tiny_a"}

    here.run("python", "-m", "stages.prepare", "right")
    here.run("python", "-m", "stages.train", "tiny_a")
    synced = json.loads(vouch("store", "sync", "--partial", "--json"))
    assert "train@tiny_a" in synced["recorded"]
    assert not synced["not_recorded"].keys() & {*synced["recorded"], "prepare@right"}
    for folder in ("files", "runs"):
        shutil.rmtree(cache / folder, ignore_errors=True)
    before = (here.path / "dvc.lock").read_bytes()
    assert missing() == {"prepare@right", "train@tiny_a"}
    vouch("store", "sync", "--partial")
    assert (here.path / "dvc.lock").read_bytes() == before and not missing()
    assert json.loads(vouch("store", "verify", "--json"))["damaged"] == []
    damaged = next(cache.rglob("*.dir"))
    damaged.write_bytes(b"[")
    capsys.readouterr()
    assert main(["store", "verify", "--json"]) == 1
    assert str(damaged) in json.loads(capsys.readouterr().out)["damaged"]
    assert "`vouch store verify --mend`" in vouch("store", "sync", "--partial", status=1)


def test_what_was_pulled_comes_back_after_a_switch(kept: Checkout, vouch: Vouch) -> None:
    """A pull brings no records of runs. Without them what dvc.lock forgets would be made again: weights, too."""
    runs = kept.path / ".dvc/cache/runs"
    shutil.rmtree(runs, ignore_errors=True)
    kept.dvc("repro", "--force", "prepare@right")
    made = {path: path.read_bytes() for path in kept.path.glob("data/*/right*") if path.parent.name != "runs"}
    before = {path.relative_to(runs): path.read_bytes() for path in runs.rglob("*") if path.is_file()}
    shutil.rmtree(runs)
    vouch("use", "demo")
    again = {path.relative_to(runs): path.read_bytes() for path in runs.rglob("*") if path.is_file()}
    assert before.keys() <= again.keys(), "the names that DVC gives them"
    assert not any(path.exists() for path in made)
    vouch("use", "small")
    assert "Running" not in kept.dvc("repro", "prepare@right").stdout
    assert made and {path: path.read_bytes() for path in made} == made


def test_the_profile_of_the_last_commit_comes_back_with_its_lock(copied: Checkout, vouch: Vouch) -> None:
    """`dvc pull` then brings the committed results, which were never computed here."""
    here = copied
    here.dvc("repro", "prepare@right")
    vouch("use", "small")
    here.git("add", "-A")
    here.git("commit", "-qm", "results of small")
    committed = (here.path / "dvc.lock").read_bytes()
    out = vouch("use", "demo")
    assert "params.yaml is now demo" in out and "of the previous profile; DVC's cache keeps them" in out
    assert "last commit" not in out and (here.path / "dvc.lock").read_bytes() != committed
    shutil.rmtree(here.path / ".dvc/cache/runs")
    out = vouch("use", "small")
    assert "params.yaml and dvc.lock are those of the last commit; `dvc pull` brings its results" in out
    assert (here.path / "dvc.lock").read_bytes() == committed and not here.git("status", "--porcelain")
    (here.path / "dvc.lock").write_bytes(committed + b"# newer\n")
    assert "last commit" not in vouch("use", "small"), "that is no switch: what was made since is kept"
    assert (here.path / "dvc.lock").read_bytes().endswith(b"# newer\n")
    assert "last commit" not in vouch("use", "small", "--set", "score.alpha=0.25")
    whole = (here.path / "dvc.lock").read_bytes()
    (here.path / "dvc.lock").write_text("stages: [", "utf-8")
    here.git("commit", "-qm", "damaged", "dvc.lock")
    (here.path / "dvc.lock").write_bytes(whole)
    assert "last commit" not in vouch("use", "small"), "a damaged one replaces none"
    assert b"stages: [" not in (here.path / "dvc.lock").read_bytes()


# A command that is killed before its Nth rename or removal of a file here; 0: never, and all are listed.
KILLED = """
import os, signal, sys
from vouch.cli.main import main

at, here, changes = int(sys.argv[1]), os.getcwd(), 0

def changing(event, arguments):
    global changes
    if event not in ("os.rename", "os.remove") or not isinstance(arguments[0], str | os.PathLike):
        return
    target = os.path.relpath(arguments[event == "os.rename"], here)
    if target.startswith(("..", ".dvc/")) or target.endswith((".pyc", ".part")):
        return
    changes += 1
    if not at:
        print(target, file=sys.stderr)
    if changes == at:
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(changing)
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.slow
def test_a_killed_switch_is_finished_by_the_same_command(
    copied: Checkout, vouch: Vouch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied.dvc("repro", "prepare@right")
    vouch("use", "small")
    copied.commit("results of small")
    names = ("params.yaml", "dvc.lock")
    committed = [(copied.path / name).read_bytes() for name in names]
    copied.edit("params.yaml", "  left: {loader: shapes", "  moved: {loader: shapes")
    edited = (copied.path / "params.yaml").read_bytes()
    copied.run("python", "-m", "stages.prepare", "moved")
    made = (copied.path / "data/items/moved.parquet").read_bytes()
    command = [sys.executable, "-c", KILLED]
    changed = copied.copy(tmp_path / "0/one").run(*command, "0", "use", "small").stderr.split()
    removed = [name for name in changed if name.startswith("data/")]
    assert (
        [name for name in changed if name not in removed[1:]]
        == [
            ".vouch/digests.json",
            "dvc.lock",  # what was made here is recorded
            f".vouch/params/{hashlib.sha256(edited).hexdigest()[:12]}.yaml",
            removed[0],
            ".vouch/receipts/prepare-moved.json",
            "dvc.lock",  # without what was removed
            "dvc.lock",  # of the last commit
            "params.yaml",
        ]
    )
    for number, name in enumerate(changed, 1):
        if name in removed[1:]:
            continue
        here = enter(copied.copy(tmp_path / f"{number}/one"), monkeypatch)
        assert here.run(*command, str(number), "use", "small", check=False).returncode == -signal.SIGKILL
        assert (here.path / "params.yaml").read_bytes() == edited
        if name == "params.yaml":
            assert "prepare@right" not in here.dvc_status(), "DVC reads what is left"
        vouch("use", "small")
        assert [(here.path / name).read_bytes() for name in names] == committed
        assert not here.git("status", "--porcelain") and not list(here.path.glob(".vouch/**/.*.part"))
    (here.path / "params.yaml").write_bytes(edited)
    assert "Running" not in here.dvc("repro", "prepare@moved").stdout
    assert (here.path / "data/items/moved.parquet").read_bytes() == made


def test_a_copy_without_git_is_refused_in_one_line_and_keeps_its_profile(
    copied: Checkout, vouch: Vouch
) -> None:
    here = copied
    here.dvc("repro", "prepare@right")
    shutil.rmtree(here.path / ".git")
    before = {name: (here.path / name).read_bytes() for name in ("params.yaml", "dvc.lock")}
    error = vouch("use", "demo", status=1)
    assert "is not a git repository" in error and "take a clone, or `git init` here" in error
    assert {name: (here.path / name).read_bytes() for name in before} == before
    assert (here.path / "data/items/right.parquet").exists()


def test_what_snakemake_puts_into_folders_keeps_no_profile(kept: Checkout, vouch: Vouch) -> None:
    """DVC ignores its marks, so no cache holds them; they are nobody's results."""
    kept.run("snakemake", "--cores", "1", "train-tiny_a")
    (mark,) = kept.path.glob("data/trained/tiny_a/.snakemake_timestamp")
    vouch("use", "demo")
    assert not mark.parent.exists()
    vouch("use", "small")
    assert "Running" not in kept.dvc("repro", "train@tiny_a").stdout


def test_pull_without_a_remote_says_what_to_add(copied: Checkout, vouch: Vouch) -> None:
    copied.dvc("remote", "remove", "results")
    assert "dvc remote add" in vouch("store", "pull", "tiny_a", status=1)


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may write everywhere")
def test_a_pull_that_may_not_write_names_the_folder_and_not_the_remote(copied: Checkout) -> None:
    here = copied
    here.dvc("repro", "train@tiny_a")
    here.dvc("push", "train@tiny_a")
    bound = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    for folder in (".dvc/tmp", "data"):
        shutil.rmtree(here.path / "data/trained", ignore_errors=True)  # so there is something to pull
        (here.path / folder).chmod(0o555)
        done = here.run(*bound, sys.executable, "-m", "vouch.cli.main", "store", "pull", check=False)
        (here.path / folder).chmod(0o755)
        assert done.stderr.startswith(f"vouch: {here.path / folder}: you may not write here"), done.stderr
        assert done.returncode == 1 and done.stderr.count("\n") == 1

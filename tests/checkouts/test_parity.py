"""Two runners, users and places, the same bytes; and the hand-over between the runners."""

import re

import pytest

from tests.checkouts.checkout import SECOND, SECOND_PATH, Checkout
from vouch.pipeline.yaml12 import load

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def by_dvc(finished, tmp_path_factory):
    return finished.copy(tmp_path_factory.mktemp("dvc") / "one")


@pytest.fixture(scope="module")
def by_snakemake(tmp_path_factory):
    checkout = Checkout(tmp_path_factory.mktemp("snake") / SECOND_PATH, SECOND)
    checkout.snakemake()
    return checkout


def test_snakemake_ends_by_recording_for_dvc(by_snakemake):
    assert by_snakemake.dvc_status() == {}
    assert by_snakemake.planned() == set()
    assert by_snakemake.repro() == set()
    assert "Nothing to be done" in (done := by_snakemake.snakemake()).stdout + done.stderr


def test_a_report_of_snakemake_carries_every_figure(by_snakemake):
    by_snakemake.run("snakemake", "--report", "one.html")
    text = (by_snakemake.path / "one.html").read_text("utf-8")
    (by_snakemake.path / "one.html").unlink()
    names = [path.name for path in (by_snakemake.path / "reports/figures").glob("*.svg")]
    assert len(names) > 5 and [name for name in names if f"figures/{name}" not in text] == []
    assert by_snakemake.planned() == set()


def test_same_bytes(by_dvc, by_snakemake):
    assert len(by_dvc.digests()) > 20
    assert by_dvc.digests() == by_snakemake.digests()


def test_after_dvc_snakemake_has_nothing_to_do(by_dvc):
    assert by_dvc.dvc_status() == {}
    assert by_dvc.planned() == set()
    assert by_dvc.repro() == set()


def test_pull_in_a_fresh_clone(by_dvc, tmp_path):
    by_dvc.dvc("remote", "add", "-f", "-d", "store", str(tmp_path / "remote"))
    by_dvc.dvc("push")
    by_dvc.commit("results")
    by_dvc.run("git", "clone", "-q", str(by_dvc.path), str(tmp_path / "clone"))
    clone = Checkout.at(tmp_path / "clone")
    clone.dvc("pull")
    clone.vouch("store", "sync")
    assert clone.planned() == set()
    assert clone.dvc_status() == {}
    assert clone.digests() == by_dvc.digests()


def test_pull_of_one_model(by_dvc, tmp_path):
    by_dvc.dvc("remote", "add", "-f", "-d", "store", str(tmp_path / "remote"))
    by_dvc.dvc("push")
    by_dvc.commit("results")
    by_dvc.run("git", "clone", "-q", str(by_dvc.path), str(tmp_path / "clone"))
    clone = Checkout.at(tmp_path / "clone")
    clone.vouch("store", "pull", "tiny_a")
    assert (clone.path / "data/responses/tiny_a/left.letters.parquet").exists()
    assert (clone.path / "data/models/tiny_a/model.safetensors").exists()
    assert not (clone.path / "data/responses/tiny_b").exists()
    unknown = clone.vouch("store", "pull", "tiny_c", check=False)
    assert unknown.returncode == 1 and "did you mean tiny_" in unknown.stderr


def test_a_damaged_object_in_the_remote_is_named(by_dvc, tmp_path):
    by_dvc.dvc("remote", "add", "-f", "-d", "store", str(tmp_path / "remote"))
    by_dvc.dvc("remote", "modify", "store", "verify", "true")
    by_dvc.dvc("push")
    by_dvc.commit("results")
    by_dvc.run("git", "clone", "-q", str(by_dvc.path), str(tmp_path / "clone"))
    clone = Checkout.at(tmp_path / "clone")
    path = "data/responses/tiny_a/left.letters.parquet"
    outs = [out for stage in load(by_dvc.path / "dvc.lock")["stages"].values() for out in stage["outs"]]
    digest = next(out["md5"] for out in outs if out["path"] == path)
    stored = tmp_path / "remote/files/md5" / digest[:2] / digest[2:]
    stored.chmod(0o644)
    data = bytearray(stored.read_bytes())
    data[len(data) // 2] ^= 1
    stored.write_bytes(data)
    done = clone.vouch("store", "pull", check=False)
    assert done.returncode == 1 and not (clone.path / path).exists()
    last = done.stderr.strip().splitlines()[-1]
    assert (
        last.startswith(f"vouch: {path}: its object {digest} is missing or damaged") and "dvc repro" in last
    )
    assert (clone.path / "reports/index.html").exists(), "all else came"
    clone.repro()
    assert clone.digests() == by_dvc.digests()


def test_receipts_alone_restore_a_lost_lock(by_dvc, tmp_path):
    copy = by_dvc.copy(tmp_path / "copy")
    (copy.path / "dvc.lock").unlink()
    assert copy.dvc_status() != {}
    assert re.search(r"[1-9]\d* newly recorded", copy.vouch("store", "sync").stdout)
    assert copy.dvc_status() == {}
    assert copy.repro() == set()


def test_a_lock_that_dvc_was_killed_in_the_middle_of_writing(by_dvc, tmp_path):
    """Nothing is computed again, and one command is enough: also for what was pulled and has no receipt."""
    copy = by_dvc.copy(tmp_path / "copy")
    lock = copy.path / "dvc.lock"
    whole = lock.read_text("utf-8")
    (copy.path / ".vouch/receipts/train-tiny_a.json").unlink()
    copy.edit("params.yaml", "alpha: 0.1", "alpha: 0.3")
    assert "score@tiny_a" in copy.repro(), "whose start keeps a copy"
    lock.write_text(whole[: whole.index("      md5: ", len(whole) // 2)], "utf-8")
    refused = copy.dvc("repro", check=False)
    assert refused.returncode and "dvc.lock" in refused.stderr
    said = copy.vouch("store", "sync")
    assert said.stderr.startswith("dvc.lock: was cut short; ") and said.stderr.count("\n") == 1
    assert copy.repro() == set() and copy.dvc_status() == {}


def test_results_of_two_revisions_are_compared(by_dvc):
    """The last one here: it leaves records of another alpha behind."""
    by_dvc.commit("results")
    assert re.search(r"^(\d+) of \1 lines are unchanged$", by_dvc.vouch("show", "--rev", "HEAD").stdout, re.M)
    by_dvc.edit("params.yaml", "alpha: 0.1", "alpha: 0.4")
    by_dvc.repro()
    changed = by_dvc.vouch("show", "--rev", "HEAD").stdout
    said = "accuracy stays, set sizes do not"
    assert re.search(r"tiny_a +0\.\d+ +[^( ].*\([-+]\d+\.\d+\)", changed), said
    wrong = by_dvc.vouch("show", "--rev", "nowhere", check=False)
    assert wrong.returncode == 1 and "nowhere" in wrong.stderr and wrong.stderr.count("\n") == 1
    by_dvc.git("checkout", "params.yaml", "dvc.lock")
    by_dvc.repro()

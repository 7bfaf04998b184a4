"""What an edit makes stale, as DVC and our own records see it; times, right or wrong, make nothing stale."""

import os
import random
import shutil
import time
from contextlib import chdir
from pathlib import Path

import pytest

from tests.checkouts.edits import EDITS, SCORED, Edit
from tests.checkouts.small import BORROWED, END
from tests.pipeline.test_order import shuffled
from vouch.cli.main import main
from vouch.pipeline.dag import read_dag
from vouch.pipeline.records import read_lock
from vouch.pipeline.yaml12 import dumped, load

pytestmark = pytest.mark.slow
SYNCED = ("one model's pin", "the engine's REVISION", "alpha", "one dataset")
"""Edits after which `vouch store sync` is tried."""


@pytest.fixture(scope="module")
def checkout(finished, tmp_path_factory):
    return finished.copy(tmp_path_factory.mktemp("edits") / "one")


@pytest.mark.parametrize("edit", EDITS, ids=[edit.name for edit in EDITS])
def test_an_edit_makes_exactly_this_stale(checkout, edit: Edit):
    edit.make(checkout)
    lock = read_lock(checkout.path / "dvc.lock")
    try:
        assert checkout.stale() == edit.stale
        assert checkout.dvc_status().keys() == edit.stale | edit.whole
        with chdir(checkout.path):
            assert edit.stale | set(read_dag().downstream(edit.stale)) == edit.below
            if edit.name in SYNCED:
                assert main(["store", "sync"]) == 1
                synced = read_lock()
                assert {name for name in lock if synced[name] != lock[name]} <= edit.whole
    finally:
        checkout.git("checkout", "--", ".")
        checkout.git("clean", "-q", "-f", "decisions")


def test_in_a_pulled_checkout_too_an_entry_counts_and_not_the_file(checkout):
    """dvc.lock has digests of whole files; the records of the runs, which lie beside the results, have the parts."""
    receipts = checkout.path / ".vouch/receipts"
    receipts.rename(receipts.with_name("elsewhere"))
    try:
        (checkout.path / "decisions/rewrites/left.csv").write_text(
            "dataset,kind,original,decision,text\n", "utf-8"
        )
        with (checkout.path / "models.lock").open("a", encoding="utf-8") as lock:
            lock.write("# a remark\n")
        assert checkout.stale() == {"rewrite@left"}
        checkout.edit("models.lock", "dtype: float32", "dtype: bfloat16")
        assert checkout.stale() == {"rewrite@left", f"pin@{BORROWED}", "report"}
    finally:
        receipts.with_name("elsewhere").rename(receipts)
        checkout.git("checkout", "--", ".")
        checkout.git("clean", "-q", "-f", "decisions")


def test_the_order_of_mappings_changes_no_output(checkout):
    """What DVC takes for no change gives the files of before, where every stage but the training runs again."""
    params, before = checkout.path / "params.yaml", checkout.digests()
    values = load(params)
    params.write_text(dumped(shuffled(values, random.Random(1))), "utf-8")
    try:
        assert params.read_text("utf-8") != dumped(values) and checkout.stale() == set()
        checkout.stages(
            *(name.partition("@")[0] for name in checkout.names().values() if "train" not in name)
        )
        assert {name for name, digest in checkout.digests().items() if before[name] != digest} == set()
    finally:
        checkout.git("checkout", "--", ".")


def test_what_two_branches_ran_does_not_merge_in_silence(finished, tmp_path):
    """Both ran compare: git reports a conflict in dvc.lock, and what neither ran is stale whoever is followed."""
    checkout = finished.copy(tmp_path / "one")
    checkout.git("branch", "-f", "base")
    edits = {"a": ("score.alpha", 0.2, {*SCORED, "browse"}), "b": ("compare.resamples", 60, set())}
    for branch, (key, value, further) in edits.items():
        checkout.git("checkout", "-q", "-b", branch, "base")
        checkout.dvc("checkout")
        checkout.set(key, value)
        checkout.stages(*further, "compare", "report")
        checkout.store("sync")
        checkout.commit(branch)
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    merged = checkout.run("git", *who, "merge", "a", check=False)
    assert merged.returncode and "dvc.lock" in checkout.git("diff", "--name-only", "--diff-filter=U").split()
    checkout.git("checkout", "--ours", "params.yaml")
    checkout.set("score.alpha", 0.2)
    refused = checkout.store("sync", check=False)
    assert refused.returncode == 1 and "holds a merge conflict; take one side whole" in refused.stderr
    for side in ("--ours", "--theirs"):
        checkout.git("checkout", side, "dvc.lock")
        checkout.dvc("checkout")
        said = checkout.store("sync", check=False)
        assert said.returncode == 1 and "compare" in said.stderr and "compare" in checkout.stale()
    # line by line, one side where they meet: DVC takes it for made
    checkout.git("reset", "-q", "--hard", "b")
    checkout.git("merge", "-q", "-X", "ours", "a", "-m", "merged")
    checkout.set("score.alpha", 0.2)
    checkout.dvc("checkout")
    shutil.rmtree(checkout.path / ".vouch/receipts")  # as in another clone
    assert checkout.dvc_status() == {}
    said = checkout.store("sync", check=False)
    assert said.returncode == 1 and "dvc.lock has a state that no run has made" in said.stderr
    assert checkout.stale() == {"compare"}
    checkout.dvc("repro", "--force", "--single-item", "compare")
    assert "compare" not in checkout.stale()


def from_the_future(path: Path) -> None:
    ahead = time.time() + 3 * 86400
    os.utime(path, (ahead, ahead))


def test_times_in_the_future_change_nothing(checkout):
    """Results of a clock that was ahead, an archive from another time zone, a share whose server is ahead."""
    for root in ("data", "reports", "docs/published", "decisions/exchange"):
        for path in (checkout.path / root).rglob("*"):
            from_the_future(path)
    from_the_future(checkout.path / "models.lock")
    assert checkout.planned() == set()
    checkout.edit("docs/published/kostumov.csv", "\n", "\r\n")
    from_the_future(checkout.path / "docs/published/kostumov.csv")
    assert checkout.planned() == {"report"}
    params = (checkout.path / "params.yaml").read_bytes()
    checkout.set("score.alpha", 0.2)
    assert SCORED <= checkout.planned() <= SCORED | END
    (checkout.path / "params.yaml").write_bytes(params)
    checkout.snakemake()
    assert checkout.planned() == set() and checkout.dvc_status() == {}

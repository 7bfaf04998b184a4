"""Two engines, fresh clones, the same bytes; and the hand-over between them."""

import re
import shutil

import pytest

from tests.pipeline.checkout import Checkout

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def by_dvc(tmp_path_factory):
    checkout = Checkout(tmp_path_factory.mktemp("dvc") / "one")
    checkout.repro()
    return checkout


@pytest.fixture(scope="module")
def by_snakemake(tmp_path_factory):
    checkout = Checkout(tmp_path_factory.mktemp("snake") / "a different path")
    checkout.snakemake()
    return checkout


def test_same_bytes(by_dvc, by_snakemake):
    assert len(by_dvc.digests()) > 20
    assert by_dvc.digests() == by_snakemake.digests()


def test_after_dvc_snakemake_has_nothing_to_do(by_dvc):
    assert by_dvc.dvc_status() == {}
    assert by_dvc.planned() == set()
    assert by_dvc.repro() == set()


def test_snakemake_ends_by_recording_for_dvc(by_snakemake):
    assert by_snakemake.dvc_status() == {}
    assert by_snakemake.planned() == set()
    assert by_snakemake.repro() == set()
    assert "Nothing to be done" in (done := by_snakemake.snakemake()).stdout + done.stderr


def test_pull_in_a_fresh_clone(by_dvc, tmp_path):
    by_dvc.dvc("remote", "add", "-f", "-d", "store", str(tmp_path / "remote"))
    by_dvc.dvc("push")
    by_dvc.commit("results")
    by_dvc.run("git", "clone", "-q", str(by_dvc.path), str(tmp_path / "clone"))
    clone = Checkout.__new__(Checkout)
    clone.path = tmp_path / "clone"
    clone.dvc("pull")
    clone.vouch("sync")
    assert clone.planned() == set()
    assert clone.dvc_status() == {}
    assert clone.digests() == by_dvc.digests()


def test_pull_of_one_model(by_dvc, tmp_path):
    by_dvc.dvc("remote", "add", "-f", "-d", "store", str(tmp_path / "remote"))
    by_dvc.dvc("push")
    by_dvc.commit("results")
    by_dvc.run("git", "clone", "-q", str(by_dvc.path), str(tmp_path / "clone"))
    clone = Checkout.__new__(Checkout)
    clone.path = tmp_path / "clone"
    clone.vouch("pull", "tiny_a")
    assert (clone.path / "data/responses/tiny_a/left.letters.parquet").exists()
    assert (clone.path / "data/models/tiny_a/model.safetensors").exists()
    assert not (clone.path / "data/responses/tiny_b").exists()
    unknown = clone.vouch("pull", "tiny_c", check=False)
    assert unknown.returncode == 1 and "did you mean tiny_" in unknown.stderr


def test_receipts_alone_restore_a_lost_lock(by_dvc, tmp_path):
    copy = Checkout.__new__(Checkout)
    copy.path = tmp_path / "copy"
    shutil.copytree(by_dvc.path, copy.path, symlinks=True)
    (copy.path / "dvc.lock").unlink()
    assert copy.dvc_status() != {}
    assert re.search(r"[1-9]\d* newly recorded", copy.vouch("sync").stdout)
    assert copy.dvc_status() == {}
    assert copy.repro() == set()

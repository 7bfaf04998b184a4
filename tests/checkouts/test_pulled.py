"""Results from a remote: all of them, those of one model, damaged ones; and records that were lost."""

import re
import shutil

import pytest

from tests.checkouts.checkout import ROOT, Checkout
from vouch.pipeline.yaml12 import load

pytestmark = pytest.mark.slow
LETTERS = "data/responses/left/tiny_a.letters.parquet"


@pytest.fixture(scope="module")
def pushed(finished, tmp_path_factory):
    """A checkout whose results are in the remote beside it."""
    checkout = finished.copy(tmp_path_factory.mktemp("pushed") / "one")
    checkout.dvc("remote", "add", "-f", "-d", "store", str(checkout.path.parent / "remote"))
    checkout.dvc("remote", "modify", "store", "verify", "true")
    checkout.dvc("push")
    checkout.commit("a remote")
    return checkout


@pytest.fixture
def clone(pushed, tmp_path):
    pushed.run("git", "clone", "-q", str(pushed.path), str(tmp_path / "clone"))
    shutil.copytree(pushed.path.parent / "weights", tmp_path / "weights")
    return Checkout.at(tmp_path / "clone")


def test_pull_of_one_model_and_of_all(pushed, clone):
    lock = (clone.path / "dvc.lock").read_bytes()
    (clone.path / "dvc.lock").unlink()
    said = clone.store("pull")
    assert said.stdout.startswith("nothing to pull: ") and (said.stdout.count("\n"), said.stderr) == (1, "")
    (clone.path / "dvc.lock").write_bytes(lock)
    unknown = clone.store("pull", "tiny_c", check=False)
    assert unknown.returncode == 1 and "did you mean tiny_" in unknown.stderr
    clone.store("pull", "tiny_a")
    assert (clone.path / LETTERS).exists()
    assert (clone.path / "data/trained/tiny_a/model.safetensors").exists()
    assert not (clone.path / "data/responses/left/borrowed.letters.parquet").exists()
    clone.dvc("pull")
    clone.store("sync")
    done = clone.run("snakemake", "-n", "--quiet")
    assert done.stdout == "Nothing to be done (all requested files are present and up to date).\n"
    assert done.stderr.count("\n") == 1, "which profile of its own it read"
    wrong = clone.run("snakemake", "--cores", "2", "prepar", check=False)
    assert wrong.returncode == 1 and "did you mean prepare? " in wrong.stderr.splitlines()[-1]
    assert clone.planned() == set()
    assert clone.dvc_status() == {}
    assert clone.digests() == pushed.digests()


@pytest.mark.parametrize(
    "settings", [("autocrlf=true",), ("autocrlf=input",), ("autocrlf=false", "eol=crlf")]
)
def test_git_changes_no_byte_of_a_clone(tmp_path, settings):
    """Whatever its settings: line ends that Git for Windows converts would damage stored objects and code."""
    one, two = (Checkout.at(tmp_path / name) for name in ("one", "two"))
    how = [word for setting in settings for word in ("-c", f"core.{setting}")]
    texts = {"lf": b"a\nb\n", "crlf": b"a\r\nb\r\n", "mixed": b"a\r\nb\nc\r", "zero": b"a\0\n"}
    places = (".dvc/storage/files/md5/00/{}", "kites/{}.jsonl", "decisions/rewrites/{}.csv", "vouch/{}.py")
    files = {place.format(name): data for name, data in texts.items() for place in places}
    files[".gitattributes"] = (ROOT / ".gitattributes").read_bytes()
    for name, data in files.items():
        (one.path / name).parent.mkdir(parents=True, exist_ok=True)
        (one.path / name).write_bytes(data)
    one.git("init", "-q")
    one.git(*how, "add", "-A")
    one.git(*how, "commit", "-q", "-m", "texts")
    one.run("git", *how, "clone", "-q", str(one.path), str(two.path))
    assert {name: (two.path / name).read_bytes() for name in files} == files


def test_a_lock_that_dvc_was_killed_in_the_middle_of_writing(finished, tmp_path):
    """Nothing is computed again, and one command is enough: also for what was pulled and has no receipt."""
    copy = finished.copy(tmp_path / "copy")
    lock = copy.path / "dvc.lock"
    whole = lock.read_text("utf-8")
    (copy.path / ".vouch/receipts/train-tiny_a.json").unlink()
    copy.edit("docs/published/kostumov.csv", "\n", "\r\n")
    assert copy.repro() == {"report"}, "whose start keeps a copy"
    lock.write_text(whole[: whole.index("md5: ", len(whole) // 2) + len("md5")], "utf-8")  # within a word
    refused = copy.dvc("repro", check=False)
    assert refused.returncode and "dvc.lock" in refused.stderr
    said = copy.store("sync")
    assert said.stderr.startswith("dvc.lock: was cut short; ") and said.stderr.count("\n") == 1
    assert copy.repro() == set() and copy.dvc_status() == {}


def test_receipts_alone_restore_a_lost_lock(finished, tmp_path):
    copy = finished.copy(tmp_path / "copy")
    (copy.path / "dvc.lock").unlink()
    assert copy.dvc_status() != {}
    assert re.search(r"[1-9]\d* newly recorded", copy.store("sync").stdout)
    assert copy.dvc_status() == {} and copy.planned() == set()


def test_a_damaged_object_in_the_remote_is_named(pushed, clone):
    """The last one here: the remote stays damaged."""
    outs = [out for stage in load(pushed.path / "dvc.lock")["stages"].values() for out in stage["outs"]]
    digest = next(out["md5"] for out in outs if out["path"] == LETTERS)
    stored = pushed.path.parent / "remote/files/md5" / digest[:2] / digest[2:]
    stored.chmod(0o644)
    data = bytearray(stored.read_bytes())
    data[len(data) // 2] ^= 1
    stored.write_bytes(data)
    done = clone.store("pull", check=False)
    assert done.returncode == 1 and not (clone.path / LETTERS).exists()
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"vouch: {LETTERS}: its object {digest} is missing or damaged")
    assert "dvc repro" in last
    assert (clone.path / "reports/index.html").exists(), "all else came"
    assert clone.repro() == {"extract@tiny_a-left"}
    assert clone.digests() == pushed.digests()

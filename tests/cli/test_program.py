"""Models with code of their own, from `vouch lock` to a run: what is pinned, and whose code would run."""

import importlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from safetensors.numpy import save as save_tensors

from tests.cli.conftest import Vouch, flat, lay_out
from tests.models.pins.loopback_hub import Handler, Repo, serving
from tests.refusals import refused
from vouch.cli.main import main
from vouch.models.config import ExtractConfig
from vouch.models.engine import Pack, Question
from vouch.models.pins import pinned
from vouch.models.program.engine import load
from vouch.tables.answered import Pin

DRIVER = """
import package.inner
import shared
from vouch_driver import Model as Base


class Model(Base):
    def __init__(self, start):
        super().__init__(start)
        import own_model
        self.value, self.code = shared.VALUE, own_model.CODE

    def probe(self):
        return {"prompt": "Q: Which?\\nA:", "letters": {"A": [self.code], "B": [7]}}

    def letters(self, question):
        return {"logits": [self.value] * len(question.labels), "letter_mass": 1, "entropy": 0}
"""
CONFIG = ExtractConfig(device="cpu")


def write(folder: Path, **files: str) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, "utf-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A checkout whose model `own` has code of its own, and was locked; tests copy it."""
    bare = tmp_path_factory.mktemp("made") / "checkout"
    bare.mkdir()
    lay_out(bare)
    write(bare / "mine", driver__py=DRIVER, shared__py="VALUE = 1.5\n", other__py="pass\n")
    write(bare / "mine/package", inner__py="pass\n")
    write(bare / "clone", own_model__py="CODE = 5\n", notes__md="about\n")
    write(bare / "clip", config__json="{}")
    write(
        bare / "weights",
        config__json='{"torch_dtype": "bfloat16"}',
        modeling__py="pass\n",
        vocab__tiktoken="a b\n",
    )
    git = ["git", "-C", str(bare / "clone"), "-c", "user.name=x", "-c", "user.email=x"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    program = {"driver": "mine/driver.py", "environment": "here", "trust_code": True, "code": "clone"}
    program["parts"] = {"clip": {"kind": "folder", "path": "clip"}}
    entry = {"engine": "program", "source": {"kind": "folder", "path": "weights"}, "program": program}
    save(bare, {"own": entry})
    params = yaml.safe_load((bare / "params.yaml").read_text("utf-8"))
    params["models"] = {"own": "weights"}
    params["train"] = {}
    (bare / "params.yaml").write_text(yaml.safe_dump(params), "utf-8")
    python = bare.parent / "python"  # without packages, which starts sooner
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(bare)
        patch.setenv("VOUCH_ENV_HERE", str(python))
        assert main(["lock", "own"]) == 0
        yield bare


@pytest.fixture
def locked(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that checkout; the present folder."""
    shutil.copytree(made, tmp_path / "checkout", symlinks=True)
    monkeypatch.chdir(tmp_path / "checkout")
    return tmp_path / "checkout"


def save(folder: Path, entries: dict[str, Any]) -> None:
    (folder / "models.lock").write_text(yaml.safe_dump({"models": entries}, sort_keys=False), "utf-8")


def entries(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((folder / "models.lock").read_text("utf-8"))["models"]
    return loaded


def pin(folder: Path) -> Pin:
    return pinned("own", "weights", entries(folder))


def test_a_pin_has_all_that_can_change_an_answer(locked: Path, vouch: Vouch) -> None:
    entry, before = entries(locked)["own"], pin(locked)
    assert entry["outputs"] == ["letters"]
    assert set(entry["files"]) == set(before.files) == {"config.json", "modeling.py", "vocab.tiktoken"}
    program = before.program
    assert program is not None and set(program.driver_files) == {"driver.py", "shared.py", "package/inner.py"}
    assert program.packages == ["python=={}.{}.{}".format(*sys.version_info[:3])] and program.part_files
    assert program.probe == {"prompt": "Q: Which?\nA:", "letters": {"A": [5], "B": [7]}}
    assert len(program.commit or "") == 40 and before.dtype == "bfloat16"
    (answer,) = load(before, CONFIG).answer([Pack("letters", [Question("q", None, "?", labels=("A", "B"))])])
    assert getattr(answer.answer, "logits", None) == [1.5, 1.5]
    assert re.fullmatch(
        r"lock: own: weights, 3 files, mine/driver\.py in here \(1 packages\), code at [0-9a-f]{12}; it gives "
        r"letters; nothing to change\n",
        vouch("lock", "own"),
    )
    # nothing that changes no answer changes the digest
    (locked / "mine/other.py").write_text("import os\n")
    (locked / "clone/notes.md").write_text("else\n")
    assert pin(locked).digest == before.digest
    dirty = r"code at [0-9a-f]{12}-dirty \(with changes that are not committed\)"
    assert re.search(dirty, vouch("lock", "own")), "the commit alone is not the code"
    assert pin(locked).digest == before.digest
    (locked / "weights").rename(locked / "moved")
    entry["source"]["path"] = "moved"
    assert pinned("own", "moved", {"own": entry}).digest == before.digest


CHANGES: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "driver": ("mine/driver.py: not as pinned", lambda at: (at / "mine/driver.py").write_text(DRIVER + "#")),
    "module": ("mine/shared.py: not as pinned", lambda at: (at / "mine/shared.py").write_text("VALUE = 2\n")),
    "module of a package": (
        "mine/package/inner.py: not as pinned",
        lambda at: (at / "mine/package/inner.py").write_text("import os\n"),
    ),
    "no module": ("mine/shared.py: not as pinned", lambda at: (at / "mine/shared.py").unlink()),
    "no driver": ("mine/driver.py: no such driver", lambda at: (at / "mine/driver.py").unlink()),
    "bad driver": (
        "mine/driver.py: not Python",
        lambda at: (at / "mine/driver.py").write_text("def"),
    ),
    "code": (
        "clone: its code is not as pinned, now at commit",
        lambda at: (at / "clone/own_model.py").write_text("CODE = 6\n"),
    ),
    "new code": ("clone: its code is not as pinned", lambda at: (at / "clone/new.py").touch()),
    "no code": ("clone: no such folder of code", lambda at: (at / "clone").rename(at / "gone")),
    "model's code": (
        r"weights/modeling.py: SHA-256 is \w+, models.lock says",
        lambda at: (at / "weights/modeling.py").write_text("import os\n"),
    ),
    "pickle": (
        "weights/w.bin: a pickle, which can run code; convert it with `vouch convert weights FOLDER`",
        lambda at: (at / "weights/w.bin").touch(),
    ),
    "pickle of a part": ("clip/sub/w.pt: a pickle", lambda at: write(at / "clip/sub", w__pt="")),
    "link": ("weights/more: a link to a folder", lambda at: (at / "weights/more").symlink_to(at / "clip")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_after_it_was_pinned_is_refused(locked: Path, change: str) -> None:
    before, (why, edit) = pin(locked), CHANGES[change]
    if change == "pickle of a part":
        (locked / "clip/sub").mkdir()
    edit(locked)
    with refused(why):
        pin(locked)
    with refused("not as pinned|no such|not Python|a pickle|a link"):
        load(before, CONFIG)


def test_another_environment_or_other_letters_are_refused(
    locked: Path, vouch: Vouch, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = entries(locked)
    own = whole["own"]["program"]["locked"]
    packages, probe = own["packages"], own["probe"]
    own["packages"] = ["python==3.0.0", "torch==1.0"]
    save(locked, whole)
    with refused(
        r"the environment here has python==3\S+, lacks python==3.0.0, lacks torch==1.0, not as pinned; build it "
        "again with `vouch env"
    ):
        load(pin(locked), CONFIG)
    own["packages"], own["probe"] = packages, {**probe, "letters": {"A": [5], "B": [8]}}
    save(locked, whole)
    with refused("own reads another prompt or other letters than those pinned; `vouch lock own` pins them"):
        load(pin(locked), CONFIG)
    own["probe"] = probe
    save(locked, whole)
    before = pin(locked)
    monkeypatch.delenv("VOUCH_ENV_HERE")
    assert pin(locked) == before  # which needs no environment
    with refused("the environment here is not on this machine; name its Python in VOUCH_ENV_HERE"):
        load(before, CONFIG)
    monkeypatch.setenv("VOUCH_ENV_HERE", "/nowhere/python")
    with refused("VOUCH_ENV_HERE=/nowhere/python: no Python there"):
        load(before, CONFIG)
    (locked / "no_python").write_bytes(b"\0")
    (locked / "no_python").chmod(0o755)
    monkeypatch.setenv("VOUCH_ENV_HERE", "no_python")
    with refused(r"own does not start: \S+/no_python cannot be run \(Exec format error\)"):
        load(before, CONFIG)


def test_a_program_runs_only_by_name(locked: Path, vouch: Vouch, monkeypatch: pytest.MonkeyPatch) -> None:
    said = flat(vouch("plan"))
    assert re.search(
        r"own runs code that is not Vouch's, with all your rights: mine/driver\.py, weights, clip, clone at [0-9a-f]{12}, "
        r"in the environment here \(trust_code: true\)",
        said,
    )
    before = (locked / "params.yaml").read_text("utf-8")
    (locked / "params.yaml").write_text(before.replace("own: weights", "other: weights"), "utf-8")
    assert (
        "own has an entry in models.lock but params.yaml does not ask it; add `own: weights` under models"
    ) in flat(vouch("plan", "--probe", "own", status=1))
    (locked / "params.yaml").write_text(before, "utf-8")
    save(locked, {"own": entries(locked)["own"], "weights": entries(locked)["own"]})
    write(locked / "kites", items__jsonl='{"question": "Which?", "options": ["a", "b"], "answer": "a"}\n')
    # by the entry of the folder's name, whatever its model_type
    vouch("new", "mine", "--data", "kites", "--model", "weights")
    assert "weights runs code that is not Vouch's" in flat(vouch("plan", "mine"))
    shown = flat(vouch("plan", "--probe", "own"))
    assert "| Q: Which? | A:" in shown and "one of these tokens is read: A: (5), B: (7)" in shown
    entry = entries(locked)["own"]
    del entry["program"]["locked"]
    save(locked, {"own": entry})
    with refused("models.lock: the program of own is not pinned; run `vouch lock own`"):
        pin(locked)
    monkeypatch.setenv("SOME_API_KEY", "hf_0123456789")
    secret = {"settings": {"token": "hf_0123456789"}}
    save(locked, {"own": {**entry, "program": {**entry["program"], **secret}}})
    why = "models.lock: the settings of own hold a key or password, which its pin would show; take it out"
    assert why in vouch("lock", "own", status=1)
    without = {"parts": {"clip": {"kind": "folder", "path": "nowhere"}}}
    save(locked, {"own": {**entry, "program": {**entry["program"], **without}}})
    assert "nowhere: no such folder; correct program.parts in models.lock" in vouch("lock", "own", status=1)
    for change, why in (
        ({"trust_code": False}, "write `trust_code: true` if you trust it"),
        ({"driver": "mine/driver"}, "give the driver's Python file"),
        ({"environment": "../x"}, "program.environment"),
    ):
        save(locked, {"own": {**entry, "program": {**entry["program"], **change}}})
        assert why in vouch("plan", status=1)
    save(locked, {"own": {**entry, "engine": "transformers"}})
    assert "go together; write both" in vouch("plan", status=1)
    save(locked, {"own": {**entry, "template": "plain"}})
    assert "use program.settings" in vouch("plan", status=1)


FIRST, SECOND = "1a" * 20, "2b" * 20


def test_a_model_of_the_hub(locked: Path, vouch: Vouch, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = save_tensors({"w": np.zeros((300, 300), np.float32)})
    files = {
        "config.json": b"{}",
        "modeling.py": b"pass\n",
        "README.md": b"about",
        "model.safetensors": weights,
    }
    repo = Repo({FIRST: files, SECOND: {**files, "modeling.py": b"import os\n"}}, {"main": FIRST})
    pickled = Repo({FIRST: {"config.json": b"{}", "pytorch_model.bin": b"x"}}, {"main": FIRST})
    entry = entries(locked)["own"]
    del entry["program"]["locked"], entry["files"]
    entry["source"] = {"kind": "hub", "repo": "owner/own", "revision": None}
    entry["program"]["parts"] = {"tower": {"kind": "hub", "repo": "owner/own", "revision": FIRST}}
    save(locked, {"own": entry})
    params = yaml.safe_load((locked / "params.yaml").read_text("utf-8"))
    (locked / "params.yaml").write_text(yaml.safe_dump({**params, "models": {"own": "models.lock"}}))
    bars = importlib.import_module("huggingface_hub.utils.tqdm")
    monkeypatch.setattr(bars, "HF_HUB_DISABLE_PROGRESS_BARS", True)
    with serving({"owner/own": repo, "owner/pickled": pickled}, locked / "hub", monkeypatch):
        said = vouch("lock", "own")
        assert said.startswith(f"lock: own: owner/own at {FIRST[:12]}, 4 files, mine/driver.py in here")
        assert "model.safetensors" not in Handler.served
        pinned_files = entries(locked)["own"]["files"]
        assert pinned_files == {name: sha256(data).hexdigest() for name, data in files.items()}
        repo.branches["main"] = SECOND
        moved = f"main has moved on to {SECOND[:12]}, `vouch lock own --revision main` follows"
        assert moved in vouch("lock", "own")
        shutil.rmtree(locked / "hub")
        assert f"fetch: own: owner/own at {FIRST}\n" in vouch("fetch", "own")
        Handler.requests.clear()
        before = pinned("own", "models.lock", entries(locked))
        assert before.source.revision == FIRST and before.files == pinned_files
        assert before.parameters == 90_000 and before.program is not None
        assert set(before.program.part_files) == {f"tower/{n}" for n in files}
        assert not any("resolve" in path for path in Handler.requests)  # the parts came as well
        assert vouch("lock", "own", "--revision", "main").startswith(
            f"lock: own: owner/own at {SECOND[:12]}, 4"
        )
        after = pinned("own", "models.lock", entries(locked))
        assert after.digest != before.digest and load(after, CONFIG).device == "cpu"
        (weighs,) = (locked / "hub").glob(f"models--owner--own/snapshots/{SECOND}/model.safetensors")
        weighs.unlink()
        with refused(
            f"owner/own at {SECOND[:12]}: not whole in this machine's cache; fetch it with `vouch fetch own`"
        ):
            load(after, CONFIG)
        assert "only pickled weights" in vouch("lock", "own", "--repo", "owner/pickled", status=1)

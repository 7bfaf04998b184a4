"""`vouch convert`: pickled weights become safetensors; what a pickle would run never runs."""

import json
import os
import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.cli.conftest import Vouch


class Runs:
    """Makes a folder where it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (self._folder,)


@pytest.fixture
def old(bare: Path) -> Path:
    """A folder as it was saved before safetensors."""
    folder = bare / "old"
    (folder / "tower").mkdir(parents=True)
    one = torch.arange(6.0).reshape(2, 3)
    torch.save(
        {"a": one, "tied": one, "half": one[:, :2].half()}, folder / "pytorch_model-00001-of-00002.bin"
    )
    torch.save({"b": torch.ones(2, dtype=torch.bfloat16)}, folder / "pytorch_model-00002-of-00002.bin")
    names = {
        key: f"pytorch_model-0000{n}-of-00002.bin"
        for key, n in (("a", 1), ("tied", 1), ("half", 1), ("b", 2))
    }
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {}, "weight_map": names}))
    torch.save({"model": {"w": one}, "epoch": 3, "args": {"lr": 0.1}}, folder / "tower/vit.pth")
    (folder / "config.json").write_text("{}")
    return folder


def test_every_tensor_is_the_same(old: Path, bare: Path, vouch: Vouch) -> None:
    said = vouch("convert", old, bare / "new")
    assert said == (
        "convert: vit.pth: left out, as they are no tensors: epoch, args.lr\n"
        f"convert: 3 files of weights, in {bare / 'new'}\n"
    )
    new = {path.relative_to(bare / "new").as_posix() for path in (bare / "new").rglob("*") if path.is_file()}
    shards = [f"model-0000{n}-of-00002.safetensors" for n in (1, 2)]
    assert new == {*shards, "model.safetensors.index.json", "tower/vit.safetensors", "config.json"}
    first, second = (load_file(bare / "new" / name) for name in shards)
    one = torch.arange(6.0).reshape(2, 3)
    assert first["a"].equal(one) and first["tied"].equal(one) and first["half"].equal(one[:, :2].half())
    assert second["b"].equal(torch.ones(2, dtype=torch.bfloat16))
    assert load_file(bare / "new/tower/vit.safetensors")["model.w"].equal(one)
    index = json.loads((bare / "new/model.safetensors.index.json").read_text())
    assert index["weight_map"] == {"a": shards[0], "tied": shards[0], "half": shards[0], "b": shards[1]}


def test_a_pickle_that_would_run_code_is_refused_and_nothing_is_left(
    old: Path, bare: Path, vouch: Vouch
) -> None:
    ran = bare / "ran"
    for data in (pickle.dumps(Runs(ran)), pickle.dumps({"a": Runs(ran)}), b"\x80", b""):
        (old / "evil.pt").write_bytes(data)
        said = vouch("convert", old, bare / "new", status=1)
        assert "evil.pt: is not only tensors" in said and "ask its authors for safetensors" in said
    assert not ran.exists() and not (bare / "new").exists()


def _itself() -> dict[str, object]:
    """A mapping that holds itself."""
    values: dict[str, object] = {"w": torch.ones(2)}
    return {**values, "more": values.setdefault("self", values)}


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"w": torch.ones(2, dtype=torch.complex128)}, "cannot be written as safetensors"),
        ({"w": torch.zeros(1).expand(1 << 40)}, "w: larger than its file"),
        ({"a": {"b": torch.ones(2)}, "a.b": torch.zeros(2)}, "has two tensors a.b"),
        (_itself(), "mappings in mappings, 50 deep"),
        ({"w": torch.eye(3).to_sparse(), "epoch": 3}, "holds no tensors"),
        ({"w": os.mkdir}, "is not only tensors (it names posix.mkdir)"),
    ],
)
def test_what_safetensors_cannot_hold_is_refused(
    old: Path, bare: Path, vouch: Vouch, values: dict[str, object], why: str
) -> None:
    torch.save(values, old / "more.pt")
    assert why in vouch("convert", old, bare / "new", status=1)
    assert not (bare / "new").exists()


def test_two_files_of_one_new_name_are_refused(old: Path, bare: Path, vouch: Vouch) -> None:
    (old / "tower/vit.safetensors").write_bytes(b"other weights")
    said = vouch("convert", old, bare / "new", status=1)
    assert "would become vit.safetensors, as vit.pth does; move one of the two away" in said


@pytest.mark.parametrize(
    ("source", "target", "why"),
    [
        ("old", "dangling", "exists already"),
        ("nothing", "new", "no such folder"),
        ("old/tower", "old", "exists already"),
        ("old", "old/new", "lies in the folder that is converted"),
        ("stages", "new", "holds no pickled weights"),
    ],
)
def test_folders_that_cannot_be(old: Path, vouch: Vouch, source: str, target: str, why: str) -> None:
    (old.parent / "dangling").symlink_to("nowhere")
    assert why in vouch("convert", source, target, status=1)

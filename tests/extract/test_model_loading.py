"""A model folder that cannot be trusted or loaded is refused in one line."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stages.contracts.pins import Pin, Source, folder_digests
from stages.extract.engine import engine_file
from stages.extract.model_folder import pinned_folder
from stages.extract.model_loading import choose_device
from stages.runtime.errors import UserError
from tests.extract.tiny import save_llava


@pytest.fixture
def copy(tiny: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny, tmp_path / "copy"))


def pin(folder: Path) -> Pin:
    return Pin(
        model="tiny",
        engine="transformers",
        source=Source(kind="folder", path=str(folder)),
        files=folder_digests(folder),
    )


def test_untouched_folder_is_accepted(copy: Path) -> None:
    assert pinned_folder(pin(copy)) == copy


def test_files_that_change_nothing_are_not_pinned(copy: Path) -> None:
    pinned = pin(copy)
    (copy / "README.md").write_text("new", "utf-8")
    assert pinned_folder(pinned) == copy


@pytest.mark.parametrize(
    "name", ["model.safetensors", "config.json", "tokenizer.json", "chat_template.jinja"]
)
def test_changed_file_is_named(copy: Path, name: str) -> None:
    pinned = pin(copy)
    data = bytearray((copy / name).read_bytes())
    data[-2] ^= 1
    (copy / name).write_bytes(data)
    with pytest.raises(UserError, match=f"{name}: not as pinned; .*pin@tiny"):
        pinned_folder(pinned)


def test_missing_and_added_files_are_named(copy: Path) -> None:
    pinned = pin(copy)
    (copy / "added.jinja").write_text("{{ messages }}", "utf-8")
    with pytest.raises(UserError, match=r"added\.jinja: not in the pin"):
        pinned_folder(pinned)
    (copy / "added.jinja").unlink()
    (copy / "tokenizer.json").unlink()
    with pytest.raises(UserError, match=r"tokenizer\.json: missing"):
        pinned_folder(pinned)


def test_missing_folder_and_weights(copy: Path) -> None:
    pinned = pin(copy)
    (copy / "model.safetensors").unlink()
    with pytest.raises(UserError, match=r"no \*.safetensors weights"):
        pinned_folder(pinned)
    shutil.rmtree(copy)
    with pytest.raises(UserError, match="no such model folder"):
        pinned_folder(pinned)


def test_hub_model_that_is_not_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    source = Source(kind="hub", repo="someone/something", revision="0" * 40)
    absent = Pin(model="far", engine="transformers", source=source, files={})
    with pytest.raises(
        UserError, match=r"someone/something at 0{12}: not whole in this machine's cache; .*pin@far"
    ):
        pinned_folder(absent)


def test_hub_model_in_the_cache(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    snapshot = tmp_path / "models--someone--something" / "snapshots" / ("1" * 40)
    shutil.copytree(tiny, snapshot)
    source = Source(kind="hub", repo="someone/something", revision="1" * 40)
    present = pin(tiny).model_copy(update={"source": source})
    assert pinned_folder(present) == snapshot
    (snapshot / "chat_template.jinja").unlink()
    with pytest.raises(UserError, match=r"chat_template\.jinja: missing"):
        pinned_folder(present)


def test_weights_cut_short(copy: Path, scorer: Callable[..., Any]) -> None:
    file = copy / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(UserError, match="copy: cannot be loaded"):
        scorer(copy)


def test_weights_that_lack_a_tensor_are_not_filled_with_noise(copy: Path, scorer: Callable[..., Any]) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(copy / "model.safetensors")
    name = next(name for name in weights if name.endswith("layers.0.mlp.up_proj.weight"))
    del weights[name]
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=r"the weights lack .*layers\.0\.mlp\.up_proj\.weight \(1 in all\)"):
        scorer(copy)


def test_config_of_no_known_model(copy: Path, scorer: Callable[..., Any]) -> None:
    config = copy / "config.json"
    config.write_text(config.read_text("utf-8").replace('"llava"', '"unheard_of"'), "utf-8")
    with pytest.raises(UserError, match="copy: cannot be loaded"):
        scorer(copy)


def test_processor_without_chat_template(tmp_path: Path, scorer: Callable[..., Any]) -> None:
    with pytest.raises(UserError, match="the processor has no chat template"):
        scorer(save_llava(tmp_path / "mute", chat=None))


@pytest.mark.parametrize(
    "template", ["{% for", "{{ raise_exception('no\nway') }}", "{{ cycler.__init__.__globals__ }}"]
)
def test_chat_template_that_fails(copy: Path, scorer: Callable[..., Any], template: str) -> None:
    (copy / "chat_template.jinja").write_text(template, "utf-8")
    with pytest.raises(
        UserError, match=r"the model's chat template fails \(.*; correct chat_template\.jinja"
    ):
        scorer(copy)


def test_cuda_where_there_is_none() -> None:
    import torch

    assert choose_device("cpu") == "cpu"
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    assert choose_device("auto") == "cpu"
    with pytest.raises(UserError, match=r"extract\.device is cuda, but"):
        choose_device("cuda")


def test_unknown_engine_lists_the_known_ones() -> None:
    with pytest.raises(UserError, match="engine transfomers is unknown; valid: transformers"):
        engine_file("transfomers")

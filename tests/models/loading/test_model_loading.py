"""A model folder that cannot be trusted or loaded is refused in one line."""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from tests.models.engines import CONFIG
from tests.models.families.family import family, fresh
from tests.models.test_families import NAMES
from tests.models.tiny import save_llava, tokenizer
from vouch.models.decoder.shared_prefix import shared_prefix
from vouch.models.loading.model_folder import pinned_folder
from vouch.models.loading.model_loading import choose_device, head_in_float32, load_model
from vouch.models.requests.engine import engine_file
from vouch.pipeline.errors import UserError
from vouch.tables.pins import Pin, Source, folder_digests


def opened(folder: Path) -> None:
    shared_prefix(load_model(folder, "float32", None, CONFIG), None, CONFIG)


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


def test_weights_cut_short(copy: Path) -> None:
    file = copy / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(UserError, match="copy: cannot be loaded"):
        opened(copy)


def test_weights_that_lack_a_tensor_are_not_filled_with_noise(copy: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(copy / "model.safetensors")
    name = next(name for name in weights if name.endswith("layers.0.mlp.up_proj.weight"))
    del weights[name]
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=r"the weights lack .*layers\.0\.mlp\.up_proj\.weight \(1 in all\)"):
        opened(copy)


def test_config_of_no_known_model(copy: Path) -> None:
    config = copy / "config.json"
    config.write_text(config.read_text("utf-8").replace('"llava"', '"unheard_of"'), "utf-8")
    with pytest.raises(UserError, match="copy: cannot be loaded"):
        opened(copy)


def test_processor_without_chat_template(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the processor has no chat template"):
        opened(save_llava(tmp_path / "mute", chat=None))


@pytest.mark.parametrize(
    "template",
    [
        "{% for",
        "{{ raise_exception('no\nway') }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ 'x' * 100000000000000 }}",
    ],
)
def test_chat_template_that_fails(copy: Path, template: str) -> None:
    (copy / "chat_template.jinja").write_text(template, "utf-8")
    with pytest.raises(
        UserError,
        match=r"processor or chat template fails at a plain question .*; correct chat_template\.jinja",
    ):
        opened(copy)


def test_cuda_where_there_is_none() -> None:
    assert choose_device("cpu") == "cpu"
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    assert choose_device("auto") == "cpu"
    with pytest.raises(UserError, match=r"extract\.device is cuda, but"):
        choose_device("cuda")


def test_unknown_engine_lists_the_known_ones() -> None:
    with pytest.raises(
        UserError,
        match="engine transfomers is unknown; did you mean transformers\\? valid: openai, transformers",
    ):
        engine_file("transfomers")


# -- parts that a model may need ----------------------------------------------------------------------


def test_processor_that_needs_torchvision(tmp_path: Path) -> None:
    from transformers import Qwen2VLImageProcessorPil

    family("qwen2_vl").model.save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    Qwen2VLImageProcessorPil().save_pretrained(tmp_path)
    assert find_spec("torchvision") is None, "this test is about its absence"
    with pytest.raises(UserError, match=r"reads videos as well, .* run `make install EXTRAS=video`"):
        load_model(tmp_path, "float32", None, CONFIG)


def test_pictures_are_read_with_pillow(tiny: Path) -> None:
    from transformers import CLIPImageProcessorPil

    assert type(load_model(tiny, "float32", None, CONFIG).processor.image_processor) is CLIPImageProcessorPil


def test_split_model_has_the_same_bits(tiny: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine would split it over GPUs")
    models = [
        load_model(tiny, "bfloat16", None, CONFIG.model_copy(update={"device": device})).model
        for device in ("cpu", "split")
    ]
    ids = torch.arange(6, 40)[None]
    with torch.no_grad():
        logits = [model(input_ids=ids).logits for model in models]
    assert torch.equal(*logits)


def test_split_without_accelerate(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "accelerate", None)
    with pytest.raises(
        UserError, match=r"extract\.device is split, which needs accelerate; run `make install"
    ):
        choose_device("split")


@pytest.mark.parametrize(
    ("name", "dtype"), [*((name, torch.bfloat16) for name in NAMES), ("gemma3", torch.float16)]
)
def test_last_projection_in_float32(name: str, dtype: torch.dtype) -> None:
    one = fresh(name)
    model = one.model.to(dtype)
    inputs: list[torch.Tensor] = []
    head = model.get_output_embeddings()
    weight, read = head.weight.detach().clone(), model.get_input_embeddings().weight.detach().clone()
    head_in_float32(model)
    head.register_forward_hook(lambda module, given, output: inputs.append(given[0]))
    prompt = one.prepared("one", 5)
    logits = one.logits(prompt)
    right = torch.nn.functional.linear(inputs[0], weight.float())[0, :, : logits.shape[-1]]
    assert inputs[0].dtype == torch.float32
    assert torch.equal(logits, right)
    assert model.get_input_embeddings().weight.dtype == dtype
    assert torch.equal(model.get_input_embeddings().weight, read)


def test_shared_head_leaves_the_input_embeddings(tiny: Path) -> None:
    model = load_model(tiny, "bfloat16", None, CONFIG).model
    head, read = model.get_output_embeddings().weight, model.get_input_embeddings().weight
    assert (head.dtype, read.dtype) == (torch.float32, torch.bfloat16)
    assert torch.equal(head, read.float())


def test_a_gpu_computes_the_same_way_each_time(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", False)
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)
    load_model(tiny, "float32", None, CONFIG)
    assert torch.backends.cudnn.deterministic and not torch.backends.cudnn.benchmark

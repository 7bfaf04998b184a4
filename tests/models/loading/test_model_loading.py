"""A model folder that cannot be trusted or loaded is refused in one line."""

import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from tests.models.encoders.models import pin
from tests.models.engines import CONFIG
from tests.models.families.family import family, fresh
from tests.models.families.table import FAMILIES
from tests.models.tiny import save_llava, tokenizer
from tests.refusals import refused
from vouch.models.decoder.engine import head_in_float32, load_model, shared_prefix
from vouch.models.engine import engine_kind
from vouch.models.loading import choose_device, pinned_folder
from vouch.tables.answered import Pin, Source


def opened(folder: Path) -> None:
    shared_prefix(load_model(folder, "float32", None, CONFIG), None, CONFIG)


@pytest.fixture
def copy(tiny: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny, tmp_path / "copy"))


def test_files_that_change_nothing_are_not_pinned(copy: Path) -> None:
    pinned = pin("tiny", copy)
    (copy / "README.md").write_text("new", "utf-8")
    assert pinned_folder(pinned) == copy


def flipped(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[-2] ^= 1
    file.write_bytes(data)


def added(file: Path) -> None:
    file.write_text("{{ messages }}", "utf-8")


@pytest.mark.parametrize(
    ("change", "name", "problem"),
    [
        (flipped, "model.safetensors", "model.safetensors: not as pinned; .*pin@tiny"),
        (flipped, "config.json", "config.json: not as pinned"),
        (flipped, "tokenizer.json", "tokenizer.json: not as pinned"),
        (flipped, "chat_template.jinja", "chat_template.jinja: not as pinned"),
        (added, "added.jinja", "added.jinja: not in the pin"),
        (Path.unlink, "tokenizer.json", "tokenizer.json: missing"),
        (Path.unlink, "model.safetensors", "no [*].safetensors weights"),
        (shutil.rmtree, "", "no such model folder"),
    ],
)
def test_what_is_not_as_pinned_is_named(
    copy: Path, change: Callable[[Path], None], name: str, problem: str
) -> None:
    pinned = pin("tiny", copy)
    assert pinned_folder(pinned) == copy
    change(copy / name)
    with refused(problem):
        pinned_folder(pinned)


def test_hub_model_that_is_not_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    source = Source(kind="hub", repo="someone/something", revision="0" * 40)
    absent = Pin(model="far", engine="transformers", source=source, files={})
    with refused(r"someone/something at 0{12}: not whole in this machine's cache; .*pin@far"):
        pinned_folder(absent)


def test_hub_model_in_the_cache(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    snapshot = tmp_path / "models--someone--something" / "snapshots" / ("1" * 40)
    shutil.copytree(tiny, snapshot)
    source = Source(kind="hub", repo="someone/something", revision="1" * 40)
    present = pin("tiny", tiny).model_copy(update={"source": source})
    assert pinned_folder(present) == snapshot
    (snapshot / "chat_template.jinja").unlink()
    with refused(r"chat_template\.jinja: missing"):
        pinned_folder(present)


def cut_short(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])


def without_a_tensor(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    del weights[next(name for name in weights if name.endswith("layers.0.mlp.up_proj.weight"))]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def of_no_known_model(folder: Path) -> None:
    config = folder / "config.json"
    config.write_text(config.read_text("utf-8").replace('"llava"', '"unheard_of"'), "utf-8")


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (cut_short, "copy: cannot be loaded"),
        (of_no_known_model, "copy: cannot be loaded"),
        # Not filled with noise, as transformers would.
        (without_a_tensor, r"the weights lack .*layers\.0\.mlp\.up_proj\.weight \(1 in all\)"),
    ],
)
def test_damaged_folder(copy: Path, damage: Callable[[Path], None], problem: str) -> None:
    damage(copy)
    with refused(problem):
        opened(copy)


def test_processor_without_chat_template(tmp_path: Path) -> None:
    with refused("the processor has no chat template"):
        opened(save_llava(tmp_path / "mute", chat=None))


@pytest.mark.parametrize("template", ["{% for", "{{ raise_exception('no\nway') }}"])
def test_chat_template_that_fails(copy: Path, template: str) -> None:
    (copy / "chat_template.jinja").write_text(template, "utf-8")
    with refused(
        r"processor or chat template fails at a plain question .*; correct its processor or chat_template\.jinja"
    ):
        opened(copy)


def test_cuda_where_there_is_none() -> None:
    assert choose_device("cpu") == "cpu"
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    assert choose_device("auto") == "cpu"
    with refused(r"extract\.device is cuda, but"):
        choose_device("cuda")


def test_unknown_engine_lists_the_known_ones() -> None:
    with refused(
        "engine transfomers is unknown; did you mean transformers\\? valid: openai, program, transformers"
    ):
        engine_kind("transfomers")


# -- parts that a model may need ----------------------------------------------------------------------


def test_processor_that_needs_torchvision(tmp_path: Path) -> None:
    from transformers import Qwen2VLImageProcessorPil

    family("qwen2_vl").model.save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    Qwen2VLImageProcessorPil().save_pretrained(tmp_path)
    assert find_spec("torchvision") is None, "this test is about its absence"
    with refused(r"reads videos as well, .* run `make install EXTRAS=video`"):
        load_model(tmp_path, "float32", None, CONFIG)


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
    with refused(r"extract\.device is split, which needs accelerate; run `make install"):
        choose_device("split")


@pytest.mark.parametrize(
    ("name", "dtype"), [*((name, torch.bfloat16) for name in FAMILIES), ("gemma3", torch.float16)]
)
def test_last_projection_in_float32(name: str, dtype: torch.dtype) -> None:
    one = fresh(name)
    model = one.model
    for value in (*model.parameters(), *model.buffers()):
        value.data = (
            value.data.to(dtype) if value.is_floating_point() else value.data
        )  # Llama 4 has complex ones
    inputs: list[torch.Tensor] = []
    head = model.get_output_embeddings()
    weight, read = head.weight.detach().clone(), model.get_input_embeddings().weight.detach().clone()
    head_in_float32(model)
    head.register_forward_hook(lambda module, given, output: inputs.extend((given[0], output)))
    one.logits(one.prepared("one", 5))  # some models scale what the projection gives
    assert inputs[0].dtype == torch.float32
    assert torch.equal(inputs[1], torch.nn.functional.linear(inputs[0], weight.float()))
    assert model.get_input_embeddings().weight.dtype == dtype
    assert torch.equal(model.get_input_embeddings().weight, read)


def test_shared_head_leaves_the_input_embeddings(tiny: Path) -> None:
    model = load_model(tiny, "bfloat16", None, CONFIG).model
    head, read = model.get_output_embeddings().weight, model.get_input_embeddings().weight
    assert (head.dtype, read.dtype) == (torch.float32, torch.bfloat16)
    assert torch.equal(head, read.float())


def test_pillow_reads_images_and_a_gpu_computes_the_same_way_each_time(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import CLIPImageProcessorPil

    monkeypatch.setattr(torch.backends.cudnn, "deterministic", False)
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)
    assert type(load_model(tiny, "float32", None, CONFIG).processor.image_processor) is CLIPImageProcessorPil
    assert torch.backends.cudnn.deterministic and not torch.backends.cudnn.benchmark

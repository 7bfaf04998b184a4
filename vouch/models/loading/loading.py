"""Where the files of a pinned model lie, and whether they are still those that were pinned.

What becomes of a picture before a model sees it: its image processor, with the settings of models.lock.

Loading a model and its processor from a folder: safetensors, no code from the folder, no network.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub.dataclasses import validate_typed_dict
from psutil import virtual_memory
from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES

from vouch.models.loading.boundary import check_tokenizer, opening
from vouch.models.requests.config import Config
from vouch.pipeline.errors import UserError, did_you_mean, reason
from vouch.pipeline.locks import lease
from vouch.pipeline.out_of_memory import out_of_memory
from vouch.tables.answered import SECOND, Pin, check_covered, folder_digests, hub_snapshot


def pinned_folder(pin: Pin) -> Path:
    """The model's folder, every file compared with its pin. Raises UserError where one differs, or
    where a file beside them would be loaded."""
    folder = _hub_folder(pin) if pin.source.kind == "hub" else Path(pin.source.path or "")
    found = folder_digests(folder)
    for name in sorted({*found, *pin.files}):
        if found.get(name) != pin.files.get(name):
            problem = (
                "missing" if name not in found else "not as pinned" if name in pin.files else "not in the pin"
            )
            raise UserError(
                f"{folder / name}: {problem}; restore the folder, or pin what it holds now with "
                f"`dvc repro --force --single-item pin@{pin.model}`"
            )
    check_covered(folder)
    return folder


def _hub_folder(pin: Pin) -> Path:
    from huggingface_hub.errors import LocalEntryNotFoundError

    repo, revision = pin.source.repo or "", pin.source.revision or ""
    try:
        return hub_snapshot(repo, revision, local=True)
    except LocalEntryNotFoundError:
        raise UserError(
            f"{repo} at {revision[:12]}: not whole in this machine's cache; fetch it with "
            f"`dvc repro --force --single-item pin@{pin.model}` where there is a network"
        ) from None


LOCAL = {"local_files_only": True, "trust_remote_code": False}
KIND = "image_processor_type"  # the setting that names another class than the folder does


def image_processor(folder: Path, settings: Mapping[str, Any]) -> Any:
    """The image processor of a model folder. Where torchvision is installed it would resize pictures
    differently: Pillow does it everywhere, but for the few classes that have no Pillow variant.

    settings: `processor` of models.lock, by transformers' own names, over what the folder says. Raises
    UserError for a name that the class does not know or a value of another kind, and whatever transformers
    raises.
    """
    given = dict(settings)
    if kind := given.pop(KIND, None):
        processor = _class(kind).from_pretrained(folder, local_files_only=True)
    else:
        processor = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil", **LOCAL)
    known = [KIND, *type(processor).valid_kwargs.__annotations__] if given else []
    for name in given:
        if name not in known:
            raise UserError(
                f"models.lock: processor: {type(processor).__name__} has no setting {name}; "
                f"{did_you_mean(name, known)}"
            )
    try:
        validate_typed_dict(type(processor).valid_kwargs, given)
    except Exception as error:
        raise UserError(f"models.lock: processor: {reason(error)}") from None
    return type(processor).from_dict({**processor.to_dict(), **given}) if given else processor


def with_settings(processor: Any, folder: Path, settings: Mapping[str, Any]) -> Any:
    """A model's processor whose image processor is that of `image_processor`."""
    if hasattr(processor, "image_processor"):
        processor.image_processor = image_processor(folder, settings)
        # Defaults of the processor's own come before those of its image processor: InternVL's tiles, for one.
        own = {name: value for name, value in settings.items() if name != KIND}
        if own:
            processor.images_kwargs = {**getattr(processor, "images_kwargs", {}), **own}
    elif settings:
        raise UserError("models.lock: processor: this model reads no pictures; leave the settings out")
    return processor


def complete(processor: Any, config: Any) -> None:
    """Gives LLaVA's processor what it counts a picture's tokens by, from the configuration of its model.

    Processors saved by older code, or by a class of the authors' own (Mantis), lack it.
    """
    strategy = "vision_feature_select_strategy"
    if getattr(processor, "patch_size", 0) is not None or not hasattr(config, strategy):
        return
    tower = config.vision_config
    processor.patch_size = tower.patch_size
    setattr(processor, strategy, getattr(config, strategy))
    processor.num_additional_image_tokens = int(tower.model_type == "clip_vision_model")  # the class token


def _class(kind: str) -> Any:
    names = {
        one["torchvision"]: one["pil"]
        for one in IMAGE_PROCESSOR_MAPPING_NAMES.values()
        if one.get("torchvision") and one.get("pil")
    }
    if kind not in names:
        raise UserError(
            f"models.lock: processor: transformers has no {KIND} {kind} for Pillow; "
            f"{did_you_mean(str(kind), list(names))}"
        )
    return getattr(transformers, names[kind])


@dataclass(frozen=True)
class LoadedModel:
    """A model in evaluation mode with its processor.

    device: where inputs go.
    """

    model: Any
    processor: Any
    device: str


def hush() -> None:
    """Keeps transformers' own warnings and progress bars out of a stage's output."""
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()


def prepare_device(wanted: str, threads: int) -> str:
    """See choose_device; sets everything else that could move a bit, and hushes the library."""
    device = choose_device(wanted)
    torch.set_num_threads(threads)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    hush()
    return device


def load_weights(auto: Any, folder: Path, dtype: str, device: str, unread: str | None = None) -> Any:
    """A model by one of transformers' Auto classes: safetensors, no code of the folder, no network.

    device: `split` spreads it over all GPUs; else it stays where it was loaded. unread: beginning of the
    names of weights that may be missing. Raises UserError where others are (transformers would fill them
    with random numbers and say so in a warning), and whatever the model's class raises.
    """
    model, report = auto.from_pretrained(
        folder,
        dtype=getattr(torch, dtype),
        use_safetensors=True,
        output_loading_info=True,
        **({"device_map": "auto"} if device == "split" else {}),
        **LOCAL,
    )
    missing = sorted(name for name in report["missing_keys"] if not (unread and name.startswith(unread)))
    if missing:
        raise UserError(
            f"{folder}: the weights lack {missing[0]} ({len(missing)} in all); save the model anew"
        )
    return model.eval()


def load_model(
    folder: Path, dtype: str, template: str | None, config: Config, settings: Mapping[str, Any] = {}
) -> LoadedModel:
    """The model of a folder.

    template: stands in for its chat template. settings: of its image processor, over those of the folder.

    Raises UserError, one line, whatever is wrong with the folder or the device.
    """
    device = prepare_device(config.device, config.threads)
    check_tokenizer(folder)
    with opening(folder, "cannot be loaded", "save the model anew"):
        processor = transformers.AutoProcessor.from_pretrained(folder, **LOCAL)
        processor = with_settings(processor, folder, settings)
        _check_processor(processor, folder, template)
        model = load_weights(transformers.AutoModelForImageTextToText, folder, dtype, config.device)
        complete(processor, model.config)
        if config.device == "split":
            if any(value.is_meta for value in model.parameters()):
                raise UserError(
                    f"{folder}: does not fit on all GPUs of this machine together; use more of them, or a "
                    "smaller dtype in models.lock"
                )
            device = str(model.device)
        else:
            model.to(device)
        if dtype != "float32":
            head_in_float32(model)
    return LoadedModel(model, processor, device)


def _check_processor(processor: Any, folder: Path, template: str | None) -> None:
    """Raises UserError where a processor does not read pictures and text, or knows no way to write a chat."""
    for part in ("image_processor", "tokenizer"):
        if not hasattr(processor, part):
            raise UserError(
                f"{folder}: its processor is a {type(processor).__name__}, which has no {part}; correct "
                "processor_class in processor_config.json, or add the files of its processor"
            )
    if hasattr(processor, SECOND):  # where it cannot be read, transformers lets the first one stand in for it
        if not (folder / SECOND).is_dir():
            raise UserError(
                f"{folder / SECOND}: no such folder, with the Q-Former's tokenizer; fetch the model anew"
            )
        setattr(processor, SECOND, transformers.AutoTokenizer.from_pretrained(folder / SECOND, **LOCAL))
    if template is None and not getattr(processor, "chat_template", None):
        raise UserError(
            f"{folder}: the processor has no chat template; name one of vouch/models/chat/templates "
            "as `template` in models.lock, or add chat_template.jinja to the model"
        )


def choose_device(wanted: str) -> str:
    """cpu or cuda; a split model takes its inputs on the device of its first part.

    Of several GPUs this process sees one from now on that no other run has, a split model all of them.
    Raises UserError where CUDA, or what splitting needs, is asked for and not there.
    """
    if wanted == "split" and find_spec("accelerate") is None:
        raise UserError(
            "params.yaml: extract.device is split, which needs accelerate; "
            "run `make install`, or set it to auto"
        )
    if wanted != "cpu" and torch.version.cuda:
        lease(everything=wanted == "split")
    if wanted in ("auto", "split"):
        return "cuda" if torch.cuda.is_available() else "cpu"
    if wanted == "cuda" and not torch.cuda.is_available():
        why = "no GPU is visible" if torch.version.cuda else "this build of torch has no CUDA"
        raise UserError(f"params.yaml: extract.device is cuda, but {why}; set it to auto or cpu")
    return wanted


def head_in_float32(model: Any) -> None:
    """Computes the last projection in float32: half-precision logits are so coarse that letters tie."""
    head = model.get_output_embeddings()
    for name, value in list(head.named_parameters(recurse=False)):
        # A copy of its own: the weight may be shared with the input embeddings, which stay as they are.
        setattr(head, name, torch.nn.Parameter(value.detach().float(), requires_grad=False))
    head.register_forward_pre_hook(lambda module, inputs: (inputs[0].float(), *inputs[1:]))


SPARE = 2  # so many times the memory that float32 weights take must be free


@contextmanager
def in_float32(model: Any) -> Iterator[bool]:
    """Raises all weights to float32 in place, afterwards every tensor is what it was, bit for bit.

    Gives False, and changes nothing, where memory does not allow it.
    """
    tensors = chain(model.parameters(), model.buffers())
    coarse = [one for one in tensors if one.is_floating_point() and one.element_size() < 4]
    before = [one.dtype for one in coarse]
    raised = _fits(coarse)
    try:
        try:
            for one in coarse if raised else ():
                one.data = one.data.float()
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
            raised = False
            _to(coarse, before)
        yield raised
    finally:
        _to(coarse, before)


def _to(tensors: Sequence[torch.Tensor], dtypes: Sequence[torch.dtype]) -> None:
    for one, dtype in zip(tensors, dtypes, strict=True):
        one.data = one.data.to(dtype)


def _fits(tensors: Sequence[torch.Tensor]) -> bool:
    more = Counter[torch.device]()
    for one in tensors:
        more[one.device] += one.numel() * (4 - one.element_size())
    return not any(one.is_meta for one in tensors) and all(
        SPARE * size
        <= (torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else virtual_memory().available)
        for device, size in more.items()
    )

"""Opening a model of transformers: pinned files only, safetensors only, no code of the folder, no network.

`pinned_folder` finds a model's files and compares them with its pin, `load_weights` loads them,
`image_processor` decides how images are prepared. A folder controls what transformers, torch and tokenizers
do in this process: `foreign` turns whatever they raise into one line, and `opening` bounds the memory that
they take.
"""

import os
import resource
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub.dataclasses import validate_typed_dict
from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES

from vouch.pipeline.errors import (
    UserError,
    did_you_mean,
    out_of_memory,
    raised_for_us,
    reason,
    without_threads,
)
from vouch.pipeline.locks import lease
from vouch.tables.answered import WEIGHT_SUFFIX, Pin, check_covered, folder_digests, hub_snapshot

LOCAL = {"local_files_only": True, "trust_remote_code": False}
KIND = "image_processor_type"  # the setting that names another class than the folder does

ADVICE = "correct its configuration, or save the model anew"
SPARE = 1 << 30  # bytes that opening a model may take beside its weights
A_BYTE = 8  # bytes for each byte of weights: as read, in float32, and for a while a copy of both
_STATM = "/proc/self/statm"


def pinned_folder(pin: Pin) -> Path:
    """The model's folder, after every file was compared with its pin.

    Raises UserError if one differs, or if another file would be loaded.
    """
    folder = model_folder(pin)
    digests = folder_digests(folder)
    for name in sorted({*digests, *pin.files}):
        if digests.get(name) != pin.files.get(name):
            problem = (
                "missing"
                if name not in digests
                else "not as pinned"
                if name in pin.files
                else "not in the pin"
            )
            raise UserError(
                f"{folder / name}: {problem}; restore the folder, or pin what it holds now with "
                f"`dvc repro --force --single-item pin@{pin.model}`"
            )
    check_covered(folder)
    return folder


def model_folder(pin: Pin) -> Path:
    """Where a model's files lie. Raises UserError if this machine lacks those of the hub."""
    return _hub_folder(pin) if pin.source.kind == "hub" else Path(pin.source.path or "")


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


def prepare_device(wanted: str, threads: int) -> str:
    """Chooses the device, and sets all else that could change bits; silences the library."""
    device = choose_device(wanted)
    torch.set_num_threads(threads)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    hush()
    return device


def choose_device(wanted: str) -> str:
    """cpu or cuda; a split model takes its inputs on the device of its first part.

    Of several GPUs, this process sees from now on only one that no other run uses; a split model sees all.
    Raises UserError if CUDA, or what splitting needs, is asked for but missing.
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


def hush() -> None:
    """Keeps transformers' own warnings and progress bars out of a stage's output."""
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()


def auto_class(folder: Path, config: Any, sees: bool) -> Any:
    """The class of transformers that loads a model: one for images and texts, or for texts alone.

    folder: for messages. Raises UserError if the model, by its configuration, is of neither kind.
    """
    if sees:
        known = transformers.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
    else:
        known = transformers.MODEL_FOR_CAUSAL_LM_MAPPING
    if type(config) not in known or (not sees and config.is_encoder_decoder):
        raise UserError(
            f"{folder}: a model of type {config.model_type} is neither a vision-language model nor a "
            "language model that goes on from its prompt, as transformers loads them; take another"
        )
    return transformers.AutoModelForImageTextToText if sees else transformers.AutoModelForCausalLM


def load_weights(
    auto: Any, folder: Path, dtype: str, wanted: str, device: str, unread: str | None = None
) -> tuple[Any, str]:
    """A model in evaluation mode by one of transformers' Auto classes, and where its inputs go.

    wanted: the device as the parameters say it; `split` spreads the model over all GPUs. device: that of
    `choose_device`. unread: beginning of the names of weights that may be missing. Raises UserError if
    others are (transformers would fill them with random numbers and say so in a warning), or if a split
    model does not fit, and whatever the model's class raises.
    """
    model, report = auto.from_pretrained(
        folder,
        dtype=getattr(torch, dtype),
        use_safetensors=True,
        output_loading_info=True,
        **({"device_map": "auto"} if wanted == "split" else {}),
        **LOCAL,
    )
    missing = sorted(name for name in report["missing_keys"] if not (unread and name.startswith(unread)))
    if missing:
        raise UserError(
            f"{folder}: the weights lack {missing[0]} ({len(missing)} in all); save the model anew"
        )
    model.eval()
    if wanted != "split":
        return model.to(device), device
    if any(value.is_meta for value in model.parameters()):
        raise UserError(
            f"{folder}: does not fit on all GPUs of this machine together; use more of them, or a "
            "smaller dtype in models.lock"
        )
    return model, str(model.device)


def image_processor(folder: Path, settings: Mapping[str, Any]) -> Any:
    """The image processor of a model folder. If torchvision is installed, it would resize images differently;
    so Pillow does it, except for the few classes that have no Pillow variant.

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


@contextmanager
def foreign(folder: Path, what: str, advice: str) -> Iterator[None]:
    """Turns whatever libraries raise in the block into a UserError: the folder, what failed, what to do."""
    try:
        yield
    except UserError:
        raise
    except BaseException as error:
        if not raised_for_us(error):
            raise
        raise UserError(f"{folder}: {_explained(error, what, advice)}") from error


def _explained(error: BaseException, what: str, advice: str) -> str:
    why = reason(error)
    if out_of_memory(error) or without_threads(error):
        return (
            f"{what}: no memory left ({why or type(error).__name__}); give it more, or take a smaller model"
        )
    if "ignore_mismatched_sizes" in why:  # the rest of it is a table in a warning
        return "its weights have other shapes than its config.json says; save the model anew"
    return _without_torchvision(why) or f"{what} ({type(error).__name__}: {why}); {advice}"


def _without_torchvision(why: str) -> str | None:
    """What is wrong with torchvision, if that is why a model cannot be loaded."""
    if find_spec("torchvision") is None:
        if "torchvision" not in why.lower():
            return None
        return (
            "its processor reads videos as well, for which it needs torchvision; "
            "run `make install EXTRAS=video` in this checkout"
        )
    try:
        import torchvision  # noqa: F401
    except Exception as error:  # a build for another torch raises what it likes
        return f"torchvision does not fit this torch ({error}); install the build that does, or remove it"
    return None


@contextmanager
def opening(folder: Path, what: str, advice: str) -> Iterator[None]:
    """`foreign` for loading a model and its first pass, with memory in proportion to its weights.

    A setting may ask for any size, and a MemoryError is better than a machine that swaps.
    """
    weights = sum(path.stat().st_size for path in folder.glob(f"*{WEIGHT_SUFFIX}") if path.is_file())
    with foreign(folder, what, advice), _bounded(A_BYTE * weights + SPARE):
        yield


@contextmanager
def _bounded(more: int) -> Iterator[None]:
    """Limits this process to `more` further bytes; no limit if the system does not say how many it has, nor
    with CUDA, which reserves memory of its own."""
    if not os.path.exists(_STATM) or torch.version.cuda:
        yield
        return
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    pages = int(Path(_STATM).read_text("ascii").split()[5])
    limits = [one for one in (before, hard) if one != resource.RLIM_INFINITY]
    most = min([pages * resource.getpagesize() + more, *limits])
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))

"""Loading a model and its processor from a folder: safetensors, no code from the folder, no network."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import transformers

from vouch.models.requests.config import Config
from vouch.pipeline.errors import UserError
from vouch.pipeline.gpus import lease

LOCAL = {"local_files_only": True, "trust_remote_code": False}


@dataclass(frozen=True)
class LoadedModel:
    """A model in evaluation mode with its processor.

    device: where inputs go. context: most tokens it can read, None if unlimited. image_token: stands
    where a picture's features go, None where a model has no such token.
    """

    model: Any
    processor: Any
    device: str
    context: int | None
    image_token: int | None


def hush() -> None:
    """Keeps transformers' own warnings and progress bars out of a stage's output."""
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()


def load_weights(auto: Any, folder: Path, dtype: str, device: str) -> Any:
    """A model by one of transformers' Auto classes: safetensors, no code of the folder, no network.

    device: `split` spreads it over all GPUs; else it stays where it was loaded. Raises UserError where
    weights are missing (transformers would fill them with random numbers and say so in a warning), and
    whatever the model's class raises.
    """
    model, report = auto.from_pretrained(
        folder,
        dtype=getattr(torch, dtype),
        use_safetensors=True,
        output_loading_info=True,
        **({"device_map": "auto"} if device == "split" else {}),
        **LOCAL,
    )
    missing = sorted(report["missing_keys"])
    if missing:
        raise UserError(
            f"{folder}: the weights lack {missing[0]} ({len(missing)} in all); save the model anew"
        )
    return model.eval()


def load_model(folder: Path, dtype: str, template: str | None, config: Config) -> LoadedModel:
    """The model of a folder; `template` stands in for its chat template.

    Raises UserError, one line, whatever is wrong with the folder or the device.
    """
    device = choose_device(config.device)
    torch.set_num_threads(config.threads)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    hush()
    try:
        processor = _processor(folder)
        model = load_weights(transformers.AutoModelForImageTextToText, folder, dtype, config.device)
    except UserError:
        raise
    except Exception as error:  # the loaders of many model classes raise many kinds
        reason = " ".join(str(error).split())[:200]
        problem = _without_torchvision(reason)
        if problem is None:
            problem = f"cannot be loaded ({type(error).__name__}: {reason}); save the model anew"
        raise UserError(f"{folder}: {problem}") from None
    if template is None and not getattr(processor, "chat_template", None):
        raise UserError(
            f"{folder}: the processor has no chat template; name one of vouch/models/chat/templates as `template` in "
            "models.lock, or add chat_template.jinja to the model"
        )
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
    return LoadedModel(model, processor, device, _context(model), _image_token(model))


def _processor(folder: Path) -> Any:
    """Where torchvision is installed it would resize pictures differently: Pillow does it everywhere."""
    processor = transformers.AutoProcessor.from_pretrained(folder, **LOCAL)
    if hasattr(processor, "image_processor"):
        pictures = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil", **LOCAL)
        processor.image_processor = pictures
    return processor


def _without_torchvision(reason: str) -> str | None:
    """What is wrong with torchvision, if that is why a model cannot be loaded."""
    if find_spec("torchvision") is None:
        if "torchvision" not in reason.lower():
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


def _context(model: Any) -> int | None:
    limit = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return int(limit) if limit else None


def _image_token(model: Any) -> int | None:
    for name in ("image_token_id", "image_token_index"):
        token = getattr(model.config, name, None)
        if token is not None:
            return int(token)
    return None


def head_in_float32(model: Any) -> None:
    """Computes the last projection in float32: half-precision logits are so coarse that letters tie."""
    head = model.get_output_embeddings()
    for name, value in list(head.named_parameters(recurse=False)):
        # A copy of its own: the weight may be shared with the input embeddings, which stay as they are.
        setattr(head, name, torch.nn.Parameter(value.detach().float(), requires_grad=False))
    head.register_forward_pre_hook(lambda module, inputs: (inputs[0].float(), *inputs[1:]))

"""Loading a model and its processor from a folder: safetensors, no code from the folder, no network."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers

from stages.extract.config import Config
from stages.runtime.errors import UserError


@dataclass(frozen=True)
class LoadedModel:
    """A model in evaluation mode with its processor. context: most tokens it can read, None if unlimited."""

    model: Any
    processor: Any
    device: str
    context: int | None


def load_model(folder: Path, dtype: str, config: Config) -> LoadedModel:
    """Raises UserError, one line, whatever is wrong with the folder or the device."""
    device = choose_device(config.device)
    torch.set_num_threads(config.threads)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    local = {"local_files_only": True, "trust_remote_code": False}
    try:
        # Where torchvision is installed it would resize pictures differently: ask for Pillow everywhere.
        processor = transformers.AutoProcessor.from_pretrained(folder, backend="pil", **local)
        model, report = transformers.AutoModelForImageTextToText.from_pretrained(
            folder, dtype=getattr(torch, dtype), use_safetensors=True, output_loading_info=True, **local
        )
    except Exception as error:  # the loaders of many model classes raise many kinds
        reason = " ".join(str(error).split())[:200]
        raise UserError(
            f"{folder}: cannot be loaded ({type(error).__name__}: {reason}); save the model anew"
        ) from None
    missing = sorted(report["missing_keys"])
    if missing:
        # transformers would fill them with random numbers and say so in a warning.
        raise UserError(
            f"{folder}: the weights lack {missing[0]} ({len(missing)} in all); save the model anew"
        )
    if not getattr(processor, "chat_template", None):
        raise UserError(f"{folder}: the processor has no chat template; add chat_template.jinja to the model")
    model.eval().to(device)
    if dtype != "float32":
        _head_in_float32(model)
    return LoadedModel(model, processor, device, _context(model))


def choose_device(wanted: str) -> str:
    """cpu or cuda. Raises UserError where CUDA is asked for and not there."""
    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if wanted == "cuda" and not torch.cuda.is_available():
        why = "no GPU is visible" if torch.version.cuda else "this build of torch has no CUDA"
        raise UserError(f"params.yaml: extract.device is cuda, but {why}; set it to auto or cpu")
    return wanted


def _context(model: Any) -> int | None:
    limit = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return int(limit) if limit else None


def _head_in_float32(model: Any) -> None:
    """Computes the last projection in float32: half-precision logits are so coarse that letters tie."""
    head = model.get_output_embeddings()
    for name, value in list(head.named_parameters(recurse=False)):
        # A copy of its own: the weight may be shared with the input embeddings, which stay as they are.
        setattr(head, name, torch.nn.Parameter(value.detach().float(), requires_grad=False))
    head.register_forward_pre_hook(lambda module, inputs: (inputs[0].float(), *inputs[1:]))

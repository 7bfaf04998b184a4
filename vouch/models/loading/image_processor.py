"""What becomes of a picture before a model sees it: its image processor, with the settings of models.lock."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import transformers
from huggingface_hub.dataclasses import validate_typed_dict
from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES

from vouch.pipeline.errors import UserError, did_you_mean, reason

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

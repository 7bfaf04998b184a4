"""The kind of a model: whether transformers has a class for it, and whether it takes images."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from vouch.models.lock_entry import LOCK, LockEntry
from vouch.pipeline.errors import UserError
from vouch.tables.answered import pin_path, read_json, read_pin


def has_class(config: Mapping[str, Any]) -> bool:
    """Whether transformers has a class of its own for a config.json: one that answers questions on images,
    that writes text (a rewriter of questions), or that encodes texts, or images and texts."""
    from transformers.models.auto import modeling_auto as known

    return any(
        config.get("model_type") in names
        for names in (
            known.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
            known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
            known.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
            known.MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES,
        )
    )


def takes_images(config: Mapping[str, Any]) -> bool:
    """Whether a model takes images, by its config.json. A causal language model does not, nor does the text
    part of a vision-language model that was saved alone: its model_type may be that of the whole. Encoders of
    texts, which transformers also lists as causal (BERT), are not meant."""
    from transformers.models.auto import modeling_auto as known

    kind = str(config.get("model_type"))
    encoder = kind in known.MODEL_FOR_MASKED_LM_MAPPING_NAMES and not config.get("is_decoder")
    language = None if encoder else known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(kind)
    whole = known.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES.get(kind)
    if language is None or whole is None:
        return language is None or "vision_config" in config
    return bool(whole == language) or class_name(config) != language


def reads_images(config: Mapping[str, Any]) -> bool:
    """Whether a model needs an image processor: one that answers questions on images, or encodes them."""
    from transformers.models.auto import modeling_auto as known

    kind = config.get("model_type")
    classes = (
        known.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
        known.MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES,
    )
    return any(kind in names for names in classes) and takes_images(config)


def sees_images(name: str, source: str | None, entry: LockEntry | None = None) -> bool:
    """Whether a model takes images, as far as is known without the network; True if nothing says otherwise.

    source: as in params.yaml; None if only its pin counts. entry: its entry of models.lock. It is the first
    of these that says it: the entry, the pin of that source, config.json in that folder.
    """
    if entry and entry.sees is not None:
        return entry.sees
    if source == LOCK:
        return True
    with suppress(UserError):  # no pin yet, or none that can be read
        pin = read_pin(pin_path(name))
        if source in (None, pin.source.path):
            return pin.sees
    with suppress(UserError):  # which the stage `pin` reports
        if source is not None and (config := Path(source) / "config.json").is_file():
            return takes_images(read_json(config))
    return True


def class_name(config: Mapping[str, Any]) -> str:
    """The class with which a model was saved, else its model_type."""
    classes = config.get("architectures")
    named = classes[0] if isinstance(classes, list) and classes else None
    return str(named or config.get("model_type"))


def check_model_type(config: Mapping[str, Any], where: str) -> None:
    """Raises UserError if transformers has no class of its own for a model."""
    if not has_class(config):
        from transformers import __version__

        raise UserError(
            f"{where}: model_type {config.get('model_type')} is none that transformers {__version__} loads "
            "for images and text, or for text; take a converted version of the model (often named -hf)"
        )

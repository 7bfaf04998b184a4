"""Opens a pinned transformers model as an engine.

Nearly all models go on from their prompt (answering.py); those with a text encoder have an engine of their
own (encoder_decoder.py). How a question passes through: vouch/models/decoder/__init__.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers

from vouch.models import sandbox
from vouch.models.chat.chat import TEXTS_ALONE, with_variables
from vouch.models.config import ExtractConfig
from vouch.models.decoder.answering import SharedPrefix
from vouch.models.decoder.decoding import ends
from vouch.models.decoder.passes import Forward
from vouch.models.decoder.preparing import InputNeeds, LoadedModel, Preparer
from vouch.models.decoder.self_check import choose_mode, keep_mode, known_mode, mode_path, probes
from vouch.models.engine import ENGINES, Engine
from vouch.models.families import family_of
from vouch.models.loading import (
    ADVICE,
    KIND,
    LOCAL,
    auto_class,
    hush,
    image_processor,
    load_weights,
    opening,
    pinned_folder,
    prepare_device,
)
from vouch.models.thinking import Thinking
from vouch.models.work_cache import ROOT
from vouch.pipeline.errors import UserError
from vouch.tables.answered import Pin


def load(pin: Pin, config: ExtractConfig) -> Engine:
    """The pinned model. Raises UserError if its files are not those pinned or cannot be loaded."""
    folder = pinned_folder(pin)
    sandbox.start_renderer()  # takes a second, as the weights do
    loaded = load_model(folder, pin.dtype, pin.template, config, pin.processor, pin.sees)
    template = with_variables(loaded.processor, pin.template, pin.template_kwargs)
    with opening(folder, "fails at its first questions", ADVICE):
        if loaded.model.config.get_text_config().is_encoder_decoder:
            from vouch.models.decoder.encoder_decoder import EncoderDecoder

            if pin.reasoning:
                raise UserError(
                    f"models.lock: {pin.model}: it has a decoder of its own, so leave out reasoning"
                )
            return EncoderDecoder(loaded, template, config)
        kept = mode_path(ROOT / "modes", pin.digest, ENGINES["transformers"].revision)
        engine = shared_prefix(loaded, template, config, kept)
    return Thinking(engine, pin.reasoning) if pin.reasoning else engine


def load_model(
    folder: Path,
    dtype: str,
    template: str | None,
    config: ExtractConfig,
    settings: Mapping[str, Any] = {},
    sees: bool = True,
) -> LoadedModel:
    """The model of a folder.

    template: replaces its chat template. settings: of its image processor, over those of the folder.
    sees: whether it takes images. Raises UserError, one line, whatever is wrong with folder or device.
    """
    device = prepare_device(config.device, config.threads)
    processor, _, auto = load_processor(folder, template, settings, sees)
    with opening(folder, "cannot be loaded", "save the model anew"):
        model, device = load_weights(auto, folder, dtype, config.device, device)
        if dtype != "float32":
            head_in_float32(model)
    return LoadedModel(model, processor, device)


def preparer(pin: Pin, folder: Path) -> Preparer:
    """What prepares the questions of a model, without its weights. Raises UserError, one line."""
    sandbox.start_renderer()
    hush()
    processor, config, _ = load_processor(folder, pin.template, pin.processor, pin.sees)
    template = with_variables(processor, pin.template, pin.template_kwargs)
    return Preparer(processor, template, InputNeeds.of(config))


def load_processor(
    folder: Path, template: str | None, settings: Mapping[str, Any], sees: bool
) -> tuple[Any, Any, Any]:
    """The processor of a model folder, complete, the model's configuration, and the class that loads it.

    Raises UserError.
    """
    sandbox.check_tokenizer(folder)
    with opening(folder, "cannot be loaded", "save the model anew"):
        config = transformers.AutoConfig.from_pretrained(folder, **LOCAL)
        auto = auto_class(folder, config, sees)
        processor = read_processor(folder, settings, sees)
        family = family_of(config)
        family.check(processor, folder)
        if template is None and not getattr(processor, "chat_template", None):
            raise UserError(
                f"{folder}: the processor has no chat template; name one of vouch/models/chat/templates "
                "as `template` in models.lock, or add chat_template.jinja to the model"
            )
        family.complete(processor, config)
    return processor, config, auto


@dataclass
class TextProcessor:
    """The tokenizer of a language model as a processor: of texts, without images.

    A tokenizer without a chat template, that of a base model, gets the texts alone.
    """

    tokenizer: Any
    image_processor: None = None

    @property
    def chat_template(self) -> Any:
        """Of the tokenizer: a text, or texts by name."""
        return self.tokenizer.chat_template or TEXTS_ALONE

    def __call__(self, text: list[str], images: None, **options: Any) -> dict[str, torch.Tensor]:
        """The tokens."""
        return {"input_ids": self.tokenizer(text, **options)["input_ids"]}


def read_processor(folder: Path, settings: Mapping[str, Any], sees: bool) -> Any:
    """The processor of a model folder; that of a model without images is its tokenizer. Raises UserError."""
    if not sees:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **LOCAL)
        return with_settings(TextProcessor(tokenizer), folder, settings)
    processor = transformers.AutoProcessor.from_pretrained(folder, **LOCAL)
    processor = with_settings(processor, folder, settings)
    for part in ("image_processor", "tokenizer"):
        if not hasattr(processor, part):
            raise UserError(
                f"{folder}: its processor is a {type(processor).__name__}, which has no {part}; correct "
                "processor_class in processor_config.json, or add the files of its processor"
            )
    return processor


def with_settings(processor: Any, folder: Path, settings: Mapping[str, Any]) -> Any:
    """A model's processor whose image processor is that of `image_processor`."""
    if getattr(processor, "image_processor", None):
        processor.image_processor = image_processor(folder, settings)
        # A processor's own defaults override those of its image processor.
        own = {name: value for name, value in settings.items() if name != KIND}
        if own:
            processor.images_kwargs = {**getattr(processor, "images_kwargs", {}), **own}
    elif settings:
        raise UserError("models.lock: processor: this model reads no images; leave the settings out")
    return processor


def head_in_float32(model: Any) -> None:
    """Computes the last projection in float32: half-precision logits are so coarse that letters tie."""
    head = model.get_output_embeddings()
    for name, value in list(head.named_parameters(recurse=False)):
        # A copy of its own: the weight may be shared with the input embeddings, which stay as they are.
        setattr(head, name, torch.nn.Parameter(value.detach().float(), requires_grad=False))
    head.register_forward_pre_hook(lambda module, inputs: (inputs[0].float(), *inputs[1:]))


def shared_prefix(
    loaded: LoadedModel, template: str | None, config: ExtractConfig, kept: Path | None = None
) -> SharedPrefix:
    """The engine of a loaded model, in the fastest mode that gives this model's own numbers.

    kept: file of the mode found earlier; if it is None or does not exist, the model is checked.
    """
    preparer = Preparer.of(loaded, template)
    pad = loaded.processor.tokenizer.pad_token_id or 0
    forward = Forward(loaded.model, loaded.device, preparer.vocabulary, pad)
    choice = known_mode(kept) if kept else None
    if choice is None:
        try:
            choice = choose_mode(forward, probes(preparer), config.bucket)
        except UserError as error:
            raise UserError(f"{preparer.folder}: {error}") from None
        if kept:
            keep_mode(kept, choice)
    mode, report = choice
    engine = SharedPrefix(forward, preparer, config, mode, ends(loaded.model))
    engine.notes["self_check"] = report
    return engine

"""An instruction-tuned language model of the transformers library, from its pinned folder; always greedy."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from vouch.models.loading import pinned_folder
from vouch.models.pins import takes_images
from vouch.models.sandbox import Failed, render
from vouch.pipeline.errors import UserError, reason
from vouch.prompts.asking import A, Proposal, Reply, Settings, Writer, too_long
from vouch.tables.answered import Pin, read_json

REVISION = 1
WHAT = "cannot be loaded as a language model"
ADVICE = "take an instruction-tuned model in the form of transformers"


def load(pin: Pin, settings: Settings) -> Writer[Proposal]:
    """The pinned model. Raises UserError if its files are not those pinned or cannot be loaded."""
    return LocalWriter(pinned_folder(pin), pin, settings)


class LocalWriter:
    """A local model as an Engine. It is asked one prompt at a time, so none can change another's reply."""

    def __init__(self, folder: Path, pin: Pin, settings: Settings) -> None:
        import torch
        import transformers

        from vouch.models.loading import LOCAL, auto_class, load_weights, opening, prepare_device
        from vouch.models.sandbox import check_tokenizer

        device = prepare_device(settings.device, settings.threads)
        self._torch, self._folder, self._settings = torch, folder, settings
        check_tokenizer(folder)
        with opening(folder, WHAT, ADVICE):
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **LOCAL)
            # A vision-language model writes without an image, too; its template wants content in parts.
            self._parts = takes_images(read_json(folder / "config.json"))
            kind = auto_class(folder, self._parts)
            self._model, _ = load_weights(kind, folder, pin.dtype, settings.device, device)
            self._set_up(pin)
        self.notes: dict[str, Any] = {"device": device}

    def _set_up(self, pin: Pin) -> None:
        from transformers import GenerationConfig

        self._template = pin.template or self._tokenizer.chat_template
        self._context = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        ends = self._model.generation_config.eos_token_id
        ends = self._tokenizer.eos_token_id if ends is None else ends
        # Without this, the model's own settings (penalties, temperatures) would be used.
        self._model.generation_config = GenerationConfig(
            do_sample=False,
            max_new_tokens=self._settings.max_tokens,
            eos_token_id=ends,
            pad_token_id=ends[0] if isinstance(ends, list) else ends,
        )
        self._ends = set(ends if isinstance(ends, list) else [ends])

    def ask(self, asked: Sequence[A]) -> Iterator[tuple[A, Reply]]:
        """A reply to each, in their order."""
        from vouch.models.loading import foreign

        for one in asked:
            with foreign(self._folder, "fails at a question", ADVICE):
                reply = self._one(one)
            yield one, reply

    def _one(self, one: Proposal) -> Reply:
        inputs = self._inputs(one.prompt)
        length = inputs["input_ids"].shape[1]
        if self._context and length + self._settings.max_tokens > self._context:
            return Reply(None, f"{length} tokens leave too little of the model's {self._context}")
        with self._torch.inference_mode():
            tokens = self._model.generate(**inputs)[0, length:].tolist()
        if not one.start_is_enough and not self._ends & set(tokens):
            return too_long(self._settings)
        return Reply(one.read(self._tokenizer.decode(tokens, skip_special_tokens=True)))

    def _inputs(self, text: str) -> Any:
        options = {}
        if self._template is not None:
            content = [{"type": "text", "text": text}] if self._parts else text
            messages = [{"role": "user", "content": content}]
            tokens = self._tokenizer.special_tokens_map
            try:
                text = render(self._template, messages, tokens, answer=False)
            except Failed as error:
                raise UserError(
                    f"{self._folder}: its chat template fails ({reason(error)}); name another one as "
                    "`template` in models.lock"
                ) from None
            options = {"add_special_tokens": False}  # the template writes them
        inputs = self._tokenizer(text, return_tensors="pt", **options)
        inputs.pop("token_type_ids", None)
        # Tokens that the tokenizer appends to a text are cut off, because the model continues the text.
        ids = inputs["input_ids"][0].tolist()
        bare = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        ends = (end for end in range(len(ids), len(bare) - 1, -1) if ids[end - len(bare) : end] == bare)
        length = next(ends, len(ids))
        for name in list(inputs):
            inputs[name] = inputs[name][:, :length]
        return inputs.to(self._model.device)

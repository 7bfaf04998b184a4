"""An instruction-tuned language model of the transformers library, from its pinned folder. Greedy."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from vouch.models.chat.rendering import Failed, render
from vouch.models.loading.model_folder import pinned_folder
from vouch.pipeline.errors import UserError, reason
from vouch.prompts.rewrites.config import Config
from vouch.prompts.rewrites.engine import Engine, Proposal, Task
from vouch.prompts.rewrites.instruction import VERDICT, prompt, reply
from vouch.tables.pins import Pin

REVISION = 1
WHAT = "cannot be loaded as a language model"
ADVICE = "take an instruction-tuned model in the form of transformers"


def load(pin: Pin | None, config: Config) -> Engine:
    """The pinned model. Raises UserError where its files are not those pinned or cannot be loaded."""
    if pin is None:
        raise UserError("models.lock: a rewriter with engine transformers wants a model folder")
    return LocalRewriter(pinned_folder(pin), pin, config)


class LocalRewriter:
    """See vouch/prompts/rewrites/engine.py. One question at a time: none can change another's answer."""

    def __init__(self, folder: Path, pin: Pin, config: Config) -> None:
        import torch
        import transformers

        from vouch.models.loading.boundary import check_tokenizer, opening
        from vouch.models.loading.image_processor import LOCAL
        from vouch.models.loading.model_loading import choose_device, hush, load_weights

        device = choose_device(config.device)
        torch.set_num_threads(config.threads)
        self._torch, self._folder, self._max_tokens = torch, folder, config.max_tokens
        check_tokenizer(folder)
        hush()
        with opening(folder, WHAT, ADVICE):
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **LOCAL)
            # A vision language model writes without a picture, too.
            own = transformers.AutoConfig.from_pretrained(folder, **LOCAL)
            writes = type(own) in transformers.MODEL_FOR_CAUSAL_LM_MAPPING
            self._parts = not writes  # as templates of the latter want a message
            kind = transformers.AutoModelForCausalLM if writes else transformers.AutoModelForImageTextToText
            self._model = load_weights(kind, folder, pin.dtype, config.device)
            if config.device != "split":
                self._model.to(device)
            self._set_up(config, pin)
        self.notes: dict[str, Any] = {"device": device}

    def _set_up(self, config: Config, pin: Pin) -> None:
        from transformers import GenerationConfig

        self._template = pin.template or self._tokenizer.chat_template
        self._context = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        ends = self._model.generation_config.eos_token_id
        ends = self._tokenizer.eos_token_id if ends is None else ends
        # The model's own settings (penalties, temperatures) would come back from its folder.
        self._model.generation_config = GenerationConfig(
            do_sample=False,
            max_new_tokens=config.max_tokens,
            eos_token_id=ends,
            pad_token_id=ends[0] if isinstance(ends, list) else ends,
        )
        self._ends = set(ends if isinstance(ends, list) else [ends])

    def propose(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Proposal]]:
        """A proposal for every task, in their order."""
        from vouch.models.loading.boundary import foreign

        for task in tasks:
            with foreign(self._folder, "fails at a question", ADVICE):
                found = self._one(task)
            yield task, found

    def _one(self, task: Task) -> Proposal:
        inputs = self._inputs(prompt(task))
        length = inputs["input_ids"].shape[1]
        if self._context and length + self._max_tokens > self._context:
            return Proposal(None, f"{length} tokens leave too little of the model's {self._context}")
        with self._torch.inference_mode():
            tokens = self._model.generate(**inputs)[0, length:].tolist()
        if task.kind != VERDICT and not self._ends & set(tokens):
            return Proposal(None, "the answer is longer than rewrite.max_tokens")
        return Proposal(reply(self._tokenizer.decode(tokens, skip_special_tokens=True), task.kind))

    def _inputs(self, text: str) -> Any:
        options = {}
        if self._template is not None:
            content = [{"type": "text", "text": text}] if self._parts else text
            said, tokens = [{"role": "user", "content": content}], self._tokenizer.special_tokens_map
            try:
                text = render(self._template, said, tokens, answer=False)
            except Failed as error:
                raise UserError(
                    f"{self._folder}: its chat template fails ({reason(error)}); name another one as "
                    "`template` in models.lock"
                ) from None
            options = {"add_special_tokens": False}  # the template writes them
        inputs = self._tokenizer(text, return_tensors="pt", **options)
        inputs.pop("token_type_ids", None)
        return inputs.to(self._model.device)

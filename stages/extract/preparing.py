"""From a question to the tensors of one row: chat template, processor, letter tokens, padding."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from PIL import Image

from stages.extract import chat
from stages.extract.batches import padded_length
from stages.extract.engine import Question
from stages.extract.letter_tokens import LetterIds, LetterTokens, natural_spelling
from stages.runtime.errors import UserError

_PROBES = ((64, 64), (96, 32), (640, 400), (400, 900))  # sizes that tell whether size reaches the model
_PROBE_TEXT = "Which?"


@dataclass(frozen=True)
class Prepared:
    """A tokenised question. inputs: tensors of one row, padded. tokens: its length without padding."""

    id: str
    letters: LetterIds
    tokens: int
    inputs: dict[str, torch.Tensor]
    flags: tuple[str, ...]

    @property
    def shape(self) -> Hashable:
        """What rows of one forward pass must have in common."""
        return tuple((name, value.shape) for name, value in sorted(self.inputs.items()))


class Preparer:
    """A model's processor with its chat template. context: most tokens the model reads, None if unlimited."""

    def __init__(self, processor: Any, context: int | None, bucket: int) -> None:
        self._processor, self._tokenizer = processor, processor.tokenizer
        self._context, self._bucket = context, bucket
        template = str(processor.chat_template)
        self._variables = {name: value for name, value in chat.TEMPLATE_VARIABLES.items() if name in template}
        self._letters = self._letter_tokens()
        self.vocabulary: int = max(self._tokenizer.get_vocab().values()) + 1

    @property
    def spelling(self) -> str:
        """What stands before a letter where it is read: nothing or a space."""
        return self._letters.order[0]

    def one_shape(self) -> bool:
        """Whether pictures of every size come to the model in one shape and number of tokens."""
        pictures = [Image.new("RGB", size, "grey") for size in _PROBES]
        rows = [self.prepare(Question("(probe)", None, _PROBE_TEXT, (), (picture,))) for picture in pictures]
        return len({(row.tokens, row.shape) for row in rows}) == 1

    def prepare(self, question: Question) -> Prepared:
        """The row of a question. Raises UserError naming its prompt."""
        where = f"prompt {question.id}"
        inputs = self._checked_inputs(question, where)
        letters = self._letters.ids(question.marks)
        if letters is None:
            raise UserError(
                f"{where}: the model's tokenizer has no distinct single token for each of "
                f"{', '.join(question.marks)}; ask this model with another style"
            )
        tokens = int(inputs["input_ids"].shape[1])
        limit = self._context or tokens + self._bucket
        if tokens >= limit:
            raise UserError(
                f"{where}: its {tokens} tokens and an answer exceed the {limit} that the model reads; "
                "shorten the item, or leave it out"
            )
        length = padded_length(tokens, self._bucket, limit)
        padded = {name: self._padded(name, value, tokens, length) for name, value in inputs.items()}
        said = f"{question.system or ''}\n{question.text}"
        control = any(token in said for token in self._tokenizer.all_special_tokens)
        return Prepared(question.id, letters, tokens, padded, ("control_tokens",) if control else ())

    def _checked_inputs(self, question: Question, where: str) -> dict[str, torch.Tensor]:
        try:
            messages, order = chat.messages(question.system, question.text, len(question.pictures))
            rendered = self._render(messages)
            inputs = self._inputs(rendered, [question.pictures[index] for index in order])
        except Exception as error:  # templates and processors raise many kinds
            reason = " ".join(str(error).split())[:200]
            raise UserError(
                f"{where}: the model's processor refuses it ({reason}); correct it or use another style"
            ) from None
        lost = chat.dropped(question.system, question.text, rendered)
        if lost:
            raise UserError(f"{where}: the model's chat template drops the {lost}; use another style")
        return inputs

    def _render(self, messages: list[dict[str, Any]], answer: bool = False) -> str:
        return str(
            self._processor.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=not answer, **self._variables
            )
        )

    def _inputs(self, rendered: str, pictures: Sequence[Image.Image]) -> dict[str, torch.Tensor]:
        begin = self._tokenizer.bos_token
        # A template that writes the begin token itself must not get a second one.
        options = {"add_special_tokens": False} if begin and rendered.startswith(begin) else {}
        nested = [list(pictures)] if pictures else None
        inputs = self._processor(text=[rendered], images=nested, return_tensors="pt", **options)
        tensors = {name: value for name, value in inputs.items() if name != "labels"}
        tensors.setdefault("attention_mask", torch.ones_like(tensors["input_ids"]))
        return tensors

    def _padded(self, name: str, value: torch.Tensor, tokens: int, length: int) -> torch.Tensor:
        if name.startswith(("pixel", "image")) or value.ndim < 2 or value.shape[1] != tokens:
            return value
        sides = [0, 0] * (value.ndim - 2) + [0, length - tokens]
        filler = self._tokenizer.pad_token_id or 0 if name == "input_ids" else 0
        return torch.nn.functional.pad(value, sides, value=filler)

    def _letter_tokens(self) -> LetterTokens:
        asked, _ = chat.messages(None, _PROBE_TEXT, 0)
        try:
            prompt = self._render(asked)
        except Exception as error:  # a template can raise whatever it likes
            reason = " ".join(str(error).split())[:200]
            raise UserError(
                f"the model's chat template fails ({reason}); correct chat_template.jinja in its folder"
            ) from None
        try:
            answer = {"role": "assistant", "content": [{"type": "text", "text": "A"}]}
            written = self._render([*asked, answer], answer=True)
        except Exception:  # a template need not know how to write answers
            written = ""
        return LetterTokens(
            lambda text: list(self._tokenizer(text, add_special_tokens=False)["input_ids"]),
            prompt,
            natural_spelling(prompt, written),
            self._tokenizer.unk_token_id,
        )

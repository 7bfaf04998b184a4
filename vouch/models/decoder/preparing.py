"""From a question to tokens and tensors of one row: chat template, processor, letters, options."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from vouch.images.processed_pictures import ProcessedPictures
from vouch.models.chat.chat import MACHINE_ERRORS, ChatTemplate, dropped, messages
from vouch.models.chat.letter_tokens import LetterIds, LetterTokens
from vouch.models.chat.template_worker import LONGEST
from vouch.models.decoder.prepared import Needs, Prepared
from vouch.models.loading.model_loading import LoadedModel
from vouch.models.requests.engine import Question
from vouch.pipeline.errors import UserError, raised_for_us, reason
from vouch.pipeline.out_of_memory import out_of_memory

_BEGINNINGS = 256  # of answers whose letters' tokens are kept; every thought is another
_PROBES = ((64, 64), (96, 32), (640, 400), (400, 900))  # sizes that tell whether size reaches the model


class _Measured:
    """A tokenizer of a processor, which writes as many places for a picture as its settings say.

    Where memory runs out for them, the library ends the process.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def __len__(self) -> int:
        return len(self._tokenizer)

    def __call__(self, text: Any, *args: Any, **kwargs: Any) -> Any:
        length = sum(map(len, text)) if isinstance(text, list) else len(text)
        if length > LONGEST:
            raise UserError(
                f"it becomes {length:,} characters with the places of its pictures; see its sizes"
            )
        return self._tokenizer(text, *args, **kwargs)


class Preparer:
    """A model's processor with a chat template, `template` or the processor's own."""

    def __init__(self, processor: Any, template: str | None, needs: Needs) -> None:
        self._original, self._template, self.needs = processor, template, needs
        self._processor = copy.copy(processor)
        self._processor.image_processor = ProcessedPictures(processor.image_processor)
        self._processor.tokenizer = _Measured(processor.tokenizer)
        self._tokenizer = processor.tokenizer
        self._chat = ChatTemplate(self._processor, template, needs.separate_decoder)
        self._letters: dict[str | None, LetterTokens] = {}

    @classmethod
    def of(cls, loaded: LoadedModel, template: str | None) -> "Preparer":
        """One for a loaded model."""
        return cls(loaded.processor, template, Needs.of(loaded.model.config))

    def for_thread(self) -> "Preparer":
        """One with a processor of its own: a tokenizer must not be used by two threads at once."""
        return Preparer(copy.deepcopy(self._original), self._template, self.needs)

    @property
    def folder(self) -> Path:
        """Where the model lies, for messages."""
        return Path(self._tokenizer.name_or_path)

    @cached_property
    def vocabulary(self) -> int:
        """Number of tokens."""
        return int(max(self._tokenizer.get_vocab().values())) + 1

    def one_shape(self) -> bool:
        """Whether pictures of every size come to the model in one shape and number of tokens."""
        rows = [self.prepare(_probe(size)) for size in _PROBES]
        return len({(len(row.ids), row.prefix, row.shown_shape) for row in rows}) == 1

    def decode(self, ids: Sequence[int], special: bool = False) -> str:
        """The text of generated tokens. special: with special ones."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=not special))

    def prepare(self, question: Question) -> Prepared:
        """The row of a question.

        Raises UserError without naming its prompt, OSError and MemoryError where this machine is at fault.
        """
        control = self._control_tokens(question)
        rendered, inputs = self._checked_inputs(question)
        tokens = tuple(inputs.pop("input_ids")[0].tolist())
        inputs.pop("attention_mask", None)
        if len(question.pictures) > 1 and not self._sees_all:
            raise UserError(
                f"it has {len(question.pictures)} pictures, of which this model sees one; leave the item out"
            )
        before = (question.prefill or "") if self.needs.separate_decoder else rendered
        letters = self._letter_ids(question) if question.marks else None
        if letters is not None and self._chat.merges:
            self._check_letters(rendered, tokens, question.marks, letters)
        options = self._options(before, question.options)
        prefill = tuple(self._encode(before)) if self.needs.separate_decoder else ()
        by_token = {name: value for name, value in inputs.items() if _by_token(name, value, len(tokens))}
        shown = {name: value for name, value in inputs.items() if name not in by_token}
        after = self._after_pictures(tokens)
        prefix, flags = after if after < len(tokens) else 0, ("control_tokens",) if control else ()
        question = replace(question, pictures=())  # many rows wait for others, and their pixels would
        prepared = Prepared(question, tokens, prefix, shown, by_token, letters, options, flags, prefill)
        self._check_length(prepared)
        return prepared

    def _control_tokens(self, question: Question) -> bool:
        """Whether the question holds a token with a meaning of its own. Raises UserError for a picture's."""
        said = [question.system or "", question.text, question.response or "", *question.options]
        whole = "\n".join([*said, *(text for turn in question.turns for text in turn)])
        if self.needs.image_token is not None:
            token = self._tokenizer.convert_ids_to_tokens(self.needs.image_token)
            if token in whole:
                raise UserError(f"it holds {token}, where this model expects a picture; correct the item")
        return any(token in whole for token in self._tokenizer.all_special_tokens)

    def _after_pictures(self, tokens: Sequence[int]) -> int:
        """The place after the last one of a picture, 0 where there is none."""
        of_pictures = (self.needs.image_token, *self.needs.indicators)
        return max((place + 1 for place, token in enumerate(tokens) if token in of_pictures), default=0)

    @cached_property
    def _sees_all(self) -> bool:
        """Whether a second picture takes tokens of its own; without, some models pass it over silently."""
        counts = []
        for count in (1, 2):
            question = _probe(*_PROBES[:1] * count)
            tokens = self._checked_inputs(question)[1]["input_ids"][0].tolist()
            counts.append(tokens.count(self.needs.image_token))
        return self.needs.image_token is None or counts[0] < counts[1]

    def _check_length(self, one: Prepared) -> None:
        question, tokens, context = one.question, len(one.ids), self.needs.context
        answer = max([1, question.max_tokens if question.decodings else 0, *map(len, one.options)])
        most, given = self.needs.qformer_context, one.shown.get("qformer_input_ids")
        if context is not None and tokens + answer > context:
            problem = f"{tokens} tokens and an answer of {answer} exceed the {context} that the model"
        elif most is not None and given is not None and given.shape[1] >= most:  # one place is for padding
            problem = f"{given.shape[1]} tokens exceed the {most - 1} that the model's Q-Former"
        else:
            return
        raise UserError(f"its {problem} reads; shorten the item, or leave it out")

    def _letter_ids(self, question: Question) -> LetterIds:
        response = question.prefill
        if response not in self._letters:
            if len(self._letters) >= _BEGINNINGS:
                self._letters.clear()
            before = self._chat.beginning(response)
            unknown = self._tokenizer.unk_token_id
            self._letters[response] = LetterTokens(self._encode, before, self._chat.between(before), unknown)
        letters = self._letters[response].ids(question.marks)
        if letters is None:
            raise UserError(
                f"the model's tokenizer has no distinct single token for each of "
                f"{', '.join(question.marks):.100}; ask this model with another template"
            )
        return letters

    def _check_letters(
        self, rendered: str, tokens: Sequence[int], marks: Sequence[str], letters: LetterIds
    ) -> None:
        """Raises UserError where a letter is not the next token of the whole prompt.

        Its tokens were found in a conversation about nothing, whose last words are others.
        """
        for end in ("", "\n"):  # some processors end the prompt's line, as PaliGemma's does
            before = self._encode(rendered + end)
            words = before[self._after_pictures(before) :]
            if words == list(tokens[max(len(tokens) - len(words), 0) :]):
                break
        else:
            raise UserError("its tokens are not those of its text; ask this model with another template")
        for mark, token in zip(marks, letters.read, strict=True):
            if self._encode(rendered + end + letters.spelling + mark) != [*before, token]:
                raise UserError(
                    f"the letter {mark} and the prompt's last characters become one token; ask this model "
                    "with another prompt template or chat template"
                )

    def _options(self, before: str, options: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """Tokens of options after a text.

        Tokenised together with it where that leaves the text's own tokens unchanged, else apart from it.
        """
        known = self._encode(before) if options else []
        end = (int(self._tokenizer.eos_token_id),) if self.needs.separate_decoder else ()
        found = []
        for option in options:
            whole = self._encode(before + self._chat.between(before) + option)
            together = whole[: len(known)] == known and len(whole) > len(known)
            ids = whole[len(known) :] if together else self._encode(option)
            if not ids:
                raise UserError(
                    f"option {option!r:.40} has no tokens, so it has no likelihood; correct the item"
                )
            found.append((*ids, *end))
        return tuple(found)

    def _checked_inputs(self, question: Question) -> tuple[str, dict[str, torch.Tensor]]:
        try:
            said, order = messages(question)
            rendered = self._chat.render(said)
            if question.prefill and not self.needs.separate_decoder:
                rendered += self._chat.between(rendered) + question.prefill
            inputs = self._inputs(rendered, [question.pictures[index] for index in order])
        except ImportError as error:
            raise OSError(f"the model's processor lacks a package ({reason(error)}); install it") from None
        except MACHINE_ERRORS:
            raise
        except BaseException as error:  # templates and processors raise many kinds
            if not raised_for_us(error):
                raise
            if out_of_memory(error):
                raise MemoryError from None  # the next run may have more
            raise UserError(
                f"the model's processor refuses it ({reason(error)}); correct it or use another template"
            ) from None
        lost = dropped(question, rendered)
        if lost:
            raise UserError(f"the model's chat template drops the {lost}; use another prompt template")
        return rendered, inputs

    def _inputs(self, rendered: str, pictures: Sequence[Image.Image]) -> dict[str, torch.Tensor]:
        begin = self._tokenizer.bos_token
        # A template that writes the begin token itself must not get a second one.
        options = {"add_special_tokens": False} if begin and rendered.startswith(begin) else {}
        nested = [list(pictures)] if pictures else None
        inputs = self._processor(text=[rendered], images=nested, return_tensors="pt", **options)
        return {name: value for name, value in inputs.items() if name != "labels"}

    def _encode(self, text: str) -> list[int]:
        try:
            return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])
        except BaseException as error:
            if isinstance(error, Exception) or not raised_for_us(error):
                raise
            raise UserError(
                f"the model's tokenizer fails ({reason(error)}); correct tokenizer.json"
            ) from None


def _probe(*sizes: tuple[int, int]) -> Question:
    return Question("probe", None, "Which?", pictures=[Image.new("RGB", size, "grey") for size in sizes])


def _by_token(name: str, value: torch.Tensor, tokens: int) -> bool:
    # A Q-Former reads tokens of its own; their number can be the prompt's by chance.
    return not name.startswith(("pixel", "image", "qformer")) and value.ndim >= 2 and value.shape[1] == tokens

"""A question as the row of tokens and tensors that a model reads.

`Preparer` runs the chat template and the processor, checks that the model gets the text that was written, and
finds the tokens of option labels and options.
"""

import copy
import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from vouch.images.processed_images import ProcessedImages, tensor_digest
from vouch.models.chat.chat import (
    MACHINE_ERRORS,
    TEXTS_ALONE,
    ChatTemplate,
    LetterIds,
    common_start,
    dropped,
    letter_ids,
    messages,
)
from vouch.models.engine import Question
from vouch.models.families import ModelFamily, family_of
from vouch.models.sandbox import LONGEST
from vouch.pipeline.errors import UserError, out_of_memory, raised_for_us, reason


@dataclass(frozen=True)
class LoadedModel:
    """A model in evaluation mode with its processor. device: where inputs go."""

    model: Any
    processor: Any
    device: str


@dataclass(frozen=True)
class Prepared:
    """A tokenised question.

    ids            its tokens, image tokens included
    prefix         number of tokens up to the last one of an image; 0 without images
    shown          tensors of the images; rows are joined along the first axis
    by_token       further tensors [1, len(ids), ...] that the model takes beside the tokens
    letters        tokens of its option labels, None if it has none
    options        tokens of each option as a continuation; for a separate decoder, with the end token
    prefill        tokens with which a separate decoder begins the answer; without one, these are in `ids`
    """

    question: Question
    ids: tuple[int, ...]
    prefix: int
    shown: Mapping[str, torch.Tensor]
    by_token: Mapping[str, torch.Tensor]
    letters: LetterIds | None
    options: tuple[tuple[int, ...], ...]
    flags: tuple[str, ...] = ()
    prefill: tuple[int, ...] = ()

    @cached_property
    def shown_shape(self) -> Hashable:
        """Shapes that the images of all rows in one forward pass must share."""
        return tuple((name, tuple(value.shape)) for name, value in sorted(self.shown.items()))

    @cached_property
    def shown_bytes(self) -> int:
        """Bytes of the images' tensors."""
        return sum(value.nbytes for value in self.shown.values())

    @cached_property
    def prefix_digest(self) -> str:
        """Digest of everything that a model has read by the end of the prefix."""
        digest = hashlib.sha256(repr(self.ids[: self.prefix]).encode())
        for name, value in sorted(self.shown.items()):
            digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
            digest.update(tensor_digest(value))
        return digest.hexdigest()


@dataclass(frozen=True)
class InputNeeds:
    """A model's requirements for its inputs.

    context: most tokens it reads, None if unlimited. image_token: where an image's features go. indicators:
    tokens around an image that belong to it. separate_decoder: the model writes answers with a decoder of
    their own. reader_context: most tokens that its family's second reader of the text takes.
    """

    context: int | None = None
    image_token: int | None = None
    indicators: tuple[int, ...] = ()
    separate_decoder: bool = False
    family: ModelFamily = field(default_factory=ModelFamily)
    reader_context: int | None = None

    @classmethod
    def of(cls, config: Any) -> "InputNeeds":
        """The needs of a model, from its configuration."""
        text, family = config.get_text_config(), family_of(config)
        named = (getattr(config, name, None) for name in ("image_token_id", "image_token_index"))
        return cls(
            context=getattr(text, "max_position_embeddings", None) or None,
            image_token=next((token for token in named if token is not None), None),
            indicators=family.indicators(config),
            separate_decoder=bool(text.is_encoder_decoder),
            family=family,
            reader_context=family.reader_context(config),
        )

    def of_reader(self, name: str) -> bool:
        """Whether an input is one of the second reader's."""
        return bool(self.family.reader) and name.startswith(self.family.reader)

    def by_token(self, name: str, value: torch.Tensor, tokens: int) -> bool:
        """Whether an input has a value for each of so many tokens."""
        # The second reader has tokens of its own; their number can equal the prompt's by chance.
        other = name.startswith(("pixel", "image")) or self.of_reader(name)
        return not other and value.ndim >= 2 and value.shape[1] == tokens


_ENDS = 256  # prompt endings whose label tokens are cached; with most chat templates all are alike
_PROBES = ((64, 64), (96, 32), (640, 400), (400, 900))  # image sizes, to see whether all get the same shape


class _BoundedTokenizer:
    """A processor's tokenizer, with a bound on the text: settings may ask for any number of image tokens.

    The library ends the process if memory runs out.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.given: list[str] = []
        """The texts that it was given, with all image tokens in them."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def __len__(self) -> int:
        return len(self._tokenizer)

    def __call__(self, text: Any, *args: Any, **kwargs: Any) -> Any:
        texts = text if isinstance(text, list) else [text]
        length = sum(map(len, texts))
        if length > LONGEST:
            raise UserError(f"it becomes {length:,} characters with its image tokens; check the image sizes")
        self.given += texts
        return self._tokenizer(text, *args, **kwargs)


class Preparer:
    """A model's processor with a chat template, `template` or the processor's own."""

    def __init__(self, processor: Any, template: str | None, needs: InputNeeds) -> None:
        self._original, self._template, self.needs = processor, template, needs
        self._processor = copy.copy(processor)
        self._processor.image_processor = ProcessedImages(processor.image_processor)
        self._processor.tokenizer = _BoundedTokenizer(processor.tokenizer)
        self.tokenizer: Any = processor.tokenizer
        self._chat = ChatTemplate(self._processor, template, needs.separate_decoder)
        find = partial(letter_ids, self._encode, unknown=self.tokenizer.unk_token_id)
        self._letter_ids = lru_cache(_ENDS)(find)

    @classmethod
    def of(cls, loaded: LoadedModel, template: str | None) -> "Preparer":
        """The preparer of a loaded model."""
        return cls(loaded.processor, template, InputNeeds.of(loaded.model.config))

    def for_thread(self) -> "Preparer":
        """A copy with its own processor: two threads must not use one tokenizer at once."""
        return Preparer(copy.deepcopy(self._original), self._template, self.needs)

    @property
    def folder(self) -> Path:
        """The model's folder, for messages."""
        return Path(self.tokenizer.name_or_path)

    @property
    def sees(self) -> bool:
        """Whether the model takes images."""
        return self._original.image_processor is not None

    @property
    def texts_alone(self) -> bool:
        """Whether the model has no chat template."""
        return self._template is None and self._original.chat_template == TEXTS_ALONE

    @cached_property
    def vocabulary(self) -> int:
        """Number of tokens."""
        return int(max(self.tokenizer.get_vocab().values())) + 1

    def one_shape(self) -> bool:
        """Whether images of all sizes reach the model with the same shape and number of tokens."""
        if not self.sees:
            return True
        rows = [self.prepare(_probe(size)) for size in _PROBES]
        return len({(len(row.ids), row.prefix, row.shown_shape) for row in rows}) == 1

    def decode(self, ids: Sequence[int], special: bool = False) -> str:
        """The text of generated tokens. special: keep special tokens."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=not special))

    def unknown(self, ids: Sequence[int]) -> int:
        """How many tokens stand for what the vocabulary lacks."""
        return list(ids).count(self.tokenizer.unk_token_id)

    def prepare(self, question: Question) -> Prepared:
        """The row of a question.

        Raises UserError without naming its prompt, OSError and MemoryError if this machine is at fault.
        """
        assert not (question.labels and question.options), "a letter and an option may follow other tokens"
        if question.images and not self.sees:
            raise UserError("it shows images, and this model takes none; ask it without them")
        control = self._control_tokens(question)
        rendered, inputs = self._checked_inputs(question)
        tokens, text = self._as_written(rendered, inputs)
        by_token = {
            name: value for name, value in inputs.items() if self.needs.by_token(name, value, len(tokens))
        }
        shown = {name: value for name, value in inputs.items() if name not in by_token}
        if len(question.images) > 1 and not self._sees_all:
            raise UserError(
                f"it has {len(question.images)} images, of which this model sees one; leave the item out"
            )
        begun, between = tokens, self._chat.between(question.prefill)
        if self.needs.separate_decoder:
            text = question.prefill or ""
            (begun,) = self._encode([text])
        if text[-1:].isspace():
            between = ""
        letters = self._letter_ids(text, between, tuple(question.labels)) if question.labels else None
        dropped, added = (letters.dropped, letters.added) if letters else (0, ())
        options: Sequence[tuple[int, ...]] = ()
        if question.options:
            dropped, options = self._options(text, between, question.options)
        begun = [*begun[: len(begun) - dropped], *added]
        ids, prefill = (tokens, begun) if self.needs.separate_decoder else (begun, [])
        after = self._after_images(ids)
        prepared = Prepared(
            replace(question, images=()),  # many rows wait for others, and their pixels would
            tuple(ids),
            after if after < len(ids) else 0,
            shown,
            {name: _of_length(value, len(ids)) for name, value in by_token.items()},
            letters,
            tuple(options),
            ("control_tokens",) if control else (),
            tuple(prefill),
        )
        self._check_length(prepared)
        return prepared

    def _control_tokens(self, question: Question) -> bool:
        """Whether the question's text contains a special token. Raises UserError for the image token."""
        texts = [question.system or "", question.text, question.response or "", *question.options]
        whole = "\n".join([*texts, *(text for turn in question.turns for text in turn)])
        if self.needs.image_token is not None:
            token = self.tokenizer.convert_ids_to_tokens(self.needs.image_token)
            if token in whole:
                raise UserError(f"it holds {token}, where this model expects an image; correct the item")
        return any(token in whole for token in self.tokenizer.all_special_tokens)

    @cached_property
    def _of_images(self) -> frozenset[int | None]:
        return frozenset((self.needs.image_token, *self.needs.indicators))

    def _after_images(self, tokens: Sequence[int]) -> int:
        """The position after an image's last token, 0 without images."""
        ends = (position for position, token in enumerate(tokens, 1) if token in self._of_images)
        return max(ends, default=0)

    @cached_property
    def _sees_all(self) -> bool:
        """Whether a second image adds tokens of its own. If not, the model silently ignores it."""
        counts = []
        for count in (1, 2):
            question = _probe(*_PROBES[:1] * count)
            tokens = self._checked_inputs(question)[1]["input_ids"][0].tolist()
            counts.append(tokens.count(self.needs.image_token))
        return self.needs.image_token is None or counts[0] < counts[1]

    def _check_length(self, one: Prepared) -> None:
        question, tokens, context = one.question, len(one.ids), self.needs.context
        answer = max([1, question.max_tokens if question.decodings else 0, *map(len, one.options)])
        family, most = self.needs.family, self.needs.reader_context
        given = one.shown.get(f"{family.reader}_input_ids")
        if context is not None and tokens + answer > context:
            problem = f"{tokens} tokens and an answer of {answer} exceed the {context} that the model"
        elif most is not None and given is not None and given.shape[1] >= most:  # one token is for padding
            problem = f"{given.shape[1]} tokens exceed the {most - 1} that the model's {family.reader_label}"
        else:
            return
        raise UserError(f"its {problem} reads; shorten the item, or leave it out")

    def _options(self, text: str, between: str, options: Sequence[str]) -> tuple[int, list[tuple[int, ...]]]:
        """How many of a text's last tokens change before some option, and the options' tokens.

        Text and option are tokenised as one. Tokens that are not common to all options count as the option's.
        """
        known, *whole = self._encode([text, *(text + between + option for option in options)])
        kept = len(common_start([known, *(tokens[:-1] for tokens in whole)]))
        end = (self.tokenizer.eos_token_id,) if self.needs.separate_decoder else ()
        for option, tokens in zip(options, whole, strict=True):
            if not option or tokens == known:
                raise UserError(
                    f"option {option!r:.40} has no tokens, so it has no likelihood; correct the item"
                )
        return len(known) - kept, [(*tokens[kept:], *end) for tokens in whole]

    def _as_written(self, rendered: str, inputs: dict[str, torch.Tensor]) -> tuple[list[int], str]:
        """A prompt's tokens, and the end of its text, starting at the last special token.

        The tokenizer's end token is cut off, in `inputs` as well, because the model continues there. Raises
        UserError if the tokens are not exactly one begin token (or what the tokenizer begins with) and the
        text's.
        """
        ids, (_, ends) = inputs.pop("input_ids")[0].tolist(), self._added
        inputs.pop("attention_mask", None)
        for text in (*sorted(self._processor.tokenizer.given, key=len, reverse=True), rendered):
            (own,) = self._encode([text])
            ended = bool(ends) and ids[-len(own) - len(ends) :] == [*own, *ends]
            if ended or ids[len(ids) - len(own) :] == own:
                break
        else:
            raise UserError("its tokens are not those of its text; ask this model with another template")
        length = len(ids) - len(ends) * ended
        begun = [token for token in ids[: length - len(own)] if token not in self._of_images]
        if begun and (begun not in self._beginnings or set(begun) <= set(self._head(own))):
            raise UserError(
                f"the model would read {self.decode(begun, special=True)!r:.40} before a text that begins "
                "with it, or has none; ask this model with another template"
            )
        if not self.needs.separate_decoder and length < len(ids):
            for name, value in list(inputs.items()):
                inputs[name] = value[:, :length] if self.needs.by_token(name, value, len(ids)) else value
            ids = ids[:length]
        return ids, self._end(text, own)

    def _head(self, tokens: Sequence[int]) -> list[int]:
        """The tokens before the first word of a text: special tokens and blanks."""
        return list(takewhile(lambda one: one in self._apart or not self.decode([one]).strip(), tokens))

    def _end(self, text: str, tokens: Sequence[int]) -> str:
        """A text from its last special token on: nothing before it changes how the rest is tokenised."""
        start = next((at for at in range(len(tokens) - 1, -1, -1) if tokens[at] in self._apart), None)
        if start is None:
            return text
        end = text[max(text.rfind(self.tokenizer.convert_ids_to_tokens(tokens[start])), 0) :]
        return end if self._encode([end])[0] == list(tokens[start:]) else text

    @cached_property
    def _apart(self) -> frozenset[int]:
        """Special tokens, at which a text is split before it is tokenised."""
        return frozenset(self.tokenizer.get_added_vocab().values())

    @cached_property
    def _added(self) -> tuple[list[int], list[int]]:
        """The tokens that the tokenizer puts before a text, and those after it."""
        (bare,), whole = self._encode(["x"]), list(self.tokenizer("x")["input_ids"])
        starts = range(len(whole) - len(bare) + 1)
        start = next((at for at in starts if whole[at : at + len(bare)] == bare), None)
        return ([], []) if start is None else (whole[:start], whole[start + len(bare) :])

    @cached_property
    def _beginnings(self) -> list[list[int]]:
        """Tokens that may come before a text: those of the tokenizer, or a processor's begin token."""
        begin = self.tokenizer.bos_token_id
        return [self._added[0], *([] if begin is None else [[begin]])]

    def _begins(self, rendered: str) -> bool:
        """Whether the chat template itself writes the tokens that the tokenizer puts before a text."""
        put = self.tokenizer.convert_ids_to_tokens(self._added[0])
        begin = "".join(put) or self.tokenizer.bos_token
        return bool(begin) and (rendered.lstrip().startswith(begin) or begin in self._chat.opening)

    def _checked_inputs(self, question: Question) -> tuple[str, dict[str, torch.Tensor]]:
        try:
            conversation, order = messages(question)
            rendered = self._chat.render(conversation)
            if question.prefill and not self.needs.separate_decoder:
                space = "" if question.prefill[0].isspace() else self._chat.between(None)
                rendered += space + question.prefill
            inputs = self._inputs(rendered, [question.images[index] for index in order])
        except ImportError as error:
            raise OSError(f"the model's processor lacks a package ({reason(error)}); install it") from None
        except MACHINE_ERRORS:
            raise
        except BaseException as error:  # templates and processors raise anything
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

    def _inputs(self, rendered: str, images: Sequence[Image.Image]) -> dict[str, torch.Tensor]:
        # A template that writes the begin token itself must not get a second one.
        options = {"add_special_tokens": False} if self._begins(rendered) else {}
        self._processor.tokenizer.given.clear()
        nested = [list(images)] if images else None
        inputs = self._processor(text=[rendered], images=nested, return_tensors="pt", **options)
        return {name: value for name, value in inputs.items() if name != "labels"}

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        try:
            return [list(one) for one in self.tokenizer(list(texts), add_special_tokens=False)["input_ids"]]
        except BaseException as error:
            if isinstance(error, Exception) or not raised_for_us(error):
                raise
            raise UserError(
                f"the model's tokenizer fails ({reason(error)}); correct tokenizer.json"
            ) from None


def _probe(*sizes: tuple[int, int]) -> Question:
    return Question("probe", None, "Which?", images=[Image.new("RGB", size, "grey") for size in sizes])


def _of_length(value: torch.Tensor, tokens: int) -> torch.Tensor:
    """A tensor beside tokens, cut or extended to `tokens` of them by repeating the last, which is text."""
    more = max(0, tokens - value.shape[1])
    return torch.cat([value[:, :tokens], *[value[:, -1:]] * more], dim=1)

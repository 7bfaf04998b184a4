"""Questions as tokens, exactly as the chat template and the tokenizer would write them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vouch.demo.scenes.questions import NUMBERS
from vouch.demo.training.vocabulary import (
    BY_LETTER,
    BY_LETTER_SHORT,
    EXTRAS,
    LETTERS,
    OTHER_EXTRAS,
    REPLY,
    THINKS,
    THOUGHT,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast, ProcessorMixin


@dataclass(frozen=True)
class Form:
    """How a multiple-choice question is set out.

    option: one option. closing: the instruction after them. extras: the options that are added.
    opening, between: what stands before the options and between two. reply: how the answer begins.
    """

    option: str
    closing: str
    extras: tuple[str, ...] = ()
    opening: str = ""
    between: str = ""
    reply: str = ""


# The form of the prompt template `kostumov`, and others that models are asked in.
KOSTUMOV = Form("{letter}. {text}", BY_LETTER, EXTRAS)
OTHER_FORMS = (
    Form("{letter}. {text}", BY_LETTER),
    Form("({letter}) {text}", BY_LETTER_SHORT),
    Form("({letter}) {text}", BY_LETTER_SHORT, OTHER_EXTRAS),
    Form("{letter}: {text}", BY_LETTER_SHORT, EXTRAS),
    Form("({letter}) {text}", ""),
    Form("({letter}) {text}", "", opening="Options:", between=";"),
    Form("({letter}) {text}", "", opening="Options:", between=";", reply=REPLY),
)


@dataclass(frozen=True)
class Example:
    """One question and its answer as tokens, without the picture that stands before them.

    answer_at: position of the answer's first token, the letter of a multiple-choice question. thought: tokens
    of the thought before it.
    content: first token of the answer's text, whether or not a letter stands for it.
    options: position of each option's last token, and whether the option is right.
    """

    tokens: tuple[int, ...]
    answer_at: int
    content: int
    options: tuple[tuple[int, bool], ...]
    thought: int = 0

    @property
    def says_at(self) -> int:
        """Position of the first token that the model says."""
        return self.answer_at - self.thought


class Writer:
    """Writes questions for a family's processor. asked: tokens of a question and of what stands before it."""

    def __init__(self, processor: "ProcessorMixin") -> None:
        self._tokenizer: PreTrainedTokenizerFast = processor.tokenizer
        self._known: dict[str, list[int]] = {}
        self._opening = _opening(processor)
        self._thinks = THINKS in self._tokenizer.get_vocab()

    def encode(self, text: str) -> list[int]:
        """The tokens of a text."""
        if text not in self._known:
            self._known[text] = self._tokenizer.encode(text, add_special_tokens=False)
        return self._known[text]

    def opening(self, system: Sequence[int] = ()) -> list[int]:
        """The tokens before every example: a system message if any, and the picture of the user's turn."""
        return [*(self.encode("SYSTEM:") if system else ()), *system, *self._opening]

    def letter(self, index: int) -> int:
        """The token of an option's letter."""
        (token,) = self.encode(LETTERS[index])
        return token

    def turn(self, asked: Sequence[int], answer: str) -> list[int]:
        """An earlier turn: its question, its answer, and the beginning of the next question."""
        return [*asked, *self.encode("ASSISTANT:"), *self.encode(answer), *self.encode("</s>USER:")]

    def lines(self, lines: Sequence[str]) -> list[int]:
        """The tokens of some lines of text."""
        return [token for line in lines for token in self.encode(line)]

    def options(self, options: Sequence[str], form: Form) -> tuple[list[int], list[int]]:
        """The tokens of options, and the place of the last one of each."""
        tokens, ends = [*self.encode(form.opening)], []
        for index, text in enumerate(options):
            tokens += self.encode(form.between) if index else []
            tokens += self.encode(form.option.format(letter=LETTERS[index], text=text))
            ends.append(len(tokens) - 1)
        return tokens + self.encode(form.closing), ends

    def open(self, asked: Sequence[int], answer: str) -> Example:
        """A question that is answered in words."""
        thought, reply = self._thought(answer), self.encode(answer)
        tokens = [*asked, *self.encode("ASSISTANT:"), *thought]
        return Example((*tokens, *reply, *self.encode("</s>")), len(tokens), reply[0], (), len(thought))

    def choice(self, asked: Sequence[int], options: Sequence[str], right: int, form: Form) -> Example:
        """A question that is answered by the letter of the option with index `right`."""
        offered, ends = self.options(options, form)
        thought = [] if form.reply else self._thought(options[right])  # a begun answer comes without one
        tokens = [*asked, *offered, *self.encode("ASSISTANT:"), *thought, *self.encode(form.reply)]
        whole = (*tokens, self.letter(right), *self.encode("</s>"))
        marked = tuple((len(asked) + end, index == right) for index, end in enumerate(ends))
        return Example(whole, len(tokens), self.encode(options[right])[0], marked, len(thought))

    def _thought(self, answer: str) -> list[int]:
        """What a model that thinks says first: it counts up to a number, and names any other answer."""
        counted = NUMBERS[1 : NUMBERS.index(answer) + 1] if answer in NUMBERS else ()
        said = " ".join([THINKS, *(counted or [answer]), THOUGHT])
        return self.encode(said) if self._thinks else []


def _opening(processor: Any) -> list[int]:
    """The tokens up to the text of a prompt with a picture."""
    from PIL import Image

    content = [{"type": "image"}, {"type": "text", "text": "?"}]
    prompt = processor.apply_chat_template([{"role": "user", "content": content}])
    inputs = processor(text=[prompt], images=[[Image.new("RGB", (8, 8))]], return_tensors="np")
    tokens: list[int] = inputs["input_ids"][0].tolist()
    return tokens[: tokens.index(processor.tokenizer.convert_tokens_to_ids("?"))]

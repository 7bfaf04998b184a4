"""The tokenizer of the demo models, and questions written as its tokens.

The tokenizer has one token per word and per frequent phrase. Its words come from the tables of wordings, so
every question of vouch/demo/scenes can be read, held-out wordings included; any other word becomes `<unk>`.
Brackets and full stops are dropped, so that `A.`, `(A)` and a letter right after the generation prompt are
the same token `A`. `Writer` writes questions exactly as the chat template and the tokenizer would.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from vouch.demo.scenes.phrasings import HELD_OUT, TRAINED
from vouch.demo.scenes.questions import CORNERS, NUMBERS, SIDES
from vouch.demo.scenes.scene import COLOURS, SHAPES

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast, ProcessorMixin


LETTERS = ascii_uppercase
NONE_OF_THEM = "None of the above"
EXTRAS = ("I don’t know", NONE_OF_THEM)  # options that the prompt template adds to every question
OTHER_EXTRAS = ("I don't know", "None of them")
BY_LETTER = "Answer with the option's letter from the given choices directly."
BY_LETTER_SHORT = "Answer with the letter."
BY_WORD = "Answer the question using a single word or phrase."
REPLY = "The answer is"
THINKS, THOUGHT = "<think>", "</think>"
IMAGE_TOKEN = "<image>"
UNKNOWN = "<unk>"
NOTHING = "<s>"  # the word for an empty cell of an image
NO_SPECIAL: Mapping[str, str] = MappingProxyType({})
MAX_TOKENS = 2048

_PHRASES = (
    *EXTRAS,
    *OTHER_EXTRAS,
    BY_LETTER.removesuffix("."),
    BY_LETTER_SHORT.removesuffix("."),
    BY_WORD.removesuffix("."),
    REPLY,
    *CORNERS,
    "in the picture",
    "Please look at the picture carefully and tell me",
    "Please look at the pictures carefully and tell me",
)
# The longest phrase first, then words (with an apostrophe inside), then single characters other than ( ) .
_PIECES = "|".join([*sorted(_PHRASES, key=len, reverse=True), r"\w+['’]\w+", r"\w+", r"[^\w\s().]"])

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ message['role'] | upper + ':' }}"
    "{% if message['content'] is string %}{{ ' ' + message['content'] }}{% else %}"
    "{% for part in message['content'] if part['type'] == 'image' %}{{ ' <image>' }}{% endfor %}"
    "{% for part in message['content'] if part['type'] == 'text' %}{{ '\n' + part['text'] }}{% endfor %}"
    "{% endif %}"
    "{{ '</s>' if message['role'] == 'assistant' else '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"
)


def _words() -> list[str]:
    wordings = [text for table in (TRAINED, HELD_OUT) for group in table.values() for text in group]
    plurals = [f"{shape}s" for shape in SHAPES]
    texts = [*(text.replace("{subject}", " ") for text in wordings), *SHAPES, *plurals, *COLOURS, *NUMBERS]
    texts += [*SIDES, "object objects yes no", "SYSTEM: USER: ASSISTANT: Options: Not , ; ?", *_PHRASES]
    pieces = {piece for text in texts for piece in re.findall(_PIECES, text)}
    return sorted(pieces | set(LETTERS))


def build_tokenizer(
    special: Mapping[str, str] = NO_SPECIAL, thinks: bool = False
) -> "PreTrainedTokenizerFast":
    """The tokenizer with its chat template; pads on the left, adds no special tokens of its own.

    special: further tokens that a family of models needs, by the name under which it looks for them. thinks:
    adds the tokens around a thought.
    """
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Split
    from transformers import PreTrainedTokenizerFast

    tokens = [UNKNOWN, NOTHING, "</s>", "<pad>", IMAGE_TOKEN, *special.values(), *_words()]
    tokenizer = Tokenizer(WordLevel({token: index for index, token in enumerate(tokens)}, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = Split(Regex(_PIECES), behavior="removed", invert=True)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token=UNKNOWN,
        bos_token=NOTHING,
        eos_token="</s>",
        pad_token="<pad>",
        # Declared this way the processor finds it; as an additional special token it would be split.
        extra_special_tokens={"image_token": IMAGE_TOKEN, **special},
        padding_side="left",
        model_max_length=MAX_TOKENS,
        clean_up_tokenization_spaces=False,
        chat_template=CHAT_TEMPLATE,
    )
    fast.add_tokens([THINKS, THOUGHT] if thinks else [])
    return fast


@dataclass(frozen=True)
class Form:
    """How a multiple-choice question is written.

    option: format of one option. closing: the instruction after the options. extras: options that are added.
    opening, between: text before the options and between two of them. reply: how the answer begins.
    """

    option: str
    closing: str
    extras: tuple[str, ...] = ()
    opening: str = ""
    between: str = ""
    reply: str = ""


# The form of the prompt template `kostumov`, and other forms.
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
    """One question and its answer as tokens, without the image before them.

    answer_at: position of the answer's first token, the letter of a multiple-choice question.
    thought: number of tokens of the thought before it.
    content: first token of the answer's text, also where the answer is a letter.
    options: position of each option's last token, and whether the option is correct.
    """

    tokens: tuple[int, ...]
    answer_at: int
    content: int
    options: tuple[tuple[int, bool], ...]
    thought: int = 0

    @property
    def reply_at(self) -> int:
        """Position of the first token that the model writes."""
        return self.answer_at - self.thought


class Writer:
    """Writes questions for a family's processor. asked: tokens of a question and of what comes before it."""

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
        """The tokens before every example: a system message if any, and the image of the user's turn."""
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
        """The tokens of options, and the position of the last token of each."""
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

    def choice(self, asked: Sequence[int], options: Sequence[str], correct: int, form: Form) -> Example:
        """A question that is answered by the letter of the option with index `correct`."""
        offered, ends = self.options(options, form)
        thought = [] if form.reply else self._thought(options[correct])  # none before an answer already begun
        tokens = [*asked, *offered, *self.encode("ASSISTANT:"), *thought, *self.encode(form.reply)]
        whole = (*tokens, self.letter(correct), *self.encode("</s>"))
        ends_of_options = tuple((len(asked) + end, index == correct) for index, end in enumerate(ends))
        return Example(whole, len(tokens), self.encode(options[correct])[0], ends_of_options, len(thought))

    def _thought(self, answer: str) -> list[int]:
        """The thought of a model that thinks: it counts up to a number, and names any other answer."""
        counted = NUMBERS[1 : NUMBERS.index(answer) + 1] if answer in NUMBERS else ()
        thought = " ".join([THINKS, *(counted or [answer]), THOUGHT])
        return self.encode(thought) if self._thinks else []


def _opening(processor: Any) -> list[int]:
    """The tokens up to the text of a prompt with an image."""
    from PIL import Image

    content = [{"type": "image"}, {"type": "text", "text": "?"}]
    prompt = processor.apply_chat_template([{"role": "user", "content": content}])
    inputs = processor(text=[prompt], images=[[Image.new("RGB", (8, 8))]], return_tensors="np")
    tokens: list[int] = inputs["input_ids"][0].tolist()
    return tokens[: tokens.index(processor.tokenizer.convert_tokens_to_ids("?"))]

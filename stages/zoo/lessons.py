"""What a demo model is asked while it learns: questions about one picture, written as tokens.

The main form of a multiple-choice question is the prompt style `kostumov`, two to four options and
the two that every question gets; a share has other forms, so that the model does not hang on one.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stages.scenes.phrasings import TRAINED
from stages.scenes.questions import CHOICE_TASKS, OPEN_TASKS, Question, choices, make_question, wording
from stages.scenes.scene import Scene
from stages.zoo.vocabulary import BY_LETTER, BY_LETTER_SHORT, BY_WORD, EXTRAS, LETTERS, NONE_OF_THEM

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


@dataclass(frozen=True)
class Form:
    """How a multiple-choice question is set out. extras: whether it offers the two extra options."""

    option: str
    closing: str
    extras: bool


KOSTUMOV = Form("{letter}. {text}", BY_LETTER, extras=True)
_OTHER_FORMS = (
    Form("({letter}) {text}", BY_LETTER_SHORT, extras=False),
    Form("{letter}. {text}", BY_LETTER, extras=False),
    Form("{letter}: {text}", BY_LETTER_SHORT, extras=True),
)
_OTHER_FORM_SHARE = 0.25
_FEWER_OPTIONS_SHARE = 0.15
_NONE_RIGHT_SHARE = 0.05


@dataclass(frozen=True)
class Phase:
    """A stretch of the training. opens, choices: questions of each kind per picture.

    hinted: share of the multiple-choice questions whose hint gives the answer away.
    """

    name: str
    pictures: bool
    opens: int
    choices: int
    hinted: float


# First to find the letter of a text that the hint gives away, without any picture; then to name what
# a picture shows; then to combine the two. Without the first, the smaller demo model stays near chance.
READ = Phase("read", pictures=False, opens=0, choices=2, hinted=1.0)
NAME = Phase("name", pictures=True, opens=4, choices=2, hinted=0.5)
CHOOSE = Phase("choose", pictures=True, opens=1, choices=3, hinted=0.05)


@dataclass(frozen=True)
class Example:
    """One question and its answer as tokens, without the picture that stands before them.

    answer_at: position of the answer's first token, the letter of a multiple-choice question.
    content: first token of the answer's text, whether or not a letter stands for it.
    options: position of each option's last token, and whether the option is right.
    """

    tokens: tuple[int, ...]
    answer_at: int
    content: int
    options: tuple[tuple[int, bool], ...]


class Writer:
    """Turns questions into tokens, exactly as the chat template and the tokenizer would."""

    def __init__(self, tokenizer: "PreTrainedTokenizerFast") -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, list[int]] = {}

    def _encode(self, text: str) -> list[int]:
        if text not in self._known:
            self._known[text] = self._tokenizer.encode(text, add_special_tokens=False)
        return self._known[text]

    def opening(self, patches: int) -> list[int]:
        """The tokens before every example: the user's turn begins with a picture of so many tokens."""
        return self._encode("USER: <image>")[:-1] + self._encode("<image>") * patches

    def letter(self, index: int) -> int:
        """The token of an option's letter."""
        (token,) = self._encode(LETTERS[index])
        return token

    def open(self, lines: Sequence[str], answer: str) -> Example:
        """A question, one text a line, that is answered in words."""
        tokens = [token for line in [*lines, "ASSISTANT:"] for token in self._encode(line)]
        reply = self._encode(answer)
        return Example((*tokens, *reply, *self._encode("</s>")), len(tokens), reply[0], ())

    def choice(self, lines: Sequence[str], options: Sequence[str], right: int, form: Form) -> Example:
        """A question that is answered by the letter of the option with index `right`."""
        tokens = [token for line in lines for token in self._encode(line)]
        ends = []
        for index, text in enumerate(options):
            tokens += self._encode(form.option.format(letter=LETTERS[index], text=text))
            ends.append((len(tokens) - 1, index == right))
        tokens += self._encode(form.closing) + self._encode("ASSISTANT:")
        whole = (*tokens, self.letter(right), *self._encode("</s>"))
        return Example(whole, len(tokens), self._encode(options[right])[0], tuple(ends))


def draw_question(rng: random.Random, scene: Scene, tasks: Sequence[str]) -> Question:
    """A question of one of the tasks; every scene can host some count, so this ends."""
    while True:
        question = make_question(rng, scene, rng.choice(tasks))
        if question is not None:
            return question


def draw_lesson(rng: random.Random, scene: Scene, phase: Phase, writer: Writer) -> list[Example]:
    """The examples about one picture in one step."""
    opens = [_draw_open(rng, scene, writer) for _ in range(phase.opens)]
    return opens + [_draw_choice(rng, scene, phase.hinted, writer) for _ in range(phase.choices)]


def _draw_open(rng: random.Random, scene: Scene, writer: Writer) -> Example:
    question = draw_question(rng, scene, OPEN_TASKS)
    lines = [wording(rng, question, TRAINED), *rng.choice(((BY_WORD,), ()))]
    return writer.open(lines, question.answer)


def _draw_choice(rng: random.Random, scene: Scene, hinted: float, writer: Writer) -> Example:
    question = draw_question(rng, scene, CHOICE_TASKS)
    lines = [question.answer] if rng.random() < hinted else []
    lines.append(wording(rng, question, TRAINED))
    form = rng.choice(_OTHER_FORMS) if rng.random() < _OTHER_FORM_SHARE else KOSTUMOV
    options, right = draw_options(rng, question)
    if form.extras:
        options, right = _with_extras(rng, options, right)
    return writer.choice(lines, options, right, form)


def draw_options(rng: random.Random, question: Question) -> tuple[list[str], int]:
    """Two to four options, mostly four, and the index of the right one."""
    fewer = rng.random() < _FEWER_OPTIONS_SHARE
    return choices(rng, question, rng.choice((2, 3)) if fewer else 4)


def _with_extras(rng: random.Random, options: list[str], right: int) -> tuple[list[str], int]:
    """The options and the two extra ones; now and then the last becomes right, the answer being gone."""
    if len(options) > 2 and rng.random() < _NONE_RIGHT_SHARE:
        left = options[:right] + options[right + 1 :]
        return [*left, *EXTRAS], len(left) + EXTRAS.index(NONE_OF_THEM)
    return [*options, *EXTRAS], right

"""What a demo model is asked while it learns: questions about one picture or pair of pictures.

The main form of a multiple-choice question is the prompt template `kostumov`, two to four options and
the two that every question gets; a share has other forms, so that the model does not hang on one.
Negations are rare, as in what real models learn from, so that they are hard for demo models too.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass

from vouch.demo.scenes.dialogues import TURNS, make_dialogue
from vouch.demo.scenes.pairs import Pair, make_pair_question
from vouch.demo.scenes.phrasings import TRAINED
from vouch.demo.scenes.questions import Question, choices, make_question, wording
from vouch.demo.scenes.scene import SHAPES, Scene
from vouch.demo.training.vocabulary import BY_WORD, NONE_OF_THEM, OTHER_EXTRAS, UNKNOWN
from vouch.demo.training.writing import KOSTUMOV, OTHER_FORMS, Example, Form, Writer

Sight = Scene | Pair

_CHOICE_WEIGHTS = {"colour": 2, "shape": 2, "count": 4, "position": 4, "exist": 3, "exist_not": 1}
_OPEN_WEIGHTS = {"colour": 2, "shape": 2, "count": 4, "position": 4, "presence": 3}
_PAIR_WEIGHTS = {"more": 5, "less": 3, "more_not": 1, "has": 5, "has_not": 1}
_DIALOGUE_SHARE = 0.15
_OTHER_FORM_SHARE = 0.3
_FEWER_OPTIONS_SHARE = 0.15
_NONE_RIGHT_SHARE = 0.06
_LETTER_HISTORY_SHARE = 0.3
_PREAMBLE_SHARE = 0.06
_NOT_THE_SHARE = 0.01
_NONE_TEXTS = (NONE_OF_THEM, OTHER_EXTRAS[1])
# What a text looks like to a model that knows few of its words.
_MURMUR = (*[UNKNOWN] * 12, "the", "the", "of", "is", "a", "and", "picture", ",")


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
# a picture shows; then to combine the two. Without the first, the smaller demo models stay near chance.
READ = Phase("read", pictures=False, opens=0, choices=2, hinted=1.0)
NAME = Phase("name", pictures=True, opens=4, choices=2, hinted=0.5)
CHOOSE = Phase("choose", pictures=True, opens=1, choices=3, hinted=0.05)


def draw_question(rng: random.Random, sight: Sight, weights: Mapping[str, int]) -> Question:
    """A question of one of the tasks; every sight can host some task, so this ends."""
    while True:
        (task,) = rng.choices(list(weights), weights=list(weights.values()))
        question = (
            make_pair_question(rng, sight, task)
            if isinstance(sight, Pair)
            else make_question(rng, sight, task)
        )
        if question is not None:
            return question


def draw_lesson(rng: random.Random, sight: Sight, phase: Phase, writer: Writer) -> list[Example]:
    """The examples about one sight in one step."""
    opens = [_draw_open(rng, sight, writer) for _ in range(phase.opens)]
    return opens + [_draw_choice(rng, sight, phase, writer) for _ in range(phase.choices)]


def draw_system(rng: random.Random, writer: Writer) -> list[int]:
    """A system message that the model can make nothing of."""
    return _murmur(rng, writer, 60)


def draw_options(rng: random.Random, question: Question) -> tuple[list[str], int]:
    """Two to four options, mostly four, and the index of the right one."""
    fewer = rng.random() < _FEWER_OPTIONS_SHARE
    return choices(rng, question, rng.choice((2, 3)) if fewer else 4)


def _draw_open(rng: random.Random, sight: Sight, writer: Writer) -> Example:
    weights = _PAIR_WEIGHTS if isinstance(sight, Pair) else _OPEN_WEIGHTS
    question, before = _question_after(rng, sight, weights, writer, KOSTUMOV)
    lines = [*_lines(rng, question), *rng.choice(((BY_WORD,), ()))]
    return writer.open([*before, *writer.lines(lines)], question.answer)


def _draw_choice(rng: random.Random, sight: Sight, phase: Phase, writer: Writer) -> Example:
    weights = _PAIR_WEIGHTS if isinstance(sight, Pair) else _CHOICE_WEIGHTS
    form = rng.choice(OTHER_FORMS) if rng.random() < _OTHER_FORM_SHARE else KOSTUMOV
    if rng.random() < phase.hinted:
        question = draw_question(rng, sight, weights)
        before = writer.lines([question.answer])
    else:
        question, before = _question_after(rng, sight, weights, writer, form)
    options, right = _offered(rng, question, form)
    return writer.choice([*before, *writer.lines(_lines(rng, question))], options, right, form)


def _question_after(
    rng: random.Random, sight: Sight, weights: Mapping[str, int], writer: Writer, form: Form
) -> tuple[Question, list[int]]:
    """A question, and the tokens before it: earlier turns of a dialogue, words of no use, or nothing."""
    if isinstance(sight, Scene) and rng.random() < _DIALOGUE_SHARE:
        dialogue = make_dialogue(rng, sight)
        if dialogue is not None:
            last = rng.randrange(1, TURNS)
            lettered = rng.random() < _LETTER_HISTORY_SHARE
            turns = [_turn(rng, turn, writer, form if lettered else None) for turn in dialogue[:last]]
            return dialogue[last], [token for turn in turns for token in turn]
    murmur = _murmur(rng, writer, 30) if rng.random() < _PREAMBLE_SHARE else []
    return draw_question(rng, sight, weights), murmur


def _turn(rng: random.Random, question: Question, writer: Writer, form: Form | None) -> list[int]:
    """An earlier turn, answered in words or, where it has a form, by the letter."""
    asked = writer.lines(_lines(rng, question))
    if form is None:
        return writer.turn(asked, question.answer)
    options, right = _offered(rng, question, form)
    offered, _ = writer.options(options, form)
    return writer.turn([*asked, *offered], form.option.format(letter="ABCDEF"[right], text=options[right]))


def _lines(rng: random.Random, question: Question) -> list[str]:
    """The question's wording; now and then a negation that is beside the point stands before it."""
    lines = [f"Not the {rng.choice(SHAPES)}."] if rng.random() < _NOT_THE_SHARE else []
    return [*lines, wording(rng, question, TRAINED)]


def _murmur(rng: random.Random, writer: Writer, most: int) -> list[int]:
    return writer.lines(rng.choices(_MURMUR, k=rng.randint(4, most)))


def _offered(rng: random.Random, question: Question, form: Form) -> tuple[list[str], int]:
    """The options of a form; now and then `none of them` becomes right, the answer being gone."""
    options, right = draw_options(rng, question)
    none = next((index for index, text in enumerate(form.extras) if text in _NONE_TEXTS), None)
    if none is not None and len(options) > 2 and rng.random() < _NONE_RIGHT_SHARE:
        left = options[:right] + options[right + 1 :]
        return [*left, *form.extras], len(left) + none
    return [*options, *form.extras], right

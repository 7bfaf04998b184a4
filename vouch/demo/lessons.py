"""What a demo model is shown and asked while it learns: lessons, images and batches, drawn from a seed.

`draw_lesson` draws the questions about one scene or pair of scenes. Most multiple-choice questions have the
form of the prompt template `kostumov`: two to four options and the two that every question gets. A share has
other forms, so that the model does not depend on one. Negations are rare, as in the training data of real
models, so that they are hard for demo models too. `Images` holds the rendered scenes, and `pack` makes the
tensors of one step.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from PIL import Image, ImageEnhance
from torch import Tensor

from vouch.demo.scenes.phrasings import TRAINED
from vouch.demo.scenes.questions import (
    TURNS,
    Question,
    choices,
    make_dialogue,
    make_pair_question,
    make_question,
    wording,
)
from vouch.demo.scenes.scene import COLOURS, GRID, HALF, SHAPES, Pair, Scene, render, render_pair
from vouch.demo.writing import (
    BY_WORD,
    KOSTUMOV,
    NONE_OF_THEM,
    OTHER_EXTRAS,
    OTHER_FORMS,
    UNKNOWN,
    Example,
    Form,
    Writer,
)

Sight = Scene | Pair
"""What one image shows."""

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
# A text as it looks to a model that knows few of its words.
_GIBBERISH = (*[UNKNOWN] * 12, "the", "the", "of", "is", "a", "and", "picture", ",")


@dataclass(frozen=True)
class Phase:
    """A phase of the training. images: whether the questions come with images.

    opens, choices: number of open and of multiple-choice questions per image.
    hinted: share of the multiple-choice questions whose hint gives the answer away.
    """

    name: str
    images: bool
    opens: int
    choices: int
    hinted: float


# First the model learns to find the letter of a text that the hint gives away, without any image; then to
# name what an image shows; then to combine the two. Without the first phase, the smaller demo models stay
# near chance.
READ = Phase("read", images=False, opens=0, choices=2, hinted=1.0)
NAME = Phase("name", images=True, opens=4, choices=2, hinted=0.5)
CHOOSE = Phase("choose", images=True, opens=1, choices=3, hinted=0.05)


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
    """A system message without meaning for the model."""
    return _gibberish(rng, writer, 60)


def draw_options(rng: random.Random, question: Question) -> tuple[list[str], int]:
    """Two to four options, mostly four, and the index of the correct one."""
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
    options, correct = _offered(rng, question, form)
    return writer.choice([*before, *writer.lines(_lines(rng, question))], options, correct, form)


def _question_after(
    rng: random.Random, sight: Sight, weights: Mapping[str, int], writer: Writer, form: Form
) -> tuple[Question, list[int]]:
    """A question, and the tokens before it: earlier turns of a dialogue, gibberish, or nothing."""
    if isinstance(sight, Scene) and rng.random() < _DIALOGUE_SHARE:
        dialogue = make_dialogue(rng, sight)
        if dialogue is not None:
            last = rng.randrange(1, TURNS)
            lettered = rng.random() < _LETTER_HISTORY_SHARE
            turns = [_turn(rng, turn, writer, form if lettered else None) for turn in dialogue[:last]]
            return dialogue[last], [token for turn in turns for token in turn]
    gibberish = _gibberish(rng, writer, 30) if rng.random() < _PREAMBLE_SHARE else []
    return draw_question(rng, sight, weights), gibberish


def _turn(rng: random.Random, question: Question, writer: Writer, form: Form | None) -> list[int]:
    """An earlier turn, answered in words or, where it has a form, by the letter."""
    asked = writer.lines(_lines(rng, question))
    if form is None:
        return writer.turn(asked, question.answer)
    options, correct = _offered(rng, question, form)
    offered, _ = writer.options(options, form)
    return writer.turn(
        [*asked, *offered], form.option.format(letter="ABCDEF"[correct], text=options[correct])
    )


def _lines(rng: random.Random, question: Question) -> list[str]:
    """The question's wording, now and then after an irrelevant negation."""
    lines = [f"Not the {rng.choice(SHAPES)}."] if rng.random() < _NOT_THE_SHARE else []
    return [*lines, wording(rng, question, TRAINED)]


def _gibberish(rng: random.Random, writer: Writer, most: int) -> list[int]:
    return writer.lines(rng.choices(_GIBBERISH, k=rng.randint(4, most)))


def _offered(rng: random.Random, question: Question, form: Form) -> tuple[list[str], int]:
    """The options of a form; now and then the answer is removed, and `none of them` becomes correct."""
    options, correct = draw_options(rng, question)
    none_of_them = next((index for index, text in enumerate(form.extras) if text in _NONE_TEXTS), None)
    if none_of_them is not None and len(options) > 2 and rng.random() < _NONE_RIGHT_SHARE:
        others = options[:correct] + options[correct + 1 :]
        return [*others, *form.extras], len(others) + none_of_them
    return [*options, *form.extras], correct


_MOST_DEGREES = 10.0
_BRIGHTNESS = (0.5, 1.3)


@dataclass(frozen=True)
class Images:
    """N scenes or pairs; pixels [N, 3, 64, 64] as bytes; cells [N, 16, 2].

    cells: 1-based shape and colour of each cell, row by row from the top; 0 where it is empty.
    """

    sights: tuple[Sight, ...]
    pixels: Tensor
    cells: Tensor

    @classmethod
    def of(cls, sights: Sequence[Sight], distortions: random.Random | None = None) -> Self:
        """The images of these sights. distortions: a generator that tilts, darkens or lightens some of them.

        A model that was trained without such images cannot read a dimmed one.
        """
        images = [
            _rendered(sight) if distortions is None else _distorted(distortions, sight) for sight in sights
        ]
        pixels = torch.from_numpy(np.stack([np.asarray(image) for image in images]))
        cells = torch.stack([_cells(sight) for sight in sights])
        return cls(tuple(sights), pixels.permute(0, 3, 1, 2).contiguous(), cells)

    def inputs(self, chosen: Sequence[int]) -> Tensor:
        """[len(chosen), 3, 64, 64] float32 from -1 to 1, as the model's processor makes them."""
        return (self.pixels[list(chosen)].float() / 255 - 0.5) / 0.5


def _rendered(sight: Sight) -> Image.Image:
    return render_pair(sight) if isinstance(sight, Pair) else render(sight)


def _distorted(rng: random.Random, sight: Sight) -> Image.Image:
    image = _rendered(sight)
    if rng.random() < 0.5:
        angle = rng.uniform(-_MOST_DEGREES, _MOST_DEGREES)
        background = sight.left.background if isinstance(sight, Pair) else sight.background
        image = image.rotate(angle, resample=Image.Resampling.BILINEAR, fillcolor=background)
    if rng.random() < 0.5:
        image = ImageEnhance.Brightness(image).enhance(rng.uniform(*_BRIGHTNESS))
    return image


def _cells(sight: Sight) -> Tensor:
    if isinstance(sight, Pair):
        halves = [_cells(half).view(GRID, GRID, 2)[:, :HALF] for half in (sight.left, sight.right)]
        return torch.cat(halves, dim=1).reshape(GRID * GRID, 2)
    cells = torch.zeros(GRID * GRID, 2, dtype=torch.long)
    for thing in sight.things:
        looks = (SHAPES.index(thing.shape) + 1, tuple(COLOURS).index(thing.colour) + 1)
        cells[GRID * thing.row + thing.column] = torch.tensor(looks)
    return cells


IGNORED = -100  # the target that torch's cross entropy leaves out


@dataclass(frozen=True)
class Batch:
    """B rows of T tokens. A row is an image and then its questions, one after another.

    A mask keeps each question from seeing the others, and positions restart after the image, so every
    question is computed exactly as if it were alone, and the image is computed once for all its questions.

    tokens, positions [B, T]; mask [B, 1, T, T], added to the attention scores.
    targets [B, T]: the token that position t should predict, within answers only.
    contents [B, T]: first token of the answer's text, where the answer's first token is predicted.
    options [B, T]: 1 at the last token of a correct option, 0 of a wrong one.
    Elsewhere targets, contents and options are IGNORED.
    """

    tokens: Tensor
    positions: Tensor
    mask: Tensor
    targets: Tensor
    contents: Tensor
    options: Tensor


def pack(opening: Sequence[int], rows: Sequence[Sequence[Example]], padding: int) -> Batch:
    """Rows of examples as one batch, each row after the same opening (empty without images)."""
    start = len(opening)
    shape = (len(rows), start + max(sum(len(example.tokens) for example in row) for row in rows))
    tokens, positions = np.full(shape, padding), np.zeros(shape, dtype=np.int64)
    targets, contents, options = (np.full(shape, IGNORED) for _ in range(3))
    owner = np.full(shape, -1)  # 0: the opening; 1, 2, ...: the examples; -1: padding
    tokens[:, :start], positions[:, :start], owner[:, :start] = opening, np.arange(start), 0
    for b, row in enumerate(rows):
        begin = start
        for number, example in enumerate(row, start=1):
            end, reply = begin + len(example.tokens), begin + example.reply_at
            tokens[b, begin:end] = example.tokens
            positions[b, begin:end] = np.arange(start, start + len(example.tokens))
            owner[b, begin:end] = number
            targets[b, reply - 1 : end - 1] = tokens[b, reply:end]
            contents[b, reply - 1] = example.content
            for position, is_correct in example.options:
                options[b, begin + position] = is_correct
            begin = end
    arrays = (tokens, positions, _mask(owner), targets, contents, options)
    return Batch(*(torch.from_numpy(array) for array in arrays))


def _mask(owner: np.ndarray) -> np.ndarray:
    """[B, 1, T, T] float32: 0 where a token may look, the lowest number where it may not."""
    same = owner[:, :, None] == owner[:, None, :]
    visible = (same | (owner == 0)[:, None, :]) & np.tri(owner.shape[1], dtype=bool)
    return np.where(visible, np.float32(0), np.finfo(np.float32).min)[:, None]

"""How many held-out questions a model answers right, asked as the pipeline asks them."""

import random
from typing import TYPE_CHECKING

import torch

from stages.scenes.phrasings import TRAINED
from stages.scenes.questions import CHOICE_TASKS, Question, make_question, wording
from stages.scenes.scene import Scene, draw_scene
from stages.zoo.architecture import PATCHES
from stages.zoo.batches import pack
from stages.zoo.lessons import KOSTUMOV, Example, Writer, draw_options
from stages.zoo.pictures import Pictures
from stages.zoo.vocabulary import EXTRAS, LETTERS

if TYPE_CHECKING:
    from transformers import LlavaForConditionalGeneration

_QUESTIONS = 300
_ROWS = 50  # per forward pass; divides the questions


class Examination:
    """Multiple-choice questions of all tasks in turn, each about a picture of its own of the dev space."""

    def __init__(self, seed: int, writer: Writer, padding: int) -> None:
        rng = random.Random(f"zoo/{seed}/examination")
        drawn = [_draw(rng, CHOICE_TASKS[i % len(CHOICE_TASKS)]) for i in range(_QUESTIONS)]
        self._pictures = Pictures.of([scene for scene, _ in drawn])
        self._examples = [_written(rng, question, writer) for _, question in drawn]
        self._opening, self._padding = writer.opening(PATCHES), padding
        self._letters = [writer.letter(index) for index in range(len(LETTERS))]

    def accuracy(self, model: "LlavaForConditionalGeneration") -> float:
        """Share of the questions whose right letter is the likeliest of the letters on offer."""
        with torch.no_grad():
            firsts = range(0, _QUESTIONS, _ROWS)
            return sum(self._right(model, range(first, first + _ROWS)) for first in firsts) / _QUESTIONS

    def _right(self, model: "LlavaForConditionalGeneration", chosen: range) -> int:
        examples = [self._examples[i] for i in chosen]
        batch = pack(self._opening, [[example] for example in examples], self._padding)
        hidden = model.model(
            input_ids=batch.tokens,
            pixel_values=self._pictures.inputs(chosen),
            attention_mask=batch.mask,
            position_ids=batch.positions,
            use_cache=False,
        ).last_hidden_state
        right = 0
        for states, example in zip(hidden, examples, strict=True):
            place = len(self._opening) + example.answer_at - 1
            letters = self._letters[: len(example.options)]
            best = letters[int(model.lm_head(states[place])[letters].argmax())]
            right += best == example.tokens[example.answer_at]
        return right


def _draw(rng: random.Random, task: str) -> tuple[Scene, Question]:
    while True:
        scene = draw_scene(rng, "dev")
        question = make_question(rng, scene, task)
        if question is not None:
            return scene, question


def _written(rng: random.Random, question: Question, writer: Writer) -> Example:
    options, right = draw_options(rng, question)
    return writer.choice([wording(rng, question, TRAINED)], [*options, *EXTRAS], right, KOSTUMOV)

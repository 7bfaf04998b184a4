"""How many held-out questions a model answers right, asked as the pipeline asks them."""

import random
from typing import TYPE_CHECKING

import torch

from vouch.demo.scenes.pairs import PAIR_TASKS, draw_pair, make_pair_question
from vouch.demo.scenes.phrasings import TRAINED
from vouch.demo.scenes.questions import Question, make_question, wording
from vouch.demo.scenes.scene import draw_scene
from vouch.demo.training.batches import pack
from vouch.demo.training.family import Family
from vouch.demo.training.lessons import Sight, draw_options
from vouch.demo.training.pictures import Pictures
from vouch.demo.training.vocabulary import LETTERS
from vouch.demo.training.writing import KOSTUMOV, Example, Writer

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_ROUNDS = 60  # questions of each task
_ROWS = 60  # per forward pass; divides the questions


class Examination:
    """Multiple-choice questions of some tasks in turn, each about a sight of its own of the dev space."""

    def __init__(
        self, seed: int, tasks: tuple[str, ...], writer: Writer, family: Family, padding: int
    ) -> None:
        rng = random.Random(f"zoo/{seed}/examination")
        drawn = [_draw(rng, task) for _ in range(_ROUNDS) for task in tasks]
        self._pictures = Pictures.of([sight for sight, _ in drawn])
        self._examples = [_written(rng, question, writer) for _, question in drawn]
        self._opening, self._family, self._padding = writer.opening(), family, padding
        self._letters = [writer.letter(index) for index in range(len(LETTERS))]

    def accuracy(self, model: "PreTrainedModel") -> float:
        """Share of the questions whose right letter is the likeliest of the letters on offer, after the right
        thought where the model thinks."""
        count = len(self._examples)
        with torch.no_grad():
            return sum(self._right(model, range(i, i + _ROWS)) for i in range(0, count, _ROWS)) / count

    def _right(self, model: "PreTrainedModel", chosen: range) -> int:
        examples = [self._examples[i] for i in chosen]
        batch = pack(self._opening, [[example] for example in examples], self._padding)
        hidden = model.model(
            input_ids=batch.tokens,
            pixel_values=self._family.pixel_values(self._pictures.inputs(chosen)),
            attention_mask=batch.mask,
            position_ids=batch.positions,
            use_cache=False,
        ).last_hidden_state
        right = 0
        for states, example in zip(hidden, examples, strict=True):
            place = len(self._opening) + example.answer_at - 1
            letters = self._letters[: len(example.options)]
            best = letters[int(model.lm_head(states[place])[letters].argmax())]
            thought = model.lm_head(states[place - example.thought : place]).argmax(dim=-1).tolist()
            said = (*thought, best)
            right += said == example.tokens[example.says_at : example.answer_at + 1]
        return right


def _draw(rng: random.Random, task: str) -> tuple[Sight, Question]:
    while True:
        sight: Sight
        if task in PAIR_TASKS:
            sight = draw_pair(rng, "dev")
            question = make_pair_question(rng, sight, task)
        else:
            sight = draw_scene(rng, "dev")
            question = make_question(rng, sight, task)
        if question is not None:
            return sight, question


def _written(rng: random.Random, question: Question, writer: Writer) -> Example:
    options, right = draw_options(rng, question)
    asked = writer.lines([wording(rng, question, TRAINED)])
    return writer.choice(asked, [*options, *KOSTUMOV.extras], right, KOSTUMOV)

"""Trains a demo model: draws a batch, computes its loss, moves the weights, and stops at a target accuracy.

`train` is the entry, `Trainer.step` one step, `Examination` the held-out questions that decide when to stop,
and `save` writes the model folder. The same configuration gives the same bits on the same machine and
libraries: all draws come from one generator, in a fixed order, so a change of that order means other weights.
"""

import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from vouch.demo.config import Config
from vouch.demo.families import FAMILIES, PATCHES, Family, build_model
from vouch.demo.learning import Optimizers, OptionHead, WordAlignment, content_loss, rate
from vouch.demo.lessons import (
    CHOOSE,
    IGNORED,
    NAME,
    READ,
    Batch,
    Images,
    Phase,
    Sight,
    draw_lesson,
    draw_options,
    draw_system,
    pack,
)
from vouch.demo.scenes.phrasings import TRAINED
from vouch.demo.scenes.questions import (
    CHOICE_TASKS,
    PAIR_TASKS,
    Question,
    make_pair_question,
    make_question,
    wording,
)
from vouch.demo.scenes.scene import draw_pair, draw_scene
from vouch.demo.writing import KOSTUMOV, LETTERS, Example, Writer
from vouch.pipeline.files import write_json

if TYPE_CHECKING:
    from transformers import PreTrainedModel, ProcessorMixin


Progress = Callable[[list[Phase]], Iterable[Phase]]
_STEPS_BETWEEN_EXAMINATIONS = 25
_BEFORE_LAST = -2  # index into the hidden states: after all layers but one
_PAIR_SHARE = 0.35
_SYSTEM_SHARE = 0.08


@dataclass(frozen=True)
class Trained:
    """A model ready to be saved; loss of the answers at each step.

    accuracy, pair_accuracy: share of held-out questions about scenes and about pairs answered correctly.
    """

    model: "PreTrainedModel"
    processor: "ProcessorMixin"
    losses: list[float]
    accuracy: float
    pair_accuracy: float


def train(config: Config, progress: Progress) -> Trained:
    """A trained demo model.

    progress: passes on the steps it is given, each as the phase that it belongs to. Sets torch to one thread,
    because with several threads sums differ in their last bits.
    """
    torch.set_num_threads(1)
    trainer = Trainer(config)
    steps = [READ] * config.read_steps + [NAME] * config.name_steps + [CHOOSE] * config.choose_steps
    losses, accuracy = [], 0.0
    for number, phase in enumerate(progress(steps), start=1):
        losses.append(trainer.step(phase, rate(number - 1, len(steps))))
        due = number % _STEPS_BETWEEN_EXAMINATIONS == 0 and phase is CHOOSE
        if due or number == len(steps):
            accuracy = trainer.examination.accuracy(trainer.model)
            if accuracy >= config.target:
                break
    trainer.model.eval()
    pairs = trainer.pair_examination.accuracy(trainer.model)
    return Trained(trainer.model, trainer.processor, losses, accuracy, pairs)


class Trainer:
    """A model in training, its images, and the auxiliary losses that are dropped after training."""

    def __init__(self, config: Config) -> None:
        self._family = FAMILIES[config.family]
        self.processor: ProcessorMixin = self._family.build_processor(config.thinks)
        tokenizer = self.processor.tokenizer
        self.model: PreTrainedModel = build_model(config, tokenizer)
        self._writer = Writer(self.processor)
        self._padding: int = tokenizer.pad_token_id
        common = (self._writer, self._family, self._padding)
        self.examination = Examination(config.seed, CHOICE_TASKS, *common)
        self.pair_examination = Examination(config.seed, PAIR_TASKS, *common)
        self._rng = random.Random(f"zoo/{config.seed}")
        sights = [_draw_sight(self._rng) for _ in range(config.pictures)]
        self._images = Images.of(sights, distortions=self._rng)
        self._batch = config.batch
        self._alignment = WordAlignment(tokenizer)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self._option_head = OptionHead(config.width)
        self._optimizers = Optimizers(self.model, self._option_head, config.learning_rate)

    def step(self, phase: Phase, share: float) -> float:
        """One step at a share of the learning rate. Returns the loss of the answers alone."""
        chosen = self._rng.choices(range(len(self._images.sights)), k=self._batch)
        rows = [draw_lesson(self._rng, self._images.sights[i], phase, self._writer) for i in chosen]
        system = draw_system(self._rng, self._writer) if self._rng.random() < _SYSTEM_SHARE else []
        batch = pack(self._writer.opening(system) if phase.images else [], rows, self._padding)
        answers, auxiliary = self._losses(batch, chosen if phase.images else [])
        self._optimizers.step(answers + auxiliary, share)
        return answers.item()

    def _losses(self, batch: Batch, chosen: list[int]) -> tuple[Tensor, Tensor]:
        """The loss of the answers, and the auxiliary losses. chosen: the rows' images, or none."""
        output = self.model.model(
            input_ids=batch.tokens,
            pixel_values=self._family.pixel_values(self._images.inputs(chosen)) if chosen else None,
            attention_mask=batch.mask,
            position_ids=batch.positions,
            output_hidden_states=True,
            use_cache=False,
        )
        head, norm = self.model.lm_head, self._family.last_norm(self.model)
        answered = batch.targets != IGNORED
        answers = F.cross_entropy(head(output.last_hidden_state[answered]), batch.targets[answered])
        before_last = output.hidden_states[_BEFORE_LAST]
        auxiliary = content_loss(norm, head, before_last, batch.contents)
        auxiliary = auxiliary + self._option_head.loss(before_last, batch.options)
        if chosen:
            patches = output.image_hidden_states.view(len(chosen), PATCHES, -1)
            auxiliary = auxiliary + self._alignment.loss(patches, head.weight, self._images.cells[chosen])
        return answers, auxiliary


def _draw_sight(rng: random.Random) -> Sight:
    return draw_pair(rng, "train") if rng.random() < _PAIR_SHARE else draw_scene(rng, "train")


_ROUNDS = 60  # questions of each task
_ROWS = 60  # per forward pass; divides the questions


class Examination:
    """Multiple-choice questions of some tasks in turn, each about its own scene or pair of the dev space."""

    def __init__(
        self, seed: int, tasks: tuple[str, ...], writer: Writer, family: Family, padding: int
    ) -> None:
        rng = random.Random(f"zoo/{seed}/examination")
        drawn = [_draw(rng, task) for _ in range(_ROUNDS) for task in tasks]
        self._images = Images.of([sight for sight, _ in drawn])
        self._examples = [_written(rng, question, writer) for _, question in drawn]
        self._opening, self._family, self._padding = writer.opening(), family, padding
        self._letters = [writer.letter(index) for index in range(len(LETTERS))]

    def accuracy(self, model: "PreTrainedModel") -> float:
        """Share of the questions whose correct letter is the likeliest, after the correct thought if any."""
        count = len(self._examples)
        with torch.no_grad():
            return (
                sum(self._count_correct(model, range(i, i + _ROWS)) for i in range(0, count, _ROWS)) / count
            )

    def _count_correct(self, model: "PreTrainedModel", chosen: range) -> int:
        examples = [self._examples[i] for i in chosen]
        batch = pack(self._opening, [[example] for example in examples], self._padding)
        hidden = model.model(
            input_ids=batch.tokens,
            pixel_values=self._family.pixel_values(self._images.inputs(chosen)),
            attention_mask=batch.mask,
            position_ids=batch.positions,
            use_cache=False,
        ).last_hidden_state
        correct = 0
        for states, example in zip(hidden, examples, strict=True):
            position = len(self._opening) + example.answer_at - 1
            letters = self._letters[: len(example.options)]
            best = letters[int(model.lm_head(states[position])[letters].argmax())]
            thought = model.lm_head(states[position - example.thought : position]).argmax(dim=-1).tolist()
            reply = (*thought, best)
            correct += reply == example.tokens[example.reply_at : example.answer_at + 1]
        return correct


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
    options, correct = draw_options(rng, question)
    asked = writer.lines([wording(rng, question, TRAINED)])
    return writer.choice(asked, [*options, *KOSTUMOV.extras], correct, KOSTUMOV)


def save(model: "PreTrainedModel", processor: "ProcessorMixin", folder: Path) -> None:
    """Writes weights (safetensors), configuration, tokenizer, chat template and image processor.

    The version of the library is left out: a release of it would otherwise look like another model.
    """
    from transformers.utils import logging

    logging.disable_progress_bar()
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    for path in (folder / "config.json", folder / "generation_config.json"):
        settings = json.loads(path.read_text(encoding="utf-8"))
        del settings["transformers_version"]
        write_json(path, settings)

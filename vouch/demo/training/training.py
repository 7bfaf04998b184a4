"""Training a demo model: what a step is made of, what its loss is, and when to stop."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from vouch.demo.scenes.pairs import PAIR_TASKS, draw_pair
from vouch.demo.scenes.questions import CHOICE_TASKS
from vouch.demo.scenes.scene import draw_scene
from vouch.demo.training.batches import IGNORED, Batch, pack
from vouch.demo.training.config import Config
from vouch.demo.training.examination import Examination
from vouch.demo.training.family import PATCHES, build_model, load_family
from vouch.demo.training.lessons import CHOOSE, NAME, READ, Phase, Sight, draw_lesson, draw_system
from vouch.demo.training.optimizers import Optimizers, rate
from vouch.demo.training.pictures import Pictures
from vouch.demo.training.scaffold import OptionHead, WordAlignment, content_loss
from vouch.demo.training.writing import Writer

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

    accuracy, pair_accuracy: share of held-out questions about scenes and about pairs answered right.
    """

    model: "PreTrainedModel"
    processor: "ProcessorMixin"
    losses: list[float]
    accuracy: float
    pair_accuracy: float


def train(config: Config, progress: Progress) -> Trained:
    """A demo model of a config: the same bits each time on the same machine and libraries.

    `progress` passes the steps on, each given as the phase it belongs to. Sets torch to one thread,
    because with more of them sums come out differently in their last bits.
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
    """A model in training, its pictures, and the parts of the scaffold that are thrown away after it."""

    def __init__(self, config: Config) -> None:
        self._family = load_family(config.family)
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
        self._pictures = Pictures.of(sights, wear=self._rng)
        self._batch = config.batch
        self._alignment = WordAlignment(tokenizer)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self._option_head = OptionHead(config.width)
        self._optimizers = Optimizers(self.model, self._option_head, config.learning_rate)

    def step(self, phase: Phase, share: float) -> float:
        """One step at a share of the learning rate. Returns the loss of the answers alone."""
        chosen = self._rng.choices(range(len(self._pictures.sights)), k=self._batch)
        rows = [draw_lesson(self._rng, self._pictures.sights[i], phase, self._writer) for i in chosen]
        system = draw_system(self._rng, self._writer) if self._rng.random() < _SYSTEM_SHARE else []
        batch = pack(self._writer.opening(system) if phase.pictures else [], rows, self._padding)
        answers, scaffold = self._losses(batch, chosen if phase.pictures else [])
        self._optimizers.step(answers + scaffold, share)
        return answers.item()

    def _losses(self, batch: Batch, chosen: list[int]) -> tuple[Tensor, Tensor]:
        """The loss of the answers, and that of the scaffold. chosen: the rows' pictures, or none."""
        output = self.model.model(
            input_ids=batch.tokens,
            pixel_values=self._family.pixel_values(self._pictures.inputs(chosen)) if chosen else None,
            attention_mask=batch.mask,
            position_ids=batch.positions,
            output_hidden_states=True,
            use_cache=False,
        )
        head, norm = self.model.lm_head, self._family.last_norm(self.model)
        answered = batch.targets != IGNORED
        answers = F.cross_entropy(head(output.last_hidden_state[answered]), batch.targets[answered])
        before_last = output.hidden_states[_BEFORE_LAST]
        scaffold = content_loss(norm, head, before_last, batch.contents)
        scaffold = scaffold + self._option_head.loss(before_last, batch.options)
        if chosen:
            patches = output.image_hidden_states.view(len(chosen), PATCHES, -1)
            scaffold = scaffold + self._alignment.loss(patches, head.weight, self._pictures.cells[chosen])
        return answers, scaffold


def _draw_sight(rng: random.Random) -> Sight:
    return draw_pair(rng, "train") if rng.random() < _PAIR_SHARE else draw_scene(rng, "train")

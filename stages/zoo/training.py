"""Training a demo model: what a step is made of, its loss, and the learning rate over the steps."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stages.zoo.architecture import PATCHES, build_model, build_processor
from stages.zoo.batches import IGNORED, Batch, pack
from stages.zoo.config import Config
from stages.zoo.lessons import CHOOSE, NAME, READ, Phase, Writer, draw_lesson
from stages.zoo.pictures import Pictures
from stages.zoo.scaffold import OptionHead, WordAlignment, content_loss

if TYPE_CHECKING:
    from transformers import LlavaForConditionalGeneration, LlavaProcessor

Progress = Callable[[list[Phase]], Iterable[Phase]]
_RISING_STEPS = 50
_FALLING_SHARE = 0.35
_LOWEST = 0.02
_ALIGNMENT_WEIGHT = 0.3
_BEFORE_LAST = -2  # index into the hidden states: after all layers but one


@dataclass(frozen=True)
class Trained:
    """A model ready to be saved, and the loss of its answers at each step."""

    model: "LlavaForConditionalGeneration"
    processor: "LlavaProcessor"
    losses: list[float]


def train(config: Config, progress: Progress) -> Trained:
    """A demo model of a config: the same bits each time on the same machine and libraries.

    `progress` passes the steps on, each given as the phase it belongs to. Sets torch to one thread,
    because more than one would add numbers in another order.
    """
    torch.set_num_threads(1)
    trainer = Trainer(config)
    steps = [READ] * config.read_steps + [NAME] * config.name_steps + [CHOOSE] * config.choose_steps
    losses = [
        trainer.step(phase, config.learning_rate * rate(number, len(steps)))
        for number, phase in enumerate(progress(steps))
    ]
    trainer.model.eval()
    return Trained(trainer.model, trainer.processor, losses)


def rate(step: int, steps: int) -> float:
    """Share of the full learning rate: it rises, stays, and falls in a straight line near the end."""
    rising = (step + 1) / _RISING_STEPS
    falling = max(_LOWEST, (1 - step / steps) / _FALLING_SHARE)
    return min(rising, falling, 1.0)


class Trainer:
    """A model in training, its pictures, and the parts of the scaffold that are thrown away after it."""

    def __init__(self, config: Config) -> None:
        self.processor: LlavaProcessor = build_processor()
        tokenizer = self.processor.tokenizer
        self.model: LlavaForConditionalGeneration = build_model(config, tokenizer)
        self._rng = random.Random(f"zoo/{config.seed}")
        self._pictures = Pictures.draw(self._rng, config.pictures, "train")
        self._batch = config.batch
        self._writer = Writer(tokenizer)
        self._opening = self._writer.opening(PATCHES)
        self._padding: int = tokenizer.pad_token_id
        self._alignment = WordAlignment(tokenizer)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self._option_head = OptionHead(config.width)
        self._weights = [*self.model.parameters(), *self._option_head.parameters()]
        self._optimizer = _optimizer(self._weights)

    def step(self, phase: Phase, learning_rate: float) -> float:
        """One step of the optimizer; the loss of the answers alone."""
        chosen = self._rng.choices(range(len(self._pictures.scenes)), k=self._batch)
        rows = [draw_lesson(self._rng, self._pictures.scenes[i], phase, self._writer) for i in chosen]
        batch = pack(self._opening if phase.pictures else [], rows, self._padding)
        answers, scaffold = self._losses(batch, chosen if phase.pictures else [])
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate
        self._optimizer.zero_grad()
        (answers + scaffold).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self._weights, 1.0)
        self._optimizer.step()
        return answers.item()

    def _losses(self, batch: Batch, chosen: list[int]) -> tuple[Tensor, Tensor]:
        """The loss of the answers, and that of the scaffold. chosen: the rows' pictures, or none."""
        output = self.model.model(
            input_ids=batch.tokens,
            pixel_values=self._pictures.inputs(chosen) if chosen else None,
            attention_mask=batch.mask,
            position_ids=batch.positions,
            output_hidden_states=True,
            use_cache=False,
        )
        head, norm = self.model.lm_head, self.model.model.language_model.norm
        answered = batch.targets != IGNORED
        answers = F.cross_entropy(head(output.last_hidden_state[answered]), batch.targets[answered])
        before_last = output.hidden_states[_BEFORE_LAST]
        scaffold = content_loss(norm, head, before_last, batch.contents)
        scaffold = scaffold + self._option_head.loss(before_last, batch.options)
        if chosen:
            patches = output.image_hidden_states.view(len(chosen), PATCHES, -1)
            aligned = self._alignment.loss(patches, head.weight, self._pictures.cells[chosen])
            scaffold = scaffold + _ALIGNMENT_WEIGHT * aligned
        return answers, scaffold


def _optimizer(weights: list[nn.Parameter]) -> torch.optim.AdamW:
    """AdamW that lets matrices decay, and leaves biases and norms alone."""
    groups = [
        {"params": [w for w in weights if w.ndim >= 2], "weight_decay": 0.05},
        {"params": [w for w in weights if w.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98), fused=True)

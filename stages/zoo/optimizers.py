"""How weights are moved: Muon for the matrices, AdamW for all else, one learning rate over both."""

from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from transformers import LlavaForConditionalGeneration

_RISING_STEPS = 50
_FALLING_SHARE = 0.35
_LOWEST = 0.02
_DECAY = 0.05
_ADAM_SHARE = 0.5


def rate(step: int, steps: int) -> float:
    """Share of the full learning rate: it rises, stays, and falls in a straight line near the end."""
    rising = (step + 1) / _RISING_STEPS
    falling = max(_LOWEST, (1 - step / steps) / _FALLING_SHARE)
    return min(rising, falling, 1.0)


class Optimizers:
    """Muon moves the weights of linear layers: demo models learn far faster than by AdamW alone.

    AdamW moves what Muon is not made for: embeddings (and the output layer tied to them), the patch
    convolution, biases, norms and the parts that are thrown away after training.
    """

    def __init__(self, model: "LlavaForConditionalGeneration", extra: nn.Module, full_rate: float) -> None:
        linear = [part for part in model.modules() if isinstance(part, nn.Linear)]
        matrices = [part.weight for part in linear if part is not model.lm_head]
        known = {id(weight) for weight in matrices}
        others = [w for w in [*model.parameters(), *extra.parameters()] if id(w) not in known]
        groups = [
            {"params": [w for w in others if w.ndim >= 2], "weight_decay": _DECAY},
            {"params": [w for w in others if w.ndim < 2], "weight_decay": 0.0},
        ]
        self._weights = matrices + others
        self._full_rate = full_rate
        self._muon = torch.optim.Muon(matrices, lr=full_rate, weight_decay=_DECAY)
        self._adam = torch.optim.AdamW(groups, lr=full_rate, betas=(0.9, 0.98), fused=True)

    def step(self, loss: torch.Tensor, share: float) -> None:
        """Moves every weight against the gradient of the loss, at a share of the learning rate."""
        self._muon.zero_grad()
        self._adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self._weights, 1.0)
        for optimizer, factor in ((self._muon, 1.0), (self._adam, _ADAM_SHARE)):
            for group in optimizer.param_groups:
                group["lr"] = self._full_rate * share * factor
            optimizer.step()  # type: ignore[no-untyped-call]

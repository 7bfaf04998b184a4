"""How far the logits of two modes are apart, and how far they may be."""

import math
from dataclasses import dataclass
from typing import Any

import torch

TOP_TOKENS = 4  # the likeliest, whose shares are compared


@dataclass(frozen=True)
class Tolerances:
    """What computing in another order may change.

    logits: in standard deviations of a prompt's logits. shares: of the likeliest tokens among themselves.
    noise: of logits, between a prompt alone and in a padded batch; more means that padding itself is wrong.
    most: what logits and shares may reach where that noise is large.
    """

    logits: float
    shares: float
    noise: float
    most: float


NOISIER = 1.5  # so much more than padding alone may a way to ask change

FLOAT32 = Tolerances(logits=1e-3, shares=1e-4, noise=5e-3, most=5e-3)
# Smaller than the faults to be found: a lost sliding window moves logits by 0.07 to 0.2, lost token types
# by 0.18 to 0.26.
HALF = Tolerances(logits=0.05, shares=0.03, noise=0.5, most=0.15)


@dataclass
class Differences:
    """The largest ones found. positions: whether all of them are equal."""

    positions: bool = True
    logits: float = 0.0
    shares: float = 0.0

    def add_logits(self, own: torch.Tensor, logits: torch.Tensor) -> None:
        """Takes in logits [n, vocabulary] of a way to ask and the model's own."""
        own, logits = own.double().cpu(), logits.double().cpu()
        best = own.topk(min(TOP_TOKENS, own.shape[-1])).indices
        shares = (values.gather(-1, best).softmax(dim=-1) for values in (own, logits))
        self.logits = _worst(self.logits, ((logits - own).abs().amax(dim=-1) / own.std(dim=-1)).max())
        self.shares = _worst(self.shares, (next(shares) - next(shares)).abs().max())

    def within(self, limits: Tolerances, noise: "Differences | None" = None) -> str | None:
        """What differs too much, else None. noise: of padded batches, of which ways may have some more."""
        logits, shares = limits.logits, limits.shares
        if noise is not None:
            logits = max(logits, min(NOISIER * noise.logits, limits.most))
            shares = max(shares, min(NOISIER * noise.shares, limits.most))
        if not self.positions:
            return "positions differ"
        return None if self.logits <= logits and self.shares <= shares else "logits differ"

    @property
    def summary(self) -> dict[str, Any]:
        """For the run record, without what is not finite."""
        numbers = {"logits": self.logits, "shares": self.shares}
        rounded = {name: float(f"{value:.1e}") for name, value in numbers.items() if math.isfinite(value)}
        return {"positions": self.positions, **rounded}


def _worst(known: float, new: torch.Tensor) -> float:
    value = float(new)
    return value if value != value or value > known else known

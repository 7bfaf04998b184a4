"""How far two ways to ask a model are apart, and how far they may be."""

import math
from dataclasses import dataclass
from typing import Any

import torch

TOP_TOKENS = 4  # the likeliest, whose shares are compared


@dataclass(frozen=True)
class Limits:
    """What computing in another order may change.

    logits: in standard deviations of a prompt's logits. shares: of the likeliest tokens among themselves.
    memory: relative, of the keys and values of a prefix. noise: of logits, between a prompt alone and
    in a padded batch; more means that padding itself is wrong. most: what logits and shares may reach
    where that noise is large.
    """

    logits: float
    shares: float
    memory: float
    noise: float
    most: float


NOISIER = 1.5  # so much more than padding alone may a way to ask change

FLOAT32 = Limits(logits=1e-3, shares=1e-4, memory=1e-4, noise=5e-3, most=5e-3)
# Smaller than the faults to be found: a lost sliding window moves logits by 0.07 to 0.2, lost token types
# by 0.18 to 0.26.
HALF = Limits(logits=0.05, shares=0.03, memory=0.05, noise=0.5, most=0.15)


@dataclass
class Differences:
    """The largest ones found. positions: whether all of them are equal."""

    positions: bool = True
    memory: float = 0.0
    logits: float = 0.0
    shares: float = 0.0

    def against(self, own: torch.Tensor, logits: torch.Tensor) -> None:
        """Takes in logits [n, vocabulary] of a way to ask and the model's own."""
        own, logits = own.double().cpu(), logits.double().cpu()
        best = own.topk(min(TOP_TOKENS, own.shape[-1])).indices
        shares = (values.gather(-1, best).softmax(dim=-1) for values in (own, logits))
        self.logits = _worst(self.logits, ((logits - own).abs().amax(dim=-1) / own.std(dim=-1)).max())
        self.shares = _worst(self.shares, (next(shares) - next(shares)).abs().max())

    def of_memory(self, whole: Any, prefix: Any, length: int) -> None:
        """Takes in a cache layer of a whole prompt and one that has read its first `length` tokens."""
        self.memory = _worst(self.memory, _changed(whole, prefix, length))

    def within(self, limits: Limits, noise: "Differences | None" = None) -> str | None:
        """What differs too much, else None. noise: of padded batches, of which ways may have some more."""
        logits, shares = limits.logits, limits.shares
        if noise is not None:
            logits = max(logits, min(NOISIER * noise.logits, limits.most))
            shares = max(shares, min(NOISIER * noise.shares, limits.most))
        if not self.positions:
            return "positions differ"
        if not self.memory <= limits.memory:
            return "what is remembered of a prefix depends on what follows"
        return None if self.logits <= logits and self.shares <= shares else "logits differ"

    @property
    def told(self) -> dict[str, Any]:
        """For the run record, without what is not finite."""
        numbers = {"memory": self.memory, "logits": self.logits, "shares": self.shares}
        told = {name: float(f"{value:.1e}") for name, value in numbers.items() if math.isfinite(value)}
        return {"positions": self.positions, **told}


def _worst(known: float, new: torch.Tensor) -> float:
    value = float(new)
    return value if value != value or value > known else known


def _changed(whole: Any, prefix: Any, length: int) -> torch.Tensor:
    """How much keys and values of a prefix differ from those in the cache of a whole prompt, relatively.

    Compared is what both still hold: sliding layers forget. Layers that look at a picture hold no tokens.
    """
    worst = torch.zeros(())
    if getattr(prefix, "keys", None) is None:
        return worst
    for one, other in ((whole.keys, prefix.keys), (whole.values, prefix.values)):
        if prefix.get_seq_length() == length:
            ends = whole.get_seq_length()
            start = max(length - other.shape[-2], ends - one.shape[-2])
            if start >= length:
                continue
            one = one[..., start - (ends - one.shape[-2]) : length - (ends - one.shape[-2]), :]
            other = other[..., start - (length - other.shape[-2]) :, :]
        if one.shape != other.shape:
            return torch.full((), float("inf"))
        difference = (one.float() - other.float()).norm() / other.float().norm().clamp(min=1e-30)
        worst = torch.maximum(worst, difference.cpu())
    return worst

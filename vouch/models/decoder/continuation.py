"""Rows of a pass put to a model, and texts that go on from them. The self-check asks through the same."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from vouch.models.decoder.cache_layers import fresh
from vouch.models.decoder.forward import Forward, Read, State
from vouch.models.decoder.jobs import Job


def logits_of(forward: Forward, rows: Sequence[Job], states: Sequence[State] | None) -> torch.Tensor:
    """[r, n, vocabulary] float32 at the wanted places of rows; states: after the prefix of each, if any."""
    prepared = [row.prepared for row in rows]
    wanted = torch.tensor([row.wanted for row in rows])
    if rows[0].mode == "trie":
        tries = [row.trie for row in rows if row.trie is not None]
        return forward.tries(prepared, tries, states or (), rows[0].length, wanted).logits
    return forward.chains(prepared, [row.sequence for row in rows], states, rows[0].length, wanted).logits


class Prompts:
    """A pass over whole prompts that can be continued several times. mask: [r, tokens] of the cache."""

    def __init__(self, forward: Forward, rows: Sequence[Job], states: Sequence[State] | None) -> None:
        self.forward, self.prepared = forward, [row.prepared for row in rows]
        sequences = [row.sequence for row in rows]
        last = torch.tensor([row.wanted for row in rows])
        self.read: Read = forward.chains(self.prepared, sequences, states, rows[0].length, last, keep=True)
        past = states[0].length if states else 0
        mask = torch.zeros((len(rows), past + rows[0].length), dtype=torch.long)
        for row, sequence in enumerate(sequences):
            mask[row, : past + len(sequence)] = 1
        self.mask = mask.to(forward.device)


class Continued:
    """One continuation, see decoding.Continued; the cache of the prompts stays as it is."""

    def __init__(self, prompts: Prompts) -> None:
        self._prompts, self._mask, self._number = prompts, prompts.mask, 0
        self._read = replace(prompts.read, cache=fresh(prompts.read.cache))
        self.logits = prompts.read.logits[:, 0]

    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        """See decoding.Continued."""
        self._mask = torch.cat([self._mask, torch.ones_like(self._mask[:, :1])], dim=1)
        one = self._prompts
        logits = one.forward.step(one.prepared, tokens, self._mask, self._read, self._number)
        self._number += 1
        return logits

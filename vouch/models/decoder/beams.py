"""Beam search: the text whose tokens are most likely together, among those that the search looks at.

The same as `generate(num_beams=...)` of transformers with its default `early_stopping=False`. A hypothesis is
scored by the sum of its log-probabilities, divided by its number of tokens (the end token included) to the
power of `length_penalty`. `repetition_penalty` multiplies the log-probability of every token that the
hypothesis already has (Keskar et al. 2019). The log-probabilities of an answer are the model's own.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import torch

from vouch.models.config import BeamSearch

Generated = tuple[int, float, float]
"""A token, its log-probability, and the normalised entropy when it was chosen."""
Ended = Callable[[Sequence[int]], bool]


class NextLogits(Protocol):
    """Goes on by one token."""

    def __call__(self, tokens: torch.Tensor, rows: torch.Tensor | None = None) -> torch.Tensor:
        """Logits [m, vocabulary] float32 after one further token [m] of each row.

        rows: [m] the rows of the last step that go on, in this order and perhaps several times; None for all.
        """
        ...


class _Hypothesis(NamedTuple):
    """score: sum of log-probabilities; of a finished one, divided by its length. beam: which it continues."""

    score: float
    generated: tuple[Generated, ...] = ()
    beam: int = 0

    @property
    def tokens(self) -> list[int]:
        return [token for token, _, _ in self.generated]


@dataclass
class _Beams:
    """The search for the text of one row. limit: tokens at most. running, finished: best first."""

    limit: int
    running: list[_Hypothesis] = field(default_factory=lambda: [_Hypothesis(0.0)])
    finished: list[_Hypothesis] = field(default_factory=list)
    going: bool = True

    def advance(self, candidates: Sequence[_Hypothesis], search: BeamSearch, ended: Ended) -> None:
        """candidates: of one length, best first; only the first `search.beams` may finish."""
        if not math.isfinite(candidates[0].score):
            self.finished, self.going = [candidates[0]], False  # its log-probability refuses the answer
            return
        divisor = len(candidates[0].generated) ** search.length_penalty
        whole = [ended(one.tokens) or len(one.generated) == self.limit for one in candidates]
        done = [one for one, end in zip(candidates[: search.beams], whole, strict=False) if end]
        self.finished += [one._replace(score=one.score / divisor) for one in done]
        self.finished = sorted(self.finished, key=lambda one: -one.score)[: search.beams]
        self.running = [one for one, end in zip(candidates, whole, strict=True) if not end][: search.beams]
        if not self.running:
            self.going = False
        elif len(self.finished) == search.beams:
            self.going = self.running[0].score / divisor > self.finished[-1].score


def searched(
    begun: tuple[torch.Tensor, NextLogits], most: Sequence[int], search: BeamSearch, ended: Ended, ends: int
) -> list[list[Generated]]:
    """The best text of each of the first rows of a pass, token by token; further rows fill the pass.

    begun: logits [r, vocabulary] after r prompts, and how they go on. most: tokens at most of each text, 0
    for none. ended: whether tokens are a whole answer. ends: how many tokens end one. A text has a token
    that is not finite if the logits are not.
    """
    logits, step = begun
    count, rows = search.beams, [_Beams(limit, going=limit > 0) for limit in most]
    filling, beams = len(logits) - len(most), 1
    while True:
        candidates = _candidates(logits, rows, beams, search, ends)
        for row, of_row in zip(rows, candidates, strict=True):
            if row.going:
                row.advance(of_row, search, ended)
        if not any(row.going for row in rows):
            break
        chosen: list[tuple[int, int]] = []  # token and row of the last step
        for index, row in enumerate(rows):
            going = row.running if row.going else [_Hypothesis(0.0, ((0, 0.0, 0.0),))]
            padded = [*going, *[going[-1]] * (count - len(going))]
            chosen += [(one.generated[-1][0], index * beams + one.beam) for one in padded]
        chosen += [chosen[-1]] * (filling * count)
        tokens, parents = torch.tensor(chosen, device=logits.device).T
        logits, beams = step(tokens, parents), count
    return [list(row.finished[0].generated) if row.finished else [] for row in rows]


def _candidates(
    logits: torch.Tensor, rows: Sequence[_Beams], beams: int, search: BeamSearch, ends: int
) -> list[list[_Hypothesis]]:
    """The most likely continuations of each row, best first: enough of them to go on if all others end.

    logits: [m, vocabulary], `beams` of them for each row.
    """
    size = logits.shape[-1]
    log_probs = logits.log_softmax(dim=-1)
    probs = log_probs.exp()
    entropies = -torch.where(probs > 0, probs * log_probs, 0).sum(dim=-1) / math.log(size)
    scores = log_probs[: len(rows) * beams].clone()
    before = torch.full((len(rows) * beams,), -math.inf)
    for index, row in enumerate(rows):
        for place, one in enumerate(row.running if row.going else ()):
            before[index * beams + place] = one.score
            if search.repetition_penalty != 1 and one.generated:
                scores[index * beams + place, one.tokens] *= search.repetition_penalty
    scores = (scores + before.to(scores)[:, None]).reshape(len(rows), beams * size)
    best, found = scores.topk(min(max(2, 1 + ends) * search.beams, beams * size), dim=1)
    parents = torch.arange(len(rows), device=logits.device)[:, None] * beams + found // size
    numbers = [best, found // size, found % size, log_probs[parents, found % size], entropies[parents]]
    listed = torch.stack([one.double() for one in numbers], dim=-1).tolist()
    return [
        [
            _Hypothesis(score, (*_generated(row, int(beam)), (int(token), logprob, entropy)), int(beam))
            for score, beam, token, logprob, entropy in of_row
            if score > -math.inf or math.isnan(score)
        ]
        for row, of_row in zip(rows, listed, strict=True)
    ]


def _generated(row: _Beams, beam: int) -> tuple[Generated, ...]:
    return row.running[beam].generated if row.going and beam < len(row.running) else ()

"""Generated texts: greedy, and samples whose random numbers depend on the question alone."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import torch

from vouch.models.decoder.forward import Forward, Read, State
from vouch.models.decoder.jobs import Job
from vouch.models.decoder.outputs import NOT_FINITE
from vouch.models.decoder.pass_inputs import fresh
from vouch.models.requests.engine import Decoding, Question, Refusal, TextAnswer


def ends(model: Any) -> tuple[int, ...]:
    """Tokens that end an answer, by the model's generation settings."""
    given = model.generation_config.eos_token_id
    if given is None:
        given = getattr(model.config.get_text_config(), "eos_token_id", None)
    return tuple(given) if isinstance(given, (list, tuple)) else () if given is None else (int(given),)


class Continuation(Protocol):
    """A pass over prompts that goes on. logits: [r, vocabulary] float32 of the first token."""

    logits: torch.Tensor

    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        """[r, vocabulary] float32 after one further token [r] of every row."""
        ...


@dataclass
class _Text:
    """The text of one row so far; it ends with `most` tokens at the latest."""

    most: int
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    eos: int | None = None
    finite: bool = True

    @property
    def done(self) -> bool:
        return self.eos is not None or len(self.tokens) >= self.most or not self.finite

    def add(self, token: int, logprob: float, entropy: float, is_end: bool) -> None:
        if self.done:
            return
        if not math.isfinite(logprob):
            self.finite = False
            return
        self.eos = len(self.tokens) if is_end else None
        self.tokens.append(token)
        self.logprobs.append(logprob)
        self.entropies.append(entropy)


class Decoder:
    """Continues rows of a pass token by token. decode: tokens to text. end_tokens: end an answer."""

    def __init__(self, decode: Callable[[Sequence[int]], str], end_tokens: Sequence[int]) -> None:
        self._decode, self._ends = decode, frozenset(end_tokens)

    def texts(
        self, questions: Sequence[Question], begin: Callable[[], Continuation]
    ) -> Iterator[tuple[int, Decoding, TextAnswer | Refusal]]:
        """(row, decoding, answer) for every decoding of the questions of the first rows of a pass.

        Further rows fill the pass. begin: starts anew after the prompts, once for each decoding.
        """
        of_rows = [{(one.temperature, one.sample): one for one in q.decodings} for q in questions]
        for key in dict.fromkeys(key for of_row in of_rows for key in of_row):
            decodings = [of_row.get(key) for of_row in of_rows]
            most = [0 if one is None else q.max_tokens for one, q in zip(decodings, questions, strict=True)]
            draws = _draws(decodings, most) if key[0] else None
            texts = self._generated(begin(), most, key[0], draws)
            for row, (decoding, text) in enumerate(zip(decodings, texts, strict=True)):
                if decoding is not None:
                    yield row, decoding, self._answer(text)

    def _generated(
        self, continued: Continuation, most: Sequence[int], temperature: float, draws: torch.Tensor | None
    ) -> list[_Text]:
        logits, number = continued.logits, 0
        texts = [_Text(limit) for limit in most]
        chosen = logits.new_zeros(len(logits), dtype=torch.long)
        while not all(one.done for one in texts):
            if number:
                logits = continued.step(chosen)
            if draws is None:
                chosen = logits.argmax(dim=-1)
            else:
                drawn = draws.new_zeros(len(logits))  # rows that fill the pass draw nothing
                drawn[: len(texts)] = draws[:, number]
                chosen = sampled(logits / temperature, drawn)
            for one, (token, logprob, entropy) in zip(texts, _statistics(logits, chosen), strict=False):
                one.add(int(token), logprob, entropy, int(token) in self._ends)
            number += 1
        return texts

    def _answer(self, grown: _Text) -> TextAnswer | Refusal:
        if not grown.finite:
            return NOT_FINITE
        text = self._decode(grown.tokens[: grown.eos])
        return TextAnswer(text, grown.logprobs, grown.entropies, grown.eos)


def _statistics(logits: torch.Tensor, chosen: torch.Tensor) -> list[list[float]]:
    """(token, its log-probability, normalised entropy) of each row, in one transfer from the device."""
    log_probs = logits.log_softmax(dim=-1)
    probs = log_probs.exp()
    entropies = -torch.where(probs > 0, probs * log_probs, 0).sum(dim=-1) / math.log(logits.shape[-1])
    values = log_probs.gather(1, chosen[:, None])[:, 0]
    rows: list[list[float]] = torch.stack([chosen.double(), values.double(), entropies.double()], 1).tolist()
    return rows


def _draws(decodings: Sequence[Decoding | None], most: Sequence[int]) -> torch.Tensor:
    """[r, tokens] uniform numbers of each row's own seed; a longer text has a shorter one's first numbers."""
    draws = np.zeros((len(decodings), max(most)))
    for row, (decoding, count) in enumerate(zip(decodings, most, strict=True)):
        if decoding is not None:
            draws[row, :count] = np.random.Generator(np.random.Philox(decoding.seed)).random(count)
    return torch.from_numpy(draws)


def sampled(logits: torch.Tensor, drawn: torch.Tensor) -> torch.Tensor:
    """[r] for each row the token at which its distribution function passes a uniform number [r]."""
    # On the CPU: a GPU adds up in an order that may change from run to run.
    shares = logits.double().softmax(dim=-1).cpu().cumsum(dim=-1)
    level = drawn.to(shares) * shares[:, -1]
    tokens = torch.searchsorted(shares, level[:, None], right=True)[:, 0]
    return tokens.clamp(max=logits.shape[-1] - 1).to(logits.device)


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
    """One continuation, see Continuation; the cache of the prompts stays as it is."""

    def __init__(self, prompts: Prompts) -> None:
        self._prompts, self._mask, self._number = prompts, prompts.mask, 0
        self._read = replace(prompts.read, cache=fresh(prompts.read.cache))
        self.logits = prompts.read.logits[:, 0]

    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        """See Continuation.step."""
        self._mask = torch.cat([self._mask, torch.ones_like(self._mask[:, :1])], dim=1)
        one = self._prompts
        logits = one.forward.step(one.prepared, tokens, self._mask, self._read, self._number)
        self._number += 1
        return logits

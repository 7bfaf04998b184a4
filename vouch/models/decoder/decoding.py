"""From logits to answers: letters, likelihoods and generated texts.

Texts are greedy, or samples whose random numbers depend only on the question. Numbers leave the device once
for each row of a pass.
"""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from vouch.models.chat.chat import LetterIds
from vouch.models.decoder.beams import Generated, NextLogits, searched
from vouch.models.decoder.passes import Forward, PassResult, fresh
from vouch.models.decoder.preparing import Prepared
from vouch.models.engine import (
    Decoding,
    LetterAnswer,
    LikelihoodAnswer,
    Question,
    Refusal,
    TextAnswer,
    letter_flags,
)

NOT_FINITE = Refusal(
    "the model's logits are not finite; check its weights, or give it another dtype in models.lock"
)


def letter_answers(
    logits: torch.Tensor, wanted: Sequence[tuple[int, LetterIds]]
) -> list[tuple[LetterAnswer | Refusal, list[str]]]:
    """An answer and its flags for each (position, letters). logits: [n, vocabulary] float32 of n positions.

    Sums run over all n positions, wanted or not, so that their bits depend only on the shape.
    """
    log_probs = logits.log_softmax(dim=-1)
    probs = log_probs.exp()
    entropies = -torch.where(probs > 0, probs * log_probs, 0).sum(dim=-1)
    ids = [(position, token) for position, letters in wanted for token in _ids(letters)]
    positions, tokens = torch.tensor(ids).T.to(logits.device)
    numbers = [logits[positions, tokens], log_probs[positions, tokens], log_probs.amax(dim=-1), entropies]
    parts = torch.split(torch.cat(numbers).cpu(), [len(part) for part in numbers])  # in one transfer
    given, log_given, best, entropy = (part.tolist() for part in parts)
    answers, start = [], 0
    for position, letters in wanted:
        end = start + len(_ids(letters))
        shares = [math.exp(value) for value in log_given[start:end]]
        answers.append(_letter_answer(letters, given[start:end], shares, -best[position], entropy[position]))
        start = end
    return answers


def _ids(letters: LetterIds) -> tuple[int, ...]:
    return (*letters.read, *letters.other, *letters.bracket)


def _letter_answer(
    letters: LetterIds, logits: Sequence[float], shares: Sequence[float], nll: float, entropy: float
) -> tuple[LetterAnswer | Refusal, list[str]]:
    """logits and shares of probability: of the letters read, of the other spelling's, of brackets."""
    read, other = len(letters.read), len(letters.read) + len(letters.other)
    if not all(map(math.isfinite, (*logits[:read], nll, entropy))):
        return NOT_FINITE, []
    mass, other_mass = math.fsum(shares[:read]), math.fsum(shares[read:other])
    flags = letter_flags(logits[:read], mass + other_mass)
    flags += ["other_spelling"] if other_mass > mass else []
    answer = LetterAnswer(
        logits=logits[:read],
        spelling=letters.spelling,
        other_logits=logits[read:other] if letters.other else None,
        letter_mass=mass + other_mass,
        bracket_mass=math.fsum(shares[other:]),
        nll=nll,
        entropy=entropy,
    )
    return answer, flags


def token_nlls(logits: torch.Tensor, wanted: Sequence[tuple[int, int]]) -> list[float]:
    """Negative log-likelihood, nats, of each (position, token) under the logits [n, vocabulary], float32."""
    positions, tokens = torch.tensor(wanted).T.to(logits.device)
    nlls: list[float] = (-logits.log_softmax(dim=-1)[positions, tokens]).tolist()
    return nlls


def likelihood_answer(options: Sequence[Sequence[float]]) -> LikelihoodAnswer | Refusal:
    """The answer from the negative log-likelihood of each token of each option."""
    if not all(math.isfinite(value) for option in options for value in option):
        return NOT_FINITE
    return LikelihoodAnswer([math.fsum(option) for option in options], [len(option) for option in options])


def ends(model: Any) -> frozenset[int]:
    """Tokens that end an answer, by the model's generation settings."""
    given = model.generation_config.eos_token_id
    if given is None:
        given = getattr(model.config.get_text_config(), "eos_token_id", None)
    return frozenset(given if isinstance(given, (list, tuple)) else () if given is None else (int(given),))


Continuation = tuple[torch.Tensor, NextLogits]
"""Logits [r, vocabulary] float32 after r prompts, and a function for those after one more token [r] each."""


def continued(forward: Forward, rows: Sequence[Prepared], read: PassResult) -> Continuation:
    """Continues after a pass that kept its cache, and leaves that cache unchanged."""
    last, shown = replace(read, cache=fresh(read.cache)), list(rows)

    def step(tokens: torch.Tensor, rows: torch.Tensor | None = None) -> torch.Tensor:
        nonlocal last, shown
        if rows is not None:
            last, shown = last.of_rows(rows), [shown[row] for row in rows.tolist()]
        last = forward.step(shown, tokens, last)
        return last.logits[:, 0]

    return read.logits[:, 0], step


def texts(
    questions: Sequence[Question],
    begin: Callable[[], Continuation],
    decode: Callable[[Sequence[int]], str],
    end_tokens: Collection[int],
    stop: str = "",
) -> Iterator[tuple[int, Decoding, TextAnswer | Refusal]]:
    """(row, decoding, answer) for every decoding of the questions of the first rows of a pass.

    Further rows fill the pass. begin: starts anew after the prompts, once for each decoding. decode: tokens
    to text. end_tokens: end an answer, and so does the text `stop`, however many tokens it takes.
    """

    def stopped(tokens: Sequence[int]) -> bool:
        return bool(stop) and stop in decode(tokens[-len(stop.encode()) :])

    def ended(tokens: Sequence[int]) -> bool:
        return tokens[-1] in end_tokens or stopped(tokens)

    of_rows = [{(one.temperature, one.sample): one for one in q.decodings} for q in questions]
    for key in dict.fromkeys(key for of_row in of_rows for key in of_row):
        decodings = [of_row.get(key) for of_row in of_rows]
        most = [0 if one is None else q.max_tokens for one, q in zip(decodings, questions, strict=True)]
        search = next((one.search for one in decodings if one is not None and one.search is not None), None)
        if search is not None:  # the same for all rows, as all texts of a model are searched in one way
            generated = searched(begin(), most, search, ended, len(end_tokens))
        else:
            draws = _draws(decodings, most) if key[0] else None
            generated = _generated(begin(), most, key[0], draws, ended)
        for row, (decoding, tokens) in enumerate(zip(decodings, generated, strict=True)):
            if decoding is not None:
                yield row, decoding, _answer(tokens, decode, ended, stopped)


def _generated(
    begun: Continuation,
    most: Sequence[int],
    temperature: float,
    draws: torch.Tensor | None,
    ended: Callable[[Sequence[int]], bool],
) -> list[list[Generated]]:
    """The generated tokens of each row: up to `most`, an end token, or one that is not finite."""
    logits, step = begun
    chosen_tokens: list[list[Generated]] = [[] for _ in most]
    tokens: list[list[int]] = [[] for _ in most]
    going = {row for row, limit in enumerate(most) if limit}
    for number in range(max(most)):
        if draws is None:
            chosen = logits.argmax(dim=-1)
        else:
            drawn = draws.new_zeros(len(logits))  # rows that fill the pass draw nothing
            drawn[: len(most)] = draws[:, number]
            chosen = sampled(logits / temperature, drawn)
        statistics = _statistics(logits, chosen)
        for row in sorted(going):
            token, logprob, entropy = statistics[row]
            chosen_tokens[row].append((int(token), logprob, entropy))
            tokens[row].append(int(token))
            if ended(tokens[row]) or number + 1 == most[row] or not math.isfinite(logprob):
                going.remove(row)
        if not going:
            break
        logits = step(chosen)
    return chosen_tokens


def _answer(
    generated: Sequence[Generated],
    decode: Callable[[Sequence[int]], str],
    ended: Callable[[Sequence[int]], bool],
    stopped: Callable[[Sequence[int]], bool],
) -> TextAnswer | Refusal:
    tokens = [token for token, _, _ in generated]
    logprobs = [logprob for _, logprob, _ in generated]
    if not all(map(math.isfinite, logprobs)):
        return NOT_FINITE
    eos = len(generated) - 1 if generated and ended(tokens) else None
    closed = eos is not None and stopped(tokens)
    text = decode(tokens if closed else tokens[:eos])
    return TextAnswer(text, logprobs, [entropy for _, _, entropy in generated], eos, stopped=closed)


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
    # On the CPU: on a GPU the order of summation may change from run to run.
    shares = logits.double().softmax(dim=-1).cpu().cumsum(dim=-1)
    level = drawn.to(shares) * shares[:, -1]
    tokens = torch.searchsorted(shares, level[:, None], right=True)[:, 0]
    return tokens.clamp(max=logits.shape[-1] - 1).to(logits.device)

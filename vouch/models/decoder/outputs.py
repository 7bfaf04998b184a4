"""From logits to answers. Numbers leave the device once for each row of a pass."""

import math
from collections.abc import Sequence

import torch

from vouch.models.chat.letter_tokens import LetterIds
from vouch.models.requests.engine import LetterAnswer, LikelihoodAnswer, Refusal, letter_flags

NOT_FINITE = Refusal(
    "the model's logits are not finite; check its weights, or give it another dtype in models.lock"
)


def letter_answers(
    logits: torch.Tensor, wanted: Sequence[tuple[int, LetterIds]]
) -> list[tuple[LetterAnswer | Refusal, list[str]]]:
    """An answer and its flags for each (place, letters), from float32 logits [n, vocabulary] of n places.

    Sums run over all n places, wanted or not, so that their bits follow from the shape alone.
    """
    log_probs = logits.log_softmax(dim=-1)
    probs = log_probs.exp()
    entropies = -torch.where(probs > 0, probs * log_probs, 0).sum(dim=-1)
    ids = [(place, token) for place, letters in wanted for token in _ids(letters)]
    places, tokens = torch.tensor(ids).T.to(logits.device)
    numbers = [logits[places, tokens], log_probs[places, tokens], log_probs.amax(dim=-1), entropies]
    parts = torch.split(torch.cat(numbers).cpu(), [len(part) for part in numbers])  # in one transfer
    given, log_given, best, entropy = (part.tolist() for part in parts)
    answers, start = [], 0
    for place, letters in wanted:
        end = start + len(_ids(letters))
        shares = [math.exp(value) for value in log_given[start:end]]
        answers.append(_letter_answer(letters, given[start:end], shares, -best[place], entropy[place]))
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
    """Negative log-likelihood, nats, of each (place, token) under the logits [n, vocabulary], float32."""
    places, tokens = torch.tensor(wanted).T.to(logits.device)
    nlls: list[float] = (-logits.log_softmax(dim=-1)[places, tokens]).tolist()
    return nlls


def likelihood_answer(options: Sequence[Sequence[float]]) -> LikelihoodAnswer | Refusal:
    """The answer from the negative log-likelihood of each token of each option."""
    if not all(math.isfinite(value) for option in options for value in option):
        return NOT_FINITE
    return LikelihoodAnswer([math.fsum(option) for option in options], [len(option) for option in options])

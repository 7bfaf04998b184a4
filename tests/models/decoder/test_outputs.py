"""Numbers of an answer from logits that can be checked by hand."""

import math

import pytest
import torch

from vouch.models.chat.chat import LetterIds
from vouch.models.decoder.decoding import letter_answers, likelihood_answer, token_nlls
from vouch.models.engine import LetterAnswer, LikelihoodAnswer, Refusal

PROBS = torch.tensor([[0.4, 0.1, 0.05, 0.2, 0.15, 0.1], [0.02, 0.01, 0.5, 0.01, 0.06, 0.4]])
LETTERS = LetterIds(" ", read=(0, 1), other=(2, 3), bracket=(5,))


def test_mass_spellings_bracket_and_entropy() -> None:
    (first, flags), (second, others) = letter_answers(PROBS.log() + 3, [(0, LETTERS), (1, LETTERS)])
    assert isinstance(first, LetterAnswer) and isinstance(second, LetterAnswer)
    assert first.logits == pytest.approx([3 + math.log(0.4), 3 + math.log(0.1)])
    assert first.other_logits == pytest.approx([3 + math.log(0.05), 3 + math.log(0.2)], abs=1e-6)
    assert (first.letter_mass, first.bracket_mass) == pytest.approx((0.75, 0.1))
    assert first.nll == pytest.approx(-math.log(0.4)) and first.spelling == " "
    assert first.entropy == pytest.approx(-sum(p * math.log(p) for p in PROBS[0].tolist()))
    assert flags == []
    assert (second.letter_mass, second.bracket_mass) == pytest.approx((0.54, 0.4))
    assert others == ["other_spelling"]  # 0.51 against 0.03


def test_flags_of_weak_and_close_letters() -> None:
    letters = LetterIds("", read=(1, 5), other=(), bracket=())
    ((answer, flags),) = letter_answers(PROBS.log(), [(0, letters)])
    assert isinstance(answer, LetterAnswer) and answer.other_logits is None and answer.bracket_mass == 0
    assert flags == ["low_mass", "close"]


@pytest.mark.parametrize(("token", "value"), [(0, math.nan), (4, math.nan), (4, math.inf), (0, -math.inf)])
def test_a_logit_that_is_not_finite_spoils_its_own_place_only(token: int, value: float) -> None:
    logits = PROBS.log()
    logits[0, token] = value
    (first, _), (second, _) = letter_answers(logits, [(0, LETTERS), (1, LETTERS)])
    assert isinstance(first, Refusal) and isinstance(second, LetterAnswer)


def test_tokens_that_a_model_never_says_are_no_harm() -> None:
    logits = PROBS.log()
    logits[0, 4] = -math.inf
    ((answer, _),) = letter_answers(logits, [(0, LETTERS)])
    assert isinstance(answer, LetterAnswer) and math.isfinite(answer.entropy or math.nan)


def test_likelihood_sums_its_tokens() -> None:
    nlls = token_nlls(PROBS.log(), [(0, 0), (1, 5), (0, 3)])
    assert nlls == pytest.approx([-math.log(0.4), -math.log(0.4), -math.log(0.2)])
    answer = likelihood_answer([nlls[:2], nlls[2:]])
    assert isinstance(answer, LikelihoodAnswer)
    assert answer.nll == pytest.approx([-2 * math.log(0.4), -math.log(0.2)]) and answer.tokens == [2, 1]
    assert isinstance(likelihood_answer([[1.0], [math.nan]]), Refusal)

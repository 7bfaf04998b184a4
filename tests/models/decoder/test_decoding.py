"""Numbers of an answer, from logits that can be checked by hand and from whole models.

Greedy texts are compared with `generate`, samples with their distribution.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from tests.models.engines import (
    SEARCHES,
    alone,
    answered,
    check_generated,
    check_searched,
    ids_of,
    letters_of,
    loaded,
    plain_logits,
    question,
    shared,
    text_of,
    written,
)
from vouch.models.chat.chat import LetterIds
from vouch.models.config import BeamSearch
from vouch.models.decoder.decoding import letter_answers, likelihood_answer, sampled, texts, token_nlls
from vouch.models.engine import Decoding, LetterAnswer, LikelihoodAnswer, Question, Refusal, TextAnswer

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


@pytest.mark.parametrize("bucket", [8, "geometric"])
def test_six_letters_are_those_of_the_last_prompt_token(tiny: Path, bucket: int | str) -> None:
    """A to F of Kostumov et al. (2024): the logits that plain transformers gives there, whatever shares the pass."""
    rows = [
        question(n, words, shown, labels="ABCDEF", system="be brief" if n % 2 else None)
        for n, (words, shown) in enumerate([(3, [7]), (5, [7]), (12, [7]), (1, [2]), (4, None), (6, [])])
    ]
    found = answered(shared(tiny, bucket=bucket), "letters", [rows[:3], rows[3:4], rows[4:]])
    letters, chosen = ids_of(tiny, "ABCDEF"), set()
    for one in rows:
        whole = plain_logits(tiny, written(one), one.images)
        logits = letters_of(found[one.id]).logits
        assert logits == pytest.approx(whole[-1, letters].tolist(), abs=2e-5), one.id
        assert logits != pytest.approx(whole[-2, letters].tolist(), abs=1e-2), "of the token before it"
        chosen.add(int(np.argmax(logits)))
    assert len(chosen) > 1, "their order says something"


GREEDY = Decoding()
SAMPLES = tuple(Decoding(t, n, 100 + 10 * n + round(10 * t)) for t in (0.7, 2.0) for n in (1, 2))
END = 2


def asked(
    numbers: Sequence[int], decodings: Sequence[Decoding], most: int = 12, shown: int | None = 1
) -> list[Question]:
    images = [] if shown is None else [shown]
    return [
        question(n, 3 + n, images, labels=(), max_tokens=most, decodings=tuple(decodings)) for n in numbers
    ]


@pytest.mark.parametrize("shown", [1, None])
def test_greedy_text_equals_generate(tiny: Path, shown: int | None) -> None:
    found = alone(shared(tiny), "text", asked(range(5), [GREEDY], shown=shown))
    for one in asked(range(5), [GREEDY], shown=shown):
        images = list(one.images) or None
        inputs = loaded(tiny)[1](text=written(one), images=images, return_tensors="pt")
        check_generated(tiny, one, inputs, text_of(found[one.id, 0.0, 0]), END)


@pytest.mark.parametrize("search", SEARCHES)
def test_the_best_of_several_beams_equals_generate(tiny: Path, search: BeamSearch) -> None:
    rows = asked(range(5), [Decoding(search=search)])
    found = alone(shared(tiny), "text", rows)
    for one in rows:
        inputs = loaded(tiny)[1](text=written(one), images=list(one.images) or None, return_tensors="pt")
        check_searched(tiny, one, inputs, text_of(found[one.id, 0.0, 0]), END)
    together = answered(shared(tiny), "text", [[one] for one in rows])
    greedy = answered(shared(tiny), "text", [[one] for one in asked(range(5), [GREEDY])])
    texts = [text_of(each[one.id, 0.0, 0]).text for each in (found, together, greedy) for one in rows]
    assert texts[:5] == texts[5:10] != texts[10:], "whatever else is asked; and not the greedy text"


def test_samples_are_scored_at_temperature_one(tiny: Path) -> None:
    """Teacher forcing of each sample's own words gives the same log-probabilities."""
    found, tokenizer = alone(shared(tiny), "text", asked(range(4), SAMPLES)), loaded(tiny)[1].tokenizer
    checked = 0
    for one in asked(range(4), SAMPLES):
        for decoding in SAMPLES:
            answer = text_of(found[one.id, decoding.temperature, decoding.sample])
            ids = tokenizer(answer.text, add_special_tokens=False)["input_ids"]
            if len(ids) != len(answer.logprobs) - (answer.eos is not None) or not ids:
                continue  # a special token, of which the text tells nothing
            logits = plain_logits(tiny, f"{written(one)} {answer.text}", one.images)[-len(ids) - 1 :]
            log_probs = logits.log_softmax(-1)
            targets = [*ids, *([END] if answer.eos is not None else [])]
            expected = log_probs[range(len(targets)), targets]
            assert torch.tensor(answer.logprobs) == pytest.approx(expected, abs=1e-4)
            checked += 1
    assert checked > 4


def test_the_end_token_is_counted_and_not_written(tiny: Path) -> None:
    decodings = [Decoding(3.0, n, n) for n in range(1, 20)]
    found = alone(shared(tiny), "text", asked(range(2), decodings, most=9))
    answers = [text_of(one) for one in found.values()]
    ended = [one for one in answers if one.eos is not None]
    assert ended and len(ended) < len(answers)
    for one in answers:
        length = 9 if one.eos is None else one.eos + 1
        assert len(one.logprobs) == len(one.entropies or ()) == length
        assert "</s>" not in one.text and len(one.text.split()) <= length - (one.eos is not None)


def scripted(script: Sequence[Sequence[int]], most: Sequence[int]) -> tuple[list[TextAnswer], int]:
    """Greedy texts of rows that say given tokens; and how many steps that took."""
    steps = 0

    def logits(index: int) -> torch.Tensor:
        tokens = torch.tensor([row[min(index, len(row) - 1)] for row in script])
        return torch.nn.functional.one_hot(tokens, 10).float() * 9

    def step(tokens: torch.Tensor) -> torch.Tensor:
        nonlocal steps
        steps += 1
        assert len(tokens) == len(script)
        return logits(steps)

    questions = [Question(str(n), None, "", max_tokens=m, decodings=(GREEDY,)) for n, m in enumerate(most)]
    found = list(texts(questions, lambda: (logits(0), step), lambda ids: " ".join(map(str, ids)), {0, 9}))
    assert [row for row, _, _ in found] == list(range(len(most)))
    return [answer for _, _, answer in found if isinstance(answer, TextAnswer)], steps


def test_rows_end_each_for_itself_and_the_pass_with_the_last() -> None:
    answers, steps = scripted(
        [[4, 5, 0], [3, 9], [7], [0], [6], [1]], most=[8, 8, 2, 8, 1]
    )  # the sixth fills
    assert [(one.text, one.eos) for one in answers] == [
        ("4 5", 2), ("3", 1), ("7 7", None), ("", 0), ("6", None)
    ]  # fmt: skip
    assert [len(one.logprobs) for one in answers] == [3, 2, 2, 1, 1]
    assert steps == 2  # the longest text has three tokens, the first of them from the prompt


def test_texts_do_not_depend_on_their_company(tiny: Path) -> None:
    """Not on which decodings are wanted, nor on how many tokens; nor on other prompts (test_answering.py)."""
    engine, questions = shared(tiny), asked(range(6), [GREEDY, *SAMPLES], most=6)
    whole = alone(engine, "text", questions)
    for wanted in (SAMPLES[3:], [SAMPLES[2], GREEDY]):
        some = [replace(one, decodings=tuple(wanted)) for one in questions[1:5]]
        assert alone(engine, "text", some).items() <= whole.items()
    mixed = [replace(one, decodings=(SAMPLES[n],)) for n, one in enumerate(questions[:4])]
    assert alone(engine, "text", mixed).items() <= whole.items()
    short = [replace(one, max_tokens=1 + n) for n, one in enumerate(questions)]
    for key, one in alone(engine, "text", short).items():
        count = len(text_of(one).logprobs)
        assert text_of(one).logprobs == text_of(whole[key]).logprobs[:count]


def test_seeds_and_temperatures_tell_samples_apart(tiny: Path) -> None:
    decodings = (Decoding(2.0, 1, 7), Decoding(2.0, 2, 8), Decoding(2.0, 3, 7), Decoding(0.7, 1, 7))
    found = {
        key[1:]: text_of(one).logprobs
        for key, one in alone(shared(tiny), "text", asked([1], decodings)).items()
    }
    assert found[2.0, 1] == found[2.0, 3]  # the seed alone
    assert found[2.0, 1] not in (found[2.0, 2], found[0.7, 1])


def test_prompts_are_read_once_for_all_decodings(tiny: Path) -> None:
    engine, lengths = shared(tiny, own=True), list[int]()
    engine._forward.model.register_forward_pre_hook(
        lambda _module, _inputs, given: lengths.append(given["input_ids"].shape[1]), with_kwargs=True
    )
    answered(engine, "text", [[one] for one in asked(range(4), [GREEDY, *SAMPLES], most=3)])
    longer = [length for length in lengths if length > 1]
    assert len(longer) <= 3  # a prefix and the prompts of one pass, of two lengths at most
    assert len(lengths) - len(longer) <= 2 * 5 * (len(longer) - 1)


LOGITS = torch.tensor([[0.3, -1.0, -math.inf, 2.0, 0.3, -30.0], [0.0, 0.0, 1.0, -math.inf, 4.0, -math.inf]])


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_sampling_inverts_the_distribution_function(temperature: float) -> None:
    """A fine grid of uniform numbers meets each token as often as its probability says."""
    count = 20_000
    grid = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    for row in LOGITS / temperature:
        tokens = sampled(row.expand(count, -1), grid)
        shares = tokens.bincount(minlength=len(row)) / count
        assert shares == pytest.approx(row.double().softmax(-1), abs=1.01 / count)
    ends = (
        sampled(LOGITS, torch.tensor([0.0, 0.0])),
        sampled(LOGITS, torch.tensor([1 - 2**-53] * 2, dtype=torch.float64)),
    )
    assert [list(end) for end in ends] == [[0, 0], [5, 4]]


def test_samples_of_many_seeds_follow_the_distribution() -> None:
    first = LOGITS[:1].clamp(min=-5)

    def step(tokens: torch.Tensor) -> torch.Tensor:
        raise AssertionError("one token is all that is asked for")

    decodings = tuple(Decoding(1.5, n, n * 7919) for n in range(1, 1001))
    asked = Question("q", None, "", max_tokens=1, decodings=decodings)
    found: Any = texts([asked], lambda: (first, step), lambda ids: str(ids[0]), ())
    seen = np.bincount([int(answer.text) for _, _, answer in found], minlength=6)
    expected = (first[0].double() / 1.5).softmax(-1).numpy() * len(decodings)
    assert seen.sum() == len(decodings) and chisquare(seen, expected).pvalue > 0.01

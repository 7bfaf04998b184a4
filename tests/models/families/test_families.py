"""Every family of models gives the numbers it would give by itself, one prompt at a time.

And docs/architectures.md has the table of families, in which every entry of models.lock stands.
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
import torch

from tests.models.families.family import LETTERS as LETTER_IDS
from tests.models.families.family import MOST, Family, family, fresh
from tests.models.families.table import EOS, FAMILIES, WORDS
from tests.refusals import refused
from tools.model_table import ON_T5, PAGE, written
from vouch.models.decoder.passes import Forward
from vouch.models.decoder.preparing import Prepared
from vouch.models.decoder.rows import Mode
from vouch.models.engine import Answered, LetterAnswer, LikelihoodAnswer, TextAnswer
from vouch.pipeline.yaml12 import load
from vouch.tables.asked import LETTERS, LIKELIHOOD, TEXT

CLOSE = 1e-4  # of the logits' standard deviation
LENGTHS = (3, 9, 14, 21)


@pytest.fixture(params=FAMILIES)
def one(request: pytest.FixtureRequest) -> Family:
    return family(request.param)


def packs(one: Family, **more: int) -> list[list[Prepared]]:
    """Two images, each with prompts of different lengths."""
    return [[one.prepared(f"{image} {words}", words, image, **more) for words in LENGTHS] for image in (0, 1)]


def check_letters(one: Family, prompts: Iterable[Prepared], answers: dict[str, Answered], mode: Mode) -> None:
    for prompt in prompts:
        answered = answers[prompt.question.id]
        assert isinstance(answered.answer, LetterAnswer) and answered.mode == mode
        expected = one.logits(prompt)[-1]
        values = torch.tensor([*answered.answer.logits, *(answered.answer.other_logits or ())])
        wanted = expected[[*LETTER_IDS.read, *LETTER_IDS.other]]
        assert (values - wanted).abs().max() < CLOSE * expected.std()


def test_letters(one: Family) -> None:
    prompts = packs(one)
    answers = one.asked(LETTERS, prompts)
    check_letters(one, [prompt for pack in prompts for prompt in pack], answers, one.mode)
    assert {answered.rows for answered in answers.values()} == {3}


@pytest.mark.parametrize("name", ["llava", "qwen2_vl", "gemma3", "paligemma", "mllama"])
def test_a_prompt_without_an_image_after_others(name: str) -> None:
    one = family(name)
    bare = [one.bare(f"bare {words}", words) for words in LENGTHS]
    check_letters(one, bare, one.asked(LETTERS, [packs(one)[0], bare]), "plain")


@pytest.mark.parametrize("name", [name for name, kind in FAMILIES.items() if kind.joined is not None])
def test_two_images(name: str) -> None:
    one = family(name)
    prompts = [one.prepared(f"{words}", words, images=2) for words in LENGTHS[:2]]
    check_letters(one, prompts, one.asked(LETTERS, [prompts]), one.mode)
    for prompt in prompts:
        single = one.prepared(prompt.question.id, len(prompt.ids) - prompt.prefix)
        seen = not torch.allclose(one.logits(single)[-1], one.logits(prompt)[-1], atol=0.1)
        assert seen, "the second image"


def test_likelihood(one: Family) -> None:
    check_likelihood(one, one.mode)


@pytest.mark.parametrize("name", ["gemma3_narrow", "mllama", "qwen2_vl"])
@pytest.mark.parametrize("mode", ["batch", "plain"])
def test_likelihood_in_slower_modes(name: str, mode: Mode) -> None:
    check_likelihood(family(name), mode)


def check_likelihood(one: Family, mode: Mode) -> None:
    """The first option is what transformers itself generates, with the logits of its own steps."""

    def nll(logits: torch.Tensor, tokens: Sequence[int]) -> float:
        return -float(logits.log_softmax(dim=-1)[range(len(tokens)), tokens].sum())

    expected, prompts = {}, []
    for pack in packs(one):
        prompts.append([])
        for prompt in pack:
            generated, logits = one.generated(prompt, 3)
            options = (generated, [71, 72], [*generated[:1], 73, 74])
            name = prompt.question.id
            prompts[-1].append(one.prepared(name, int(name.split()[1]), int(name[0]), options))
            alone = (one.logits(prompt, option[:-1])[len(prompt.ids) - 1 :] for option in options[1:])
            expected[name] = [nll(*pair) for pair in zip((logits, *alone), options, strict=True)]
    answers = one.asked(LIKELIHOOD, prompts, mode)
    for name, values in expected.items():
        answer = answers[name].answer
        assert isinstance(answer, LikelihoodAnswer) and answers[name].mode == mode
        assert answer.nll == pytest.approx(values, abs=1e-3)


def test_text(one: Family) -> None:
    prompts = [prompt for pack in packs(one, max_tokens=MOST) for prompt in pack]
    answers = one.asked(TEXT, [[prompt] for prompt in prompts])
    generated: set[int] = set()
    for prompt in prompts:
        answer = answers[prompt.question.id].answer
        assert isinstance(answer, TextAnswer)
        tokens, logits = one.generated(prompt, MOST)
        assert answer.text.split() == [str(token) for token in tokens if token != EOS]
        expected = logits.log_softmax(dim=-1)[range(len(tokens)), tokens]
        assert answer.logprobs == pytest.approx(expected.tolist(), abs=2e-3)
        generated.update(tokens)
    assert len(generated) > len(LENGTHS) and max(generated) < WORDS


@pytest.mark.parametrize("output", [LETTERS, TEXT])
@pytest.mark.parametrize("name", ["llava", "qwen2_vl", "gemma3_narrow", "paligemma", "qwen3_5"])
def test_bits_do_not_depend_on_the_company(name: str, output: str) -> None:
    one = fresh(name) if name == "llava" else family(name)
    if name == "llava":
        one.model.to(torch.bfloat16)
    prompts = packs(one, **({"max_tokens": 3} if output == TEXT else {}))
    if output == TEXT:
        prompts = [[prompt] for pack in prompts for prompt in pack]
    whole = one.asked(output, prompts)
    assert len(whole) == 2 * len(LENGTHS)
    for part in (prompts[::-1], prompts[:1], prompts[1::2]):
        answers = one.asked(output, part)
        assert answers and answers.items() <= whole.items()


def test_a_model_with_an_encoder_of_text_is_refused() -> None:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=20, d_model=8, d_ff=8, d_kv=4, num_layers=1, num_heads=2)
    with refused("T5ForConditionalGeneration writes with a decoder of its own"):
        Forward(T5ForConditionalGeneration(config), "cpu", 20, 0)


ROOT = Path(__file__).parents[3]
SEE_NOTHING = {"llama_3_70b", "clip_l14_336", "roberta_large", "all_minilm_l6_v2"}


def test_the_table_is_that_of_the_tests() -> None:
    page = (ROOT / PAGE).read_text("utf-8")
    assert written(page) == page, "stale: run `python -m tools.model_table`"


def test_every_model_that_sees_has_one_family() -> None:
    rows = [pattern for kind in FAMILIES.values() for pattern in kind.entries.split()] + list(ON_T5.values())
    models = load(ROOT / "models.lock")["models"]
    asked = {name for name, entry in models.items() if entry["source"]["kind"] == "hub"} - SEE_NOTHING
    for name in asked:
        assert sum(fnmatchcase(name, pattern) for pattern in rows) == 1, name
    assert all(any(fnmatchcase(name, pattern) for name in asked) for pattern in rows)

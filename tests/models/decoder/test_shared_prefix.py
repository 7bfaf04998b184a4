"""Answers of the engine for decoders against the plain forward pass, and what may not change their bits."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import pytest
import torch

from tests.models.engines import (
    OPTIONS,
    Plain,
    alone,
    answered,
    ids_of,
    image,
    letters_of,
    packs_of,
    plain_logits,
    question,
    refusal,
    shared,
    written,
)
from tests.models.tiny import save_llava, save_llava_next
from vouch.models.decoder import answering
from vouch.models.engine import Answered, Decoding, LikelihoodAnswer, Pack, Question, Refusal

# Every remainder of length and bucket, so that some prompts would fill their row to the last place.
LENGTHS = range(1, 22)
OUTPUTS = ("letters", "likelihood", "text")


def check(folder: Path, asked: Question, found: Answered) -> None:
    """A question without image placeholders."""
    logits = plain_logits(folder, written(asked), asked.images)[-1]
    log_probs, answer = logits.log_softmax(-1), letters_of(found)
    assert torch.tensor(answer.logits) == pytest.approx(logits[ids_of(folder, asked.labels)], abs=1e-5)
    assert answer.entropy == pytest.approx(float(-(log_probs.exp() * log_probs).sum()), abs=1e-4)
    assert answer.nll == pytest.approx(-float(log_probs.max()), abs=1e-5)
    mass = float(log_probs[ids_of(folder, asked.labels)].exp().sum())
    assert answer.letter_mass == pytest.approx(mass, abs=1e-5)
    assert ("low_mass" in found.flags) == (mass < 0.5)


def test_letters_equal_the_whole_forward(tiny: Path) -> None:
    questions = [
        question(index, words, [index // 4], system="be brief" if index % 2 else None)
        for index, words in enumerate(LENGTHS)
    ]
    engine = shared(tiny)
    answers = answered(engine, "letters", [questions[start : start + 4] for start in range(0, 21, 4)])
    assert answers.keys() == {one.id for one in questions}
    for asked in questions[::2]:
        check(tiny, asked, answers[asked.id])
    assert engine.notes["passes"]["prefix"] < engine.notes["passes"]["trie"] * 4  # shared by a pack


def test_the_labels_that_are_shown_are_read(tiny: Path, tmp_path: Path) -> None:
    """Capital letters, small ones and digits, in one model; two to twenty-six of them."""
    folder = save_llava(tmp_path / "labels", letters="BCDbcd123")
    asked = [
        replace(question(n, 4, [0]), labels=tuple(labels)) for n, labels in enumerate(("BCD", "bcd", "123"))
    ]
    answers = answered(shared(folder), "letters", [asked])
    for one in asked:
        check(folder, one, answers[one.id])
    assert len({tuple(letters_of(answers[one.id]).logits) for one in asked}) == 3
    asked = [question(n, 8, labels=ascii_uppercase[:n]) for n in (2, 3, 6, 26)]
    for one, found in zip(asked, alone(shared(tiny), "letters", asked).values(), strict=True):
        check(tiny, one, found)


@pytest.mark.parametrize("images", [[], [1], [1, 2]])
def test_turns_and_a_given_beginning(tiny: Path, images: list[int]) -> None:
    turns = (("what is here", "a dog"), ("is the cat red", "blue"))
    asked = question(1, 6, images, turns=turns, response="the house is", system="be brief")
    check(tiny, asked, alone(shared(tiny), "letters", [asked])["q1"])


def test_images_stand_at_their_marks(tiny: Path) -> None:
    images = (image(3), image(4))
    marked = Question("m", None, "<image 2> what is <image 1> here", labels="AB", images=images)
    found = letters_of(alone(shared(tiny), "letters", [marked])["m"])
    text = "USER: <image> what is  <image> here\nASSISTANT:"
    logits = plain_logits(tiny, text, [images[1], images[0]])[-1]
    assert torch.tensor(found.logits) == pytest.approx(logits[ids_of(tiny, "AB")], abs=1e-5)


@pytest.mark.parametrize("images", [[], [1]])
def test_likelihood_equals_the_whole_forward(tiny: Path, images: list[int]) -> None:
    asked = [question(index, 3 + index, images, labels=(), options=OPTIONS) for index in range(3)]
    answers = answered(shared(tiny), "likelihood", [asked])
    for one in asked:
        answer = answers[one.id].answer
        assert isinstance(answer, LikelihoodAnswer)
        for option, nll, tokens in zip(OPTIONS, answer.nll, answer.tokens, strict=True):
            expected = Plain(tiny).nll(one.text, next(iter(one.images), None), option)
            assert nll == pytest.approx(expected, abs=1e-4) and tokens == len(option.split())


def test_letters_and_likelihood_share_a_pass(tiny: Path) -> None:
    """Whole prompts, whose rows have one shape whatever is wanted of them."""
    letters = [question(n, 4, []) for n in range(3)]
    scored = [replace(one, id=f"of {one.id}", labels=(), options=("red", "blue")) for one in letters]
    engine = shared(tiny)
    packs = [Pack("letters", letters[:1]), Pack("likelihood", scored), Pack("letters", letters[1:])]
    answers = {one.question: one for one in engine.answer(packs)}
    assert engine.notes["passes"]["plain"] == 3  # of 3 + 2 * 3 rows
    apart = answered(shared(tiny), "letters", [letters]) | answered(shared(tiny), "likelihood", [scored])
    assert answers == apart


@pytest.mark.parametrize("output", ["letters", "likelihood"])
def test_settings_of_the_pass_move_bits_only(tiny: Path, output: str) -> None:
    def numbers(engine: Any) -> list[float]:
        answers = answered(engine, output, packs_of(output))
        values = (one.answer for _, one in sorted(answers.items()))
        return [number for one in values for number in getattr(one, "logits", None) or one.nll]

    expected = numbers(shared(tiny))
    for settings in ({"batch": 1}, {"batch": 16}, {"bucket": 32}, {"bucket": "geometric"}):
        assert numbers(shared(tiny, **settings)) == pytest.approx(expected, abs=1e-4)


def test_images_of_many_shapes_are_asked_one_by_one(tmp_path: Path) -> None:
    folder = save_llava_next(tmp_path / "next")
    engine = shared(folder)
    questions = [question(index, 5 + index) for index in range(0, 60, 12)]
    found = alone(engine, "letters", questions)
    assert engine.notes["rows"] == 1 and engine.notes["filling_rows"] == 0
    for asked in questions:
        check(folder, asked, found[asked.id])


def test_half_precision_weights_give_float32_logits(tiny: Path) -> None:
    questions = [question(index, 6) for index in range(4)]
    exact, half = (alone(shared(tiny, dtype), "letters", questions) for dtype in ("float32", "bfloat16"))
    logits, expected = (
        torch.tensor([letters_of(found[asked.id]).logits for asked in questions]) for found in (half, exact)
    )
    assert not torch.equal(logits, logits.bfloat16().float())  # not on bfloat16's coarse grid
    assert logits == pytest.approx(expected, abs=0.3)


def edited(folder: Path, tokens: Sequence[int] | slice, value: float) -> None:
    """Overwrites rows of the embeddings, which are also the last projection's."""
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    weights[next(name for name in weights if name.endswith("embed_tokens.weight"))][tokens] = value
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_row_of_numbers_that_are_not_finite(tmp_path: Path, output: str) -> None:
    folder = save_llava(tmp_path / "broken")
    edited(folder, ids_of(folder, ["<unk>"]), float("nan"))
    given: dict[str, Any] = {
        "letters": {},
        "likelihood": {"labels": (), "options": ("a", "red one")},
        "text": {"labels": (), "max_tokens": 4, "decodings": (Decoding(), Decoding(1.0, 1, 3))},
    }[output]
    # The last projection is tied, so its row of <unk> is put right again; what remains is the embedding.
    engine = shared(folder, own=True)
    head = engine._forward.model.get_output_embeddings()
    head.weight = torch.nn.Parameter(head.weight.detach().clone().nan_to_num())
    asked = [question(index, 5, [1], text=text, **given) for index, text in enumerate(("a", "x", "the"))]
    found = alone(engine, output, asked)
    problems = {one.question: refusal(one) for one in found.values() if isinstance(one.answer, Refusal)}
    assert set(problems) == {"q1"} and "not finite" in problems["q1"]
    assert {one.question for one in found.values()} == {"q0", "q1", "q2"}


def test_only_the_shape_that_does_not_fit_is_halved(tiny: Path) -> None:
    engine = shared(tiny, own=True, batch=4)
    plain = [question(n, 3, [], id=f"bare {n}") for n in range(4)]  # hold no image, so one shape of their own
    engine._forward.model.register_forward_pre_hook(refuse_images_of_many, with_kwargs=True)
    found = alone(engine, "letters", [*(question(n, 3) for n in range(4)), *plain])
    assert {name: one.rows for name, one in found.items()} == {
        **{f"q{n}": 4 for n in range(4)},
        **{f"bare {n}": 4 for n in range(4)},
    }
    assert engine.notes["halved"] == 1  # of the pass over prefixes alone


def refuse_images_of_many(_module: Any, _inputs: Any, given: dict[str, Any]) -> None:
    if given.get("pixel_values") is not None and len(given["pixel_values"]) > 2:
        raise torch.OutOfMemoryError("simulated")


def test_prefixes_wait_until_their_pass_is_full(tiny: Path) -> None:
    """Though each pass of questions, of one length or another, needs some of them before."""
    engine = shared(tiny, bucket="geometric")
    answered(engine, "letters", [[question(n, 3 + 10 * (n % 4))] for n in range(16)])
    assert engine.notes["passes"] == {"prefix": 4, "trie": 4, "batch": 0, "plain": 0}
    assert engine.notes["filling_rows"] == 0 and engine.notes["computed_rows"] == 32


def test_what_waiting_rows_need_is_kept(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of a rare length waits to the end; the prefixes of all others are dropped before its own."""
    engine = shared(tiny, bucket="geometric")
    rare, *others = [question(0, 18), *(question(n, 3) for n in range(1, 12))]
    length = engine._preparer.prepare(rare).prefix
    monkeypatch.setattr(answering, "TOKENS_HELD", 6 * length)
    answered(engine, "letters", [[rare], *([one] for one in others)])
    assert engine.notes["passes"]["prefix"] == 3, "12 images in fours, none again"


def test_prefixes_share_a_pass_as_far_as_tokens_allow(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, passes = [question(n, 3) for n in range(4)], []
    for tokens in (answering.PREFIX_TOKENS, 1):
        monkeypatch.setattr(answering, "PREFIX_TOKENS", tokens)
        engine = shared(tiny)
        alone(engine, "letters", asked)
        passes.append(engine.notes["passes"]["prefix"])
    assert passes == [1, 4]


@pytest.mark.parametrize("output", OUTPUTS)
def test_logits_are_made_for_wanted_places_only(tiny: Path, output: str) -> None:
    engine, shapes = shared(tiny, own=True), list[torch.Size]()
    head = engine._forward.model.get_output_embeddings()
    head.register_forward_hook(lambda _module, _inputs, result: shapes.append(result.shape))
    answered(engine, output, packs_of(output))
    wanted = {"letters": 4, "likelihood": 64, "text": 1}[output]  # a power of two from the places of a pack
    assert shapes and max(shape[1] for shape in shapes) <= wanted


def test_a_prefix_is_read_once_for_its_pack_and_kept_for_the_next(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = shared(tiny, batch=2)
    for output in ("letters", "likelihood"):
        given: dict[str, Any] = {} if output == "letters" else {"labels": (), "options": OPTIONS}
        answered(engine, output, [[question(n, 4 + n, [1], **given) for n in range(6)]])
    assert engine.notes["passes"] == {"prefix": 1, "trie": 2, "batch": 0, "plain": 0}
    (state,) = engine._states.values()
    monkeypatch.setattr(answering, "TOKENS_HELD", 4 * state.length)
    for number in range(2, 7):  # more than are kept
        alone(engine, "letters", [question(number, 4)])
    alone(engine, "letters", [question(1, 4)])
    assert engine.notes["passes"]["prefix"] == 1 + 5 + 1
    assert len(engine._states) <= 4

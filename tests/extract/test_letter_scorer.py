"""Batched letter logits against the plain forward pass, and what may not change their bits."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import pytest
import torch
from PIL import Image

from stages.extract.engine import LetterAnswer, Question
from stages.runtime.errors import UserError
from tests.extract.tiny import CHAT, save_llava, save_llava_next, sentence

Load = Callable[..., Any]


def question(index: int, words: int, pictures: int = 1, marks: str = "ABCD", **changes: Any) -> Question:
    rng = random.Random(index)
    shown = [
        Image.frombytes("RGB", (30 + index, 20), rng.randbytes(3 * (30 + index) * 20))
        for _ in range(pictures)
    ]
    return Question(
        **{
            "id": f"q{index}",
            "system": None,
            "text": sentence(rng, words),
            "marks": marks,
            "pictures": shown,
            **changes,
        }
    )


def answers(scorer: Any, questions: Sequence[Question]) -> dict[str, LetterAnswer]:
    return dict(scorer.letters(questions))


def whole_forward(folder: Path, asked: Question) -> tuple[torch.Tensor, torch.Tensor]:
    """(letter logits, log-probabilities) as the simplest code gives them: one prompt, all logits."""
    from transformers import AutoModelForImageTextToText, AutoProcessor

    model = AutoModelForImageTextToText.from_pretrained(folder).eval()
    processor = AutoProcessor.from_pretrained(folder)
    content = [{"type": "image"} for _ in asked.pictures] + [{"type": "text", "text": asked.text}]
    said = [{"role": "system", "content": [{"type": "text", "text": asked.system}]}] if asked.system else []
    text = processor.apply_chat_template(
        [*said, {"role": "user", "content": content}], add_generation_prompt=True
    )
    inputs = processor(text=text, images=list(asked.pictures) or None, return_tensors="pt")
    with torch.no_grad():
        logits = model(**inputs).logits[0, -1]
    ids = processor.tokenizer.convert_tokens_to_ids(list(asked.marks))
    return logits[ids], logits[: len(processor.tokenizer)].log_softmax(-1)


# Every remainder of length and bucket, so that some prompts would fill their row to the last place.
LENGTHS = range(1, 22)


def test_batched_letters_equal_the_whole_forward(tiny: Path, scorer: Load) -> None:
    questions = [
        question(index, words, system="be brief" if index % 2 else None)
        for index, words in enumerate(LENGTHS)
    ]
    found = answers(scorer(tiny), questions)
    assert len(found) == len(questions)
    for asked in questions[::3]:
        logits, log_probs = whole_forward(tiny, asked)
        answer = found[asked.id]
        assert torch.tensor(answer.logits) == pytest.approx(logits, abs=1e-5)
        assert answer.entropy == pytest.approx(float(-(log_probs.exp() * log_probs).sum()), abs=1e-4)
        mass = log_probs[token_ids(tiny, asked.marks)].exp().sum()
        assert answer.letter_mass == pytest.approx(float(mass), abs=1e-5)


def token_ids(folder: Path, words: Sequence[str]) -> list[int]:
    from transformers import AutoTokenizer

    ids: list[int] = AutoTokenizer.from_pretrained(folder).convert_tokens_to_ids(list(words))
    return ids


def test_bits_do_not_depend_on_the_other_prompts(tiny: Path, scorer: Load) -> None:
    questions = [question(index, words, pictures=1 + index % 2) for index, words in enumerate(LENGTHS)]
    whole = answers(scorer(tiny), questions)
    shuffled = random.Random(1).sample(questions, len(questions))
    assert answers(scorer(tiny), shuffled) == whole
    alone = [[asked] for asked in questions]
    loaded = scorer(tiny)
    for part in (*alone, questions[3:17], questions[::4]):
        assert answers(loaded, part).items() <= whole.items()


def test_settings_of_the_pass_move_bits_only(tiny: Path, scorer: Load) -> None:
    questions = [question(index, words) for index, words in enumerate(LENGTHS)]
    small, large = (answers(scorer(tiny, batch=batch), questions) for batch in (1, 16))
    assert all(small[name].logits == pytest.approx(large[name].logits, abs=1e-5) for name in small)


@pytest.mark.parametrize("options", [2, 3, 6, 26])
def test_two_to_twenty_six_options(tiny: Path, scorer: Load, options: int) -> None:
    asked = question(1, 8, marks=ascii_uppercase[:options])
    answer = answers(scorer(tiny), [asked])["q1"]
    assert torch.tensor(answer.logits) == pytest.approx(whole_forward(tiny, asked)[0], abs=1e-5)
    assert len(answer.logits) == options


def test_pictures_reach_the_model_in_the_order_of_their_marks(tiny: Path, scorer: Load) -> None:
    first, second = question(3, 5, pictures=2).pictures
    plain = Question("plain", None, "what is here", "AB", (first, second))
    marked = Question("marked", None, "<image 2> what is <image 1> here", "AB", (first, second))
    found = answers(
        scorer(tiny), [plain, marked, Question("turned", None, "what is here", "AB", (second, first))]
    )
    assert found["plain"].logits != found["turned"].logits
    assert found["marked"].logits not in (found["plain"].logits, found["turned"].logits)


def test_pictures_of_many_shapes_are_asked_one_by_one(tmp_path: Path, scorer: Load) -> None:
    folder = save_llava_next(tmp_path / "next")
    loaded = scorer(folder)
    questions = [question(index, 5 + index) for index in range(0, 60, 12)]
    found = answers(loaded, questions)
    assert loaded.notes["rows"] == 1 and loaded.notes["filling_rows"] == 0
    for asked in questions:
        assert torch.tensor(found[asked.id].logits) == pytest.approx(
            whole_forward(folder, asked)[0], abs=1e-5
        )


def test_half_precision_weights_give_float32_logits(tiny: Path, scorer: Load) -> None:
    questions = [question(index, 6) for index in range(4)]
    exact, half = (answers(scorer(tiny, dtype=dtype), questions) for dtype in ("float32", "bfloat16"))
    logits = torch.tensor([half[asked.id].logits for asked in questions])
    assert not torch.equal(logits, logits.bfloat16().float())  # not on bfloat16's coarse grid
    assert logits == pytest.approx(torch.tensor([exact[asked.id].logits for asked in questions]), abs=0.3)


def test_weak_letters_and_control_tokens_are_flagged(tiny: Path, scorer: Load) -> None:
    plain, special = question(1, 5), question(2, 5, text="what is </s> here")
    found = answers(scorer(tiny), [plain, special])
    assert list(found["q1"].flags) == ["low_mass"] and found["q1"].letter_mass < 0.5
    assert "control_tokens" in found["q2"].flags


def test_padding_rows_of_the_vocabulary_do_not_count(tmp_path: Path, scorer: Load) -> None:
    from safetensors.torch import load_file, save_file

    folder = save_llava(tmp_path / "padded")
    before = answers(scorer(folder), [question(1, 5)])["q1"]
    file = folder / "model.safetensors"
    weights = load_file(file)
    name = next(name for name in weights if name.endswith("embed_tokens.weight"))
    weights[name][-3:] = 50.0
    save_file(weights, file, metadata={"format": "pt"})
    after = answers(scorer(folder), [question(1, 5)])["q1"]
    assert after.letter_mass == pytest.approx(before.letter_mass) and after.entropy == pytest.approx(
        before.entropy
    )


def test_prompt_longer_than_the_context(tmp_path: Path, scorer: Load) -> None:
    folder = save_llava(tmp_path / "short", context=40)
    with pytest.raises(UserError, match=r"prompt q2: its .* tokens and an answer exceed the 40"):
        answers(scorer(folder), [question(1, 10), question(2, 80)])
    longest = max(
        (question(1, words) for words in range(20, 40)), key=lambda asked: _fits(scorer, folder, asked)
    )
    assert torch.tensor(answers(scorer(folder), [longest])["q1"].logits) == pytest.approx(
        whole_forward(folder, longest)[0], abs=1e-5
    )


def _fits(load: Load, folder: Path, asked: Question) -> int:
    try:
        return int(load(folder)._preparer.prepare(asked).tokens)
    except UserError:
        return 0


def test_logits_that_are_not_finite_name_the_prompt(tmp_path: Path, scorer: Load) -> None:
    from safetensors.torch import load_file, save_file

    folder = save_llava(tmp_path / "broken")
    file = folder / "model.safetensors"
    weights = load_file(file)
    name = next(name for name in weights if name.endswith("embed_tokens.weight"))
    (three,) = token_ids(folder, ["three"])
    weights[name][three] = float("nan")
    save_file(weights, file, metadata={"format": "pt"})
    asked = [
        question(1, 5, text="what is a cat"),
        question(2, 5, text="what is three"),
        question(3, 5, text="what is a dog"),
    ]
    got = []
    with pytest.raises(UserError, match="not finite"):
        got.extend(scorer(folder).letters(asked))
    assert not got or {id for id, _ in got} == {"q1", "q3"}


def test_tokenizer_without_letter_tokens(tmp_path: Path, scorer: Load) -> None:
    folder = save_llava(tmp_path / "mute", letters="AB")
    assert answers(scorer(folder), [question(1, 5, marks="AB")])
    with pytest.raises(UserError, match=r"prompt q2: .*no distinct single token for each of A, B, C, D"):
        answers(scorer(folder), [question(2, 5)])


def test_template_that_drops_or_refuses_a_part(tmp_path: Path, scorer: Load) -> None:
    silent = CHAT.replace(
        "{% for message in messages %}", "{% for message in messages if message['role'] != 'system' %}"
    )
    with pytest.raises(UserError, match=r"prompt q1: .*drops the system message"):
        answers(scorer(save_llava(tmp_path / "silent", chat=silent)), [question(1, 5, system="be brief")])
    strict = (
        "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + CHAT
    )
    with pytest.raises(UserError, match=r"prompt q1: .*no system role"):
        answers(scorer(save_llava(tmp_path / "strict", chat=strict)), [question(1, 5, system="be brief")])


def test_marks_that_name_no_picture(tiny: Path, scorer: Load) -> None:
    with pytest.raises(UserError, match=r"prompt q1: .*marks of pictures \[2\], but 1 pictures"):
        answers(scorer(tiny), [question(1, 5, text="what is <image 2> here")])


def test_a_second_begin_token_is_not_added(tmp_path: Path, scorer: Load) -> None:
    asked = question(1, 5)
    with_begin = scorer(save_llava(tmp_path / "begin", chat="<s>" + CHAT))._preparer.prepare(asked)
    without = scorer(save_llava(tmp_path / "none"))._preparer.prepare(asked)
    assert with_begin.tokens == without.tokens + 1


def test_date_of_a_template_is_pinned(tmp_path: Path, scorer: Load) -> None:
    dated = (
        "{% if not date_string is defined %}{% set date_string = strftime_now('%d %b %Y') %}{% endif %}"
        "{{ date_string }}\n"
    )
    preparer = scorer(save_llava(tmp_path / "dated", chat=dated + CHAT))._preparer
    assert preparer._render([{"role": "user", "content": []}]).startswith("01 Jan 2025\n")

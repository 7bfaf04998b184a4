"""The tokenizer of the demo models: letters, phrases, unknown words."""

import random

import pytest

from vouch.demo.families import FAMILIES, PATCHES
from vouch.demo.scenes.phrasings import HELD_OUT, TRAINED
from vouch.demo.scenes.questions import (
    CHOICE_TASKS,
    OPEN_TASKS,
    PAIR_TASKS,
    make_dialogue,
    make_pair_question,
    make_question,
    wording,
)
from vouch.demo.scenes.scene import draw_pair, draw_scene
from vouch.demo.writing import BY_LETTER, BY_LETTER_SHORT, BY_WORD, EXTRAS, LETTERS, build_tokenizer

MESSAGES = [
    {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What colour is the star?"}]}
]


@pytest.fixture(scope="module")
def tokenizer():
    return build_tokenizer()


def test_chat_template(tokenizer) -> None:
    prompt = tokenizer.apply_chat_template(MESSAGES, tokenize=False, add_generation_prompt=True)
    assert prompt == "USER: <image>\nWhat colour is the star?\nASSISTANT:"
    answered = [*MESSAGES, {"role": "assistant", "content": "red"}]
    text = tokenizer.apply_chat_template(answered, tokenize=False)
    assert text == "USER: <image>\nWhat colour is the star?\nASSISTANT: red</s>"


def test_the_image_comes_first_wherever_it_stands(tokenizer) -> None:
    turned = [{"role": "user", "content": MESSAGES[0]["content"][::-1]}]
    same = [tokenizer.apply_chat_template(m, tokenize=False) for m in (MESSAGES, turned)]
    assert same[0] == same[1]


@pytest.mark.parametrize("space", ["", " "])
def test_each_letter_is_one_token_after_the_generation_prompt(tokenizer, space: str) -> None:
    prompt = tokenizer.apply_chat_template(MESSAGES, tokenize=False, add_generation_prompt=True)
    before = tokenizer.encode(prompt)
    tokens = set()
    for letter in LETTERS:
        after = tokenizer.encode(prompt + space + letter)
        assert after[:-1] == before
        tokens.add(after[-1])
    assert len(tokens) == 26 and tokenizer.unk_token_id not in tokens
    assert tokenizer.convert_tokens_to_ids(list(LETTERS)) == sorted(tokens)


def test_letters_are_the_same_token_in_every_option_form(tokenizer) -> None:
    for text in ("B. red", "(B) red", "B) red", "B red"):
        assert tokenizer.convert_ids_to_tokens(tokenizer.encode(text)) == ["B", "red"]


@pytest.mark.parametrize("phrase", [*EXTRAS, BY_LETTER, BY_LETTER_SHORT, BY_WORD, "top left"])
def test_frequent_phrases_are_one_token(tokenizer, phrase: str) -> None:
    (token,) = tokenizer.encode(phrase)
    assert token != tokenizer.unk_token_id


def test_every_question_can_be_read(tokenizer) -> None:
    rng = random.Random(0)
    for _ in range(200):
        scene, pair = draw_scene(rng, "train"), draw_pair(rng, "train")
        questions = [make_question(rng, scene, task) for task in {*CHOICE_TASKS, *OPEN_TASKS}]
        questions += [make_pair_question(rng, pair, task) for task in PAIR_TASKS]
        for question in (*questions, *(make_dialogue(rng, scene) or ())):
            for table in (TRAINED, HELD_OUT):
                texts = [wording(rng, question, table), question.answer, *question.wrong] if question else []
                assert all(tokenizer.unk_token_id not in tokenizer.encode(text) for text in texts)


def test_any_text_becomes_tokens(tokenizer) -> None:
    unknown = tokenizer.convert_ids_to_tokens(tokenizer.encode("Où est le “chat-botté” № 5? 猫 🐈 the star"))
    assert unknown[-2:] == ["the", "star"] and set(unknown[:-2]) == {"<unk>", "?"}
    assert tokenizer.encode("") == tokenizer.encode(" . ") == []


def test_an_image_is_sixteen_tokens_and_never_cropped() -> None:
    import numpy as np
    from PIL import Image

    processor = FAMILIES["llava"].build_processor()
    prompt = processor.apply_chat_template(MESSAGES, add_generation_prompt=True)
    wide = Image.new("RGB", (300, 50), "white")
    wide.paste((255, 0, 0), (0, 0, 30, 50))
    inputs = processor(images=[wide], text=[prompt], return_tensors="np")
    image = processor.tokenizer.convert_tokens_to_ids("<image>")
    assert (inputs["input_ids"] == image).sum() == PATCHES == 16
    pixels = inputs["pixel_values"][0]
    assert pixels.shape == (3, 64, 64)
    assert np.allclose(pixels[:, 32, 2], [1, -1, -1]) and np.allclose(pixels[:, 32, 60], 1)

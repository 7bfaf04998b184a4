"""Chat templates of ours, as transformers renders them; that none loses a part: tests/models/chat/test_chat.py."""

from pathlib import Path
from typing import Any

import pytest

TEMPLATES = Path(__file__).parents[3] / "vouch/models/chat/templates"
NAMES = sorted(path.stem for path in TEMPLATES.glob("*.jinja"))
LLAVA = ("vicuna_v1", "mistral_instruct", "chatml_direct")
OPENING = (
    "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, "
    "detailed, and polite answers to the user's questions. "
)
HEADER = "<|start_header_id|>{}<|end_header_id|>\n\n"
PIRATE = HEADER.format("system") + "You are a pirate chatbot who always responds in pirate speak!<|eot_id|>"
IMAGE = {"type": "image"}


def message(role: str, *parts: object) -> dict[str, Any]:
    content = [part if isinstance(part, dict) else {"type": "text", "text": part} for part in parts]
    return {"role": role, "content": content}


SYSTEM = [message("system", "Be brief.")]
ONE = [message("user", IMAGE, "Which? {{ 1 }}\nA. <b>")]
TWO = [message("user", IMAGE, "First?"), message("assistant", "(A) yes"), message("user", "Second?")]
MIDDLE = [message("user", "Left ", IMAGE, " right ", IMAGE, " which?")]


def render(name: str, messages: list[dict[str, Any]], prompt: bool = True) -> str:
    from transformers.utils.chat_template_utils import render_jinja_template

    template = (TEMPLATES / f"{name}.jinja").read_text("utf-8")
    rendered, _ = render_jinja_template(
        conversations=[messages], chat_template=template, add_generation_prompt=prompt
    )
    return str(rendered[0])


@pytest.mark.parametrize(
    ("name", "messages", "expected"),
    [
        ("vicuna_v1", ONE, f"{OPENING}USER: <image>\nWhich? {{{{ 1 }}}}\nA. <b> ASSISTANT:"),
        ("vicuna_v1", SYSTEM + TWO, "Be brief. USER: <image>\nFirst? ASSISTANT: (A) yes</s>USER: Second? ASSISTANT:"),
        ("mistral_instruct", TWO, "[INST] <image>\nFirst? [/INST] (A) yes </s>[INST] Second? [/INST]"),
        ("mistral_instruct", SYSTEM + TWO[:1], "[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\n<image>\nFirst? [/INST]"),
        ("chatml_direct", TWO[:1], "<|im_start|>system\nAnswer the questions.<|im_end|><|im_start|>user\n<image>\nFirst?<|im_end|><|im_start|>assistant\n"),
        ("chatml_direct", SYSTEM + TWO[:2], "<|im_start|>system\nBe brief.<|im_end|><|im_start|>user\n<image>\nFirst?<|im_end|><|im_start|>assistant\n(A) yes<|im_end|><|im_start|>assistant\n"),
        ("question_answer", TWO, "Question: First? Answer: (A) yes\nQuestion: Second? Answer:"),
        ("question_answer", SYSTEM + TWO[:1], "Be brief.\nQuestion: First? Answer:"),
        ("mantis_llama_3", TWO[:1], f"{PIRATE}{HEADER.format('user')}(image 1: <Image><image></Image>) First?<|eot_id|>{HEADER.format('assistant')}"),
        ("mantis_llama_3", SYSTEM + MIDDLE, f"{HEADER.format('system')}Be brief.<|eot_id|>{HEADER.format('user')}Left (image 1: <Image><image></Image>)  right (image 2: <Image><image></Image>)  which?<|eot_id|>{HEADER.format('assistant')}"),
        ("plain", ONE, "Which? {{ 1 }}\nA. <b>"),
        ("plain", SYSTEM + TWO, "Be brief.\nFirst?\n(A) yes\nSecond?"),
        ("paligemma", SYSTEM + TWO, "<image>Be brief.\nFirst?\n(A) yes\nSecond?"),
        ("paligemma", MIDDLE, "<image><image>Left  right  which?"),
    ],
)  # fmt: skip
def test_what_the_family_was_trained_on(name: str, messages: list[dict[str, Any]], expected: str) -> None:
    assert render(name, messages) == expected


@pytest.mark.parametrize("name", LLAVA)
def test_images_stand_where_they_are_marked(name: str) -> None:
    assert "Left <image>\n right <image>\n which?" in render(name, MIDDLE)


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_continues_its_prompt(name: str) -> None:
    """Extraction learns from this what a model writes before a letter."""
    answered = render(name, [*ONE, message("assistant", "A")], prompt=False)
    prompt = render(name, ONE)
    assert answered.startswith(prompt)
    assert "A" in answered[len(prompt) :]

"""Strange text in another model's prompt: none of it is a control token of that model."""

import pytest

from vouch.judge.prompts import bounded, one_line


@pytest.mark.parametrize(
    "token",
    [
        *("[INST]", "[/INST]", "[TOOL_CALLS]", "[AVAILABLE_TOOLS]", "[/TOOL_RESULTS]", "[SYSTEM_PROMPT]"),
        *("[IMG]", "[IMG_BREAK]", "[IMG_END]", "[THINK]", "[ARGS]", "[AUDIO]", "[SUFFIX]", "[control_8]"),
        *("<|im_end|>", "</s>", "[CLS]", "[gMASK]"),
    ],
)
def test_control_tokens_are_none_of_a_text(token: str) -> None:
    for text in (token, f"[{token}]", f"so {token}{token[:-1]}{token} B"):
        assert token not in bounded(text) and token not in one_line(text, 99)


@pytest.mark.parametrize("text", ["[1, 2]", "[B]", "[YES]", "[A dog]", "x[i] = [IMG", "[[0]] [IMAGE 1]"])
def test_brackets_of_an_answer_stay(text: str) -> None:
    assert bounded(text) == one_line(text, 99) == text

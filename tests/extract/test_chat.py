"""Prompts as messages."""

import pytest

from stages.extract.chat import dropped, messages


def kinds(content: list[dict[str, str]]) -> list[str]:
    return [part.get("text", part["type"]) for part in content]


def test_pictures_first_without_marks() -> None:
    (said,), order = messages(None, "Which?", 2)
    assert kinds(said["content"]) == ["image", "image", "Which?"] and order == [0, 1]


def test_pictures_at_their_marks() -> None:
    (said,), order = messages(None, "<image 2>\nIs it like <image 1>?", 2)
    assert kinds(said["content"]) == ["image", "\nIs it like ", "image", "?"] and order == [1, 0]


def test_text_is_kept_to_the_letter() -> None:
    (said,), _ = messages(None, "\nWhich?\nA. <b> \n", 0)
    assert kinds(said["content"]) == ["\nWhich?\nA. <b> \n"]


def test_system_message_comes_first() -> None:
    system, user = messages("Be brief.", "Which?", 0)[0]
    assert (system["role"], user["role"]) == ("system", "user") and kinds(system["content"]) == ["Be brief."]


@pytest.mark.parametrize("text", ["<image 1> <image 1>", "<image 2>", "<image 0>", "<image 1>"])
def test_marks_must_name_each_picture_once(text: str) -> None:
    with pytest.raises(ValueError, match="marks of pictures"):
        messages(None, text, 2)


def test_what_a_template_dropped() -> None:
    assert (
        dropped("Be brief.", " Which? <image 1> Now. ", "SYSTEM: Be brief. USER: Which? <image> Now.") is None
    )
    assert dropped("Be brief.", "Which?", "USER: Which?") == "system message"
    assert dropped(None, "Which? <image 1> Now.", "USER: Which?") == "text"

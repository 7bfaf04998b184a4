"""Questions as messages."""

from typing import Any

import pytest

from vouch.models.chat.chat import dropped, messages
from vouch.models.requests.engine import Question


def asked(text: str, pictures: int = 0, **changes: Any) -> Question:
    """A question with placeholders for pictures, which are only counted here."""
    shown: Any = range(pictures)
    return Question("q", changes.pop("system", None), text, pictures=shown, **changes)


def kinds(content: list[dict[str, str]]) -> list[str]:
    return [part.get("text", part["type"]) for part in content]


def test_pictures_first_without_marks() -> None:
    (said,), order = messages(asked("Which?", 2))
    assert kinds(said["content"]) == ["image", "image", "Which?"] and order == [0, 1]


def test_pictures_at_their_marks() -> None:
    (said,), order = messages(asked("<image 2>\nIs it like <image 1>?", 2))
    assert kinds(said["content"]) == ["image", "\nIs it like ", "image", "?"] and order == [1, 0]


def test_text_is_kept_to_the_letter() -> None:
    (said,), _ = messages(asked("\nWhich?\nA. <b> \n"))
    assert kinds(said["content"]) == ["\nWhich?\nA. <b> \n"]


def test_system_message_comes_first() -> None:
    system, user = messages(asked("Which?", system="Be brief."))[0]
    assert (system["role"], user["role"]) == ("system", "user") and kinds(system["content"]) == ["Be brief."]


def test_earlier_turns_alternate_and_take_the_pictures() -> None:
    said, order = messages(asked("Why?", 1, turns=[("Which?", "A."), ("Sure?", "Yes.")]))
    assert [one["role"] for one in said] == ["user", "assistant"] * 2 + ["user"] and order == [0]
    assert [kinds(one["content"]) for one in said] == [
        ["image", "Which?"],
        ["A."],
        ["Sure?"],
        ["Yes."],
        ["Why?"],
    ]
    said, order = messages(asked("Why? <image 1>", 2, turns=[("Is it <image 2>?", "A.")]))
    assert order == [1, 0] and kinds(said[0]["content"]) == ["Is it ", "image", "?"]


@pytest.mark.parametrize("text", ["<image 1> <image 1>", "<image 2>", "<image 0>", "<image 1>"])
def test_marks_must_name_each_picture_once(text: str) -> None:
    with pytest.raises(ValueError, match="marks of pictures"):
        messages(asked(text, 2))


def test_what_a_template_dropped() -> None:
    whole = asked("Which? <image 1> Now.", 1, system="Be brief.", turns=[("Here?", "Yes, here.")])
    text = "SYSTEM: Be brief. USER: Here? ASSISTANT: Yes, here. USER: Which? <image> Now."
    assert dropped(whole, text) is None
    for part, name in (
        ("Be brief.", "system message"),
        ("Here?", "earlier turns"),
        ("Yes, here.", "earlier answers"),
        ("Now.", "text"),
    ):
        assert dropped(whole, text.replace(part, "")) == name

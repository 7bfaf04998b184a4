"""Questions as messages."""

from typing import Any

import pytest

from vouch.models.chat.chat import dropped, messages
from vouch.models.engine import Question


def asked(text: str, images: int = 0, **changes: Any) -> Question:
    """A question with placeholders for images, which are only counted here."""
    shown: Any = range(images)
    return Question("q", changes.pop("system", None), text, images=shown, **changes)


def kinds(content: list[dict[str, str]]) -> list[str]:
    return [part.get("text", part["type"]) for part in content]


@pytest.mark.parametrize(
    ("text", "images", "content", "order"),
    [
        ("Which?", 2, ["image", "image", "Which?"], [0, 1]),
        ("<image 2>\nIs it like <image 1>?", 2, ["image", "\nIs it like ", "image", "?"], [1, 0]),
        ("\nWhich?\nA. <b> \n", 0, ["\nWhich?\nA. <b> \n"], []),  # kept to the letter
    ],
)
def test_images_at_their_marks_or_first(text: str, images: int, content: list[str], order: list[int]) -> None:
    (said,), found = messages(asked(text, images))
    assert kinds(said["content"]) == content and found == order


def test_system_message_comes_first() -> None:
    system, user = messages(asked("Which?", system="Be brief."))[0]
    assert (system["role"], user["role"]) == ("system", "user") and kinds(system["content"]) == ["Be brief."]


def test_earlier_turns_alternate_and_take_the_images() -> None:
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
def test_marks_must_name_each_image_once(text: str) -> None:
    with pytest.raises(ValueError, match="image placeholders"):
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

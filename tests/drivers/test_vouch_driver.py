"""What drivers have in common, without a model: drivers/vouch_driver.py and drivers/llava_family.py."""

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from tests.models.project import ROOT


@pytest.fixture
def drivers(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module llava_family, imported as a driver imports it."""
    names = ("vouch_driver", "llava_family")
    monkeypatch.syspath_prepend(ROOT / "drivers")
    yield importlib.import_module("llava_family")
    for name in names:
        sys.modules.pop(name, None)


class Letters:
    """A tokenizer with a token for each letter; the tokens 0 and 1 are special, and 1 reads <end>."""

    eos_token_id = 0

    def decode(self, tokens: Any, skip_special_tokens: bool = False) -> str:
        text = "".join(chr(int(token)) for token in tokens if token)
        return text.replace("\1", "" if skip_special_tokens else "<end>")


@pytest.mark.parametrize(
    ("stop", "end", "written", "text", "eos"),
    [
        ("", "", "A.\n### Human: no", "A.\n### Human: no", None),
        ("", "###", "A.\n### Human: no", "A.\n", 5),
        ("\n", "###", "A.\n### Human: no", "A.\n", 2),  # a question's own stop stays in the text
        ("", "###", "A.", "A.", None),
        ("", "###", "A.\0", "A.", 2),
        ("", "<end>", "A.\1", "A.", 2),  # a special token that is not the end of the sequence
    ],
)
def test_an_answer_ends_where_its_conversation_does(
    drivers: ModuleType, stop: str, end: str, written: str, text: str, eos: int | None
) -> None:
    writing = sys.modules["vouch_driver"]._Writing(Letters(), stop, end)
    tokens: list[int] = []
    for letter in written:
        tokens.append(ord(letter))
        writing.note(None, torch.zeros(1, 128))
        if writing.ended(torch.tensor([[65, 66, *tokens]]), None) or letter == "\0":
            break
    answer = writing.answer(tokens)
    assert (answer["text"], answer["eos"]) == (text, eos)
    assert len(answer["logprobs"]) == len(answer["entropies"]) == len(tokens)


class Talk:
    """A conversation in the form of LLaVA's."""

    sep, sep_style, roles = "###", SimpleNamespace(name="SINGLE"), ("Human", "Assistant")

    def __init__(self) -> None:
        self.system, self.messages = "Be kind.", []  # type: str, list[tuple[str, str | None]]

    def copy(self) -> "Talk":
        return Talk()

    def append_message(self, role: str, text: str | None) -> None:
        self.messages.append((role, text))

    def get_prompt(self) -> str:
        said = [f"{role}: {text}###" if text else f"{role}:" for role, text in self.messages]
        return f"{self.system}###{''.join(said)}"


def test_images_come_first_and_their_places_are_left_out(drivers: ModuleType) -> None:
    helper = sys.modules["vouch_driver"]
    model = drivers.LlavaFamily(helper.Start("folder", {}, None, "float32", "cpu", 1))
    model.speak(Talk(), None, "<image>")
    asked: dict[str, Any] = {"id": 1, "output": "letters", "system": None, "response": None, "turns": ()}
    question = helper.Question(**asked, text="Is <image 1> as <image 2>?", images=("a.png", "b.png"))
    assert model.prompt(question) == "Be kind.###Human: <image>\n<image>\nIs  as ?###Assistant:"
    asked |= {"system": "Be brief.", "response": "It is", "turns": [("One?", "Yes")]}
    question = helper.Question(**asked, text="And?", images=("a.png",))
    shown = "Human: <image>\nOne?###Assistant: Yes###Human: And?###Assistant: It is"
    assert model.prompt(question) == f"Be brief.###{shown}"
    assert model.end == "###"


def test_a_question_with_the_mark_of_an_image_is_refused(drivers: ModuleType) -> None:
    helper = sys.modules["vouch_driver"]
    assert helper.without_places("An <image 12> of an <img>", "<image>") == "An  of an <img>"
    with pytest.raises(helper.Refused, match="the question has <image>, by which"):
        helper.without_places("What does <image> do in HTML?", "<image>")

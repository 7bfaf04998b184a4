"""Questions as messages, and every prompt of the papers through the chat template of every family (templates.py)."""

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.models.chat.templates import FAMILIES, IMAGE, OURS, TOKENS
from tests.prompts.rows import item_rows, template_of
from vouch.models.chat.chat import ChatTemplate, dropped, messages
from vouch.models.engine import Question
from vouch.pipeline.yaml12 import load
from vouch.prompts.combination import load_variation
from vouch.prompts.draft import Item
from vouch.prompts.template import TEMPLATES


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
        ("What is in <image 1>?", 0, ["What is in <image 1>?"], []),  # to be rewritten, say
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


ROOT = Path(__file__).parents[3]
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}
STRINGS = {
    "pixtral": {"system", "assistant"},
    "llama3": {"user", "system", "assistant"},
    "glm4v": {"system", "assistant"},
}
SYSTEMLESS = ("mllama", "molmo2")
# the first reads no images; the processors of the others put them in front
TOKENLESS = ("llama3", "question_answer", "plain")


def chat(text: str) -> ChatTemplate:
    tokenizer: Any = SimpleNamespace(special_tokens_map=SPECIAL)
    return ChatTemplate(SimpleNamespace(chat_template=text, tokenizer=tokenizer), None, False)


@cache
def published() -> dict[str, Question]:
    """One prompt by every template of the papers and every variant of it."""
    item = Item("q", "g", "Which?", "A hint.", ("x", "y"), (1,), ("d1",), "choice")
    found = {}
    for path in sorted(TEMPLATES.glob("*.yaml")):
        for name in (path.stem, *(f"{path.stem}_{variant}" for variant in load(path).get("variants", {}))):
            for row in item_rows(item, [load_variation("original")], template_of(name), "own", 7, before={}):
                turns = [(turn["question"], turn["answer"]) for turn in row["turns"]]
                shown: Any = row["images"]
                found[name] = Question(name, row["system"], row["text"], turns, row["response"], images=shown)
    return found


@pytest.mark.parametrize("family", [*FAMILIES, *OURS])
def test_every_prompt_of_the_papers_is_written_whole(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    template, asked = chat({**FAMILIES, **OURS}[family]), published()
    assert (
        len(asked) >= 100
        and any(one.system for one in asked.values())
        and any(one.turns for one in asked.values())
    )
    for name, question in asked.items():
        if family in SYSTEMLESS and question.system:
            with pytest.raises(ValueError, match=r"alternate|incompatible"):
                template.render(messages(question)[0])
            continue
        if family == "llama3":
            question = Question(name, question.system, question.text, question.turns)
        written = template.render(messages(question)[0])
        assert dropped(question, written) is None and "'type'" not in written, name
        images = 0 if family in TOKENLESS else len(question.images)
        assert written.count(TOKENS.get(family, IMAGE)) == images, name
    assert template._strings == STRINGS.get(family, set())


def test_pixtral_with_a_system_message() -> None:
    """As Azad et al. ask it: the template adds the system message to a string, which fails on a list of parts."""
    asked: Any = Question("q", "Be brief.", "Which?", [("Where?", "Here.")], images=[None])
    assert chat(FAMILIES["pixtral"]).render(messages(asked)[0]) == (
        "<s>[INST][IMG]Where?[/INST]Here.</s>[INST]Be brief.\n\nWhich?[/INST]"
    )


def test_a_template_that_knows_no_system_message_refuses_it_as_before() -> None:
    strict = "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    template = chat(strict + FAMILIES["internvl"])
    with pytest.raises(ValueError, match="no system role"):
        template.render(messages(Question("q", "Be brief.", "Which?"))[0])
    assert "Which?" in template.render(messages(Question("q", None, "Which?"))[0])
